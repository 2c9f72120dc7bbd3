// The final choice, on a runner whose times are noisy: the winner is measured again, decisions and
// budgets know nothing of it, and the log's rule agrees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "schedules/text_form.h"
#include "tuner/record_mapping.h"
#include "tuner/report/tune_report.h"
#include "tuner/session.h"

namespace kindred {
namespace {

// A schedule's true time is 100 to 120 us; every measurement is off by up to `noise`, brief ones by
// a tenth of that, and slower by `drift`.
class NoisyRunner : public Runner {
 public:
  static double TrueNs(const KernelSource& kernel) {
    return 1e5 * (1 + 0.2 * Uniform(HashOf(kernel.code).high));
  }
  static double Uniform(std::uint64_t hash) { return static_cast<double>(hash % 10007) / 10007; }

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override {
    std::vector<Outcome> outcomes;
    for (const KernelSource& kernel : job.candidates) {
      if (stop()) break;
      ++(job.brief ? remeasured : measured);
      const std::string nonce = kernel.code + std::to_string(job.brief ? remeasured : 0);
      const double off = 2 * Uniform(HashOf(nonce).low) - 1;
      Outcome outcome;
      outcome.validated = true;
      outcome.build_s = outcome.run_s = 0.2;
      outcome.median_ns =
          TrueNs(kernel) * (1 + noise * off * (job.brief ? 0.1 : 1)) * (job.brief ? drift : 1);
      outcome.samples.assign(10, outcome.median_ns);
      if (job.brief && wrong) {
        outcome = {};
        outcome.status = Status::kWrongAnswer;
        outcome.message = "Y[0] is 1, not 2";
      }
      if (job.finished) job.finished(outcomes.size(), outcome);
      outcomes.push_back(std::move(outcome));
    }
    return outcomes;
  }
  MeasureTimes times() const override { return {}; }

  int measured = 0, remeasured = 0;
  double noise = 0.02, drift = 1;
  bool wrong = false;
};

std::vector<TuningInput> Inputs() {
  std::vector<TuningInput> inputs(1);
  inputs[0].model.name = "test";
  for (const char* text :
       {"input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n",
        "input A: f32[32,96]\nweight B: f32[96,128]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n"}) {
    ImportedTask task;
    task.workload = *ParseWorkload(text);
    task.canonical = Canonicalize(task.workload);
    task.name = "task";
    task.uses.resize(1);
    inputs[0].model.tasks.push_back(std::move(task));
  }
  return inputs;
}

TuneOptions Options(double choice_share = 0.5) {
  TuneOptions options;
  options.trials_per_task = 40;
  options.searcher = "random";
  options.choice_share = choice_share;
  return options;
}

struct Harness {
  std::unique_ptr<TuningLog> log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  NoisyRunner runner;
  std::unique_ptr<TuningSession> session;

  // Stops after `limit` measurements, untuned programs included; `polls`: says so so many times.
  void Run(const TuneOptions& options, int limit = -1, int polls = 1000) {
    Progress progress(Progress::Style::kQuiet);
    session = *TuningSession::Open(Inputs(), Target{}, options, runner, *log);
    const auto stop = [&] {
      return limit >= 0 && runner.measured + runner.remeasured >= limit && polls-- > 0;
    };
    const auto done = session->Run(stop, progress);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_THAT(*log->Verify(), testing::IsEmpty());
  }

  std::vector<TrialRecord> Rows(bool remeasured) const {
    TrialFilter filter;
    filter.session = session->id();
    std::vector<TrialRecord> rows = *log->Trials(filter);
    std::erase_if(rows, [&](const TrialRecord& t) { return IsRemeasurement(t) != remeasured; });
    return rows;
  }
  std::vector<std::string> Decisions() const {
    std::vector<std::string> decisions;
    for (const TrialRecord& t : Rows(false)) decisions.push_back(t.workload + t.schedule_key);
    return decisions;
  }
  TrialRecord Best(std::size_t task) const {
    const std::string target = ToRecord(session->target()).id;
    return **log->BestSchedule(session->tasks()[task].key, target);
  }
  double TrueNsOf(const TrialRecord& trial) const {
    return NoisyRunner::TrueNs(*ToKernel(**log->FindKernel(trial.kernel)));
  }
};

TEST(FinalChoice, TheWinnerIsMeasuredAgainAndTheLogAgrees) {
  double chosen = 0, lucky = 0;
  std::int64_t changed = 0, all_raced = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Harness plain, choice;
    TuneOptions without = Options(0), with = Options();
    without.seed = with.seed = seed;
    plain.Run(without);
    choice.Run(with);
    EXPECT_EQ(plain.Decisions(), choice.Decisions());
    EXPECT_EQ(choice.session->trials(), 80);
    EXPECT_EQ(choice.session->new_trials(), 80);
    EXPECT_TRUE(plain.Rows(true).empty());
    std::int64_t raced = 0;
    for (std::size_t task = 0; task < 2; ++task) {
      const TrialRecord best = choice.Best(task);
      // Where nothing comes near the winner nobody is measured again.
      if (IsRemeasurement(best)) {
        ++raced;
        EXPECT_GE(best.samples.size(), 20u) << "all passes' samples";
      }
      EXPECT_EQ(choice.session->tasks()[task].best_ns, best.median_ns);
      EXPECT_EQ(plain.session->tasks()[task].best_ns, plain.Best(task).median_ns);
      chosen += choice.TrueNsOf(best);
      lucky += plain.TrueNsOf(plain.Best(task));
    }
    const FinalChoice& report = choice.session->final_choice();
    EXPECT_EQ(report.schedules, static_cast<std::int64_t>(choice.Rows(true).size()));
    EXPECT_EQ(report.subgraphs, raced);
    all_raced += raced;
    changed += report.changed;
    if (raced == 0) continue;
    EXPECT_THAT(TuneReportText(*choice.session), testing::HasSubstr("final choice: "));
    EXPECT_EQ(TuneReportJson(*choice.session)["final_choice"]["remeasured"], report.schedules);
  }
  EXPECT_GE(all_raced, 4);
  EXPECT_LT(chosen, lucky);
  EXPECT_GE(changed, 1);
}

TEST(FinalChoice, AFinishedRunDoesNotChooseAgain) {
  Harness harness;
  harness.Run(Options());
  const int remeasured = harness.runner.remeasured;
  const double best = harness.session->tasks()[0].best_ns;
  harness.Run(Options());
  EXPECT_EQ(harness.runner.remeasured, remeasured);
  EXPECT_EQ(harness.session->tasks()[0].best_ns, best);
  harness.Run(Options(0));
  EXPECT_EQ(harness.session->tasks()[0].best_ns, best) << "the log's rule, whatever is asked now";
}

TEST(FinalChoice, MoreTrialsGoOnAsIfThereHadBeenNone) {
  Harness whole, parts;
  whole.Run(Options());
  TuneOptions less = Options();
  less.trials_per_task = 24;
  parts.Run(less);
  EXPECT_FALSE(parts.Rows(true).empty());
  parts.Run(Options());
  EXPECT_EQ(parts.Decisions(), whole.Decisions());
  EXPECT_EQ(parts.session->trials(), 80);
  EXPECT_EQ(parts.Best(0).median_ns, parts.session->tasks()[0].best_ns);
}

// Cut off anywhere, also in a round or in a race.
TEST(FinalChoice, ACutRunGoesOn) {
  Harness whole;
  whole.Run(Options());
  for (const int cut : {11, 81, 82, 83, 86, 91}) {
    Harness parts;
    parts.Run(Options(), cut);
    parts.Run(Options());
    EXPECT_EQ(parts.Decisions(), whole.Decisions()) << cut;
    for (std::size_t task = 0; task < 2; ++task)
      EXPECT_TRUE(IsRemeasurement(parts.Best(task))) << cut;
  }
}

// As when the time ends in the middle of a round: the runner is told to stop, the run ends, nobody
// interrupted it. The choice is made all the same, and a later run ends the round.
TEST(FinalChoice, ARoundThatWasCutOffIsEndedLater) {
  Harness whole, parts;
  whole.Run(Options());
  parts.Run(Options(), 2 + 21, 2);
  EXPECT_FALSE(parts.session->interrupted());
  EXPECT_EQ(parts.session->trials(), 21);
  EXPECT_FALSE(parts.Rows(true).empty());
  parts.Run(Options());
  EXPECT_EQ(parts.Decisions(), whole.Decisions());
}

TEST(FinalChoice, ASlowerMachineNamesNoOtherWinner) {
  Harness harness;
  harness.runner.drift = 2;
  harness.Run(Options());
  EXPECT_GT(harness.runner.remeasured, 0);
  EXPECT_TRUE(harness.Rows(true).empty());
  EXPECT_EQ(harness.session->final_choice().open, 2);
  EXPECT_FALSE(IsRemeasurement(harness.Best(0)));
}

TEST(FinalChoice, AWrongAnswerCondemnsTheSchedule) {
  Harness plain, harness;
  plain.Run(Options(0));
  harness.runner.wrong = true;
  harness.Run(Options());
  for (const TrialRecord& row : harness.Rows(true)) EXPECT_EQ(row.status, "wrong_answer");
  for (std::size_t task = 0; task < 2; ++task) {
    EXPECT_NE(harness.Best(task).schedule_key, plain.Best(task).schedule_key);
    EXPECT_EQ(harness.session->tasks()[task].best_ns, harness.Best(task).median_ns);
  }
}

TEST(FinalChoice, WithoutSecondsThereIsNone) {
  Harness harness;
  harness.Run(Options(1e-6));
  EXPECT_EQ(harness.runner.remeasured, 0);
  EXPECT_EQ(harness.session->final_choice().open, 2);
}

}  // namespace
}  // namespace kindred
