// The session's promises, with a runner that makes up times from the source text: same decisions
// for the same seed, exact resume wherever it was cut off, nothing measured twice, budgets kept.
#include "tuner/session.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "schedules/cuda_targets.h"
#include "schedules/text_form.h"
#include "tuner/answer.h"
#include "tuner/report/tune_report.h"

namespace kindred {
namespace {

class SourceRunner : public Runner {
 public:
  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override {
    std::vector<Outcome> outcomes;
    if (job.reference) references.push_back(*job.workload);
    for (const KernelSource& kernel : job.candidates) {
      if (stop() || measured == limit) break;
      if (measured == error_after) return error;
      Outcome outcome;
      const Hash128 hash = HashOf(kernel.code);
      if (!job.reference) {
        ++measured;
        EXPECT_TRUE(seen.insert(hash.Hex()).second) << "measured twice";
      }
      if (!job.reference && hash.low % 7 == 0) {
        outcome.status = Status::kCrash;
        outcome.message = "signal 11";
      } else {
        outcome.median_ns = job.reference ? 1e6 : 1e3 + static_cast<double>(hash.high % 100000);
        outcome.samples = {outcome.median_ns};
        outcome.validated = true;
      }
      if (kernel.language == KernelSource::Language::kCuda) {
        outcome.cold = true;
        outcome.timer = "cupti";
      }
      outcome.build_s = 0.1;
      outcome.run_s = 0.05;
      if (job.finished) job.finished(outcomes.size(), outcome);
      outcomes.push_back(std::move(outcome));
    }
    return outcomes;
  }
  MeasureTimes times() const override { return {}; }

  int measured = 0;
  int limit = -1;
  int error_after = -1;  // so many trials: every further call fails
  Error error;
  std::set<std::string> seen;
  std::vector<Workload> references;  // whose plain loop nests were timed
};

std::vector<TuningInput> Inputs() {
  std::vector<TuningInput> inputs(1);
  inputs[0].model.name = "test";
  for (
      const char* text :
      {"input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n",
       "input A: f32[32,96]\nweight B: f32[96,128]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n",
       "input A: f32[48,64]\nweight B: f32[64,48]\noutput Y[m,n] = relu(sum[k](A[m,k] * B[k,n]))\n"}) {
    ImportedTask task;
    task.workload = *ParseWorkload(text);
    task.canonical = Canonicalize(task.workload);
    task.name = "task";
    task.uses.resize(1);
    inputs[0].model.tasks.push_back(std::move(task));
  }
  return inputs;
}

struct Harness {
  std::unique_ptr<TuningLog> log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  Progress progress{Progress::Style::kQuiet};

  // Runs a session to its end or to `limit` measured trials; returns how many were measured.
  int Run(const TuneOptions& options, int limit = -1) {
    SourceRunner runner;
    runner.limit = limit;
    auto session = TuningSession::Open(Inputs(), target, options, runner, *log);
    EXPECT_TRUE(session) << session.error().message;
    const auto done =
        (*session)->Run([&] { return limit >= 0 && runner.measured >= limit; }, progress);
    EXPECT_TRUE(done) << done.error().message;
    id = (*session)->id();
    best.clear();
    for (const TuneTask& task : (*session)->tasks()) best.push_back(task.best_ns);
    total = (*session)->trials();
    end = (*session)->end();
    return runner.measured;
  }

  // Everything that was decided, in order.
  std::vector<std::string> Decisions() const {
    TrialFilter filter;
    filter.session = id;
    std::vector<std::string> decisions;
    const auto trials = log->Trials(filter);
    for (const TrialRecord& t : *trials)
      decisions.push_back(std::to_string(t.round) + " " + std::to_string(t.position) + " " +
                          t.workload + " " + t.schedule_key);
    return decisions;
  }

  Target target;
  std::string id;
  std::vector<double> best;
  std::int64_t total = 0;
  RunEnd end;
};

TuneOptions Options(const std::string& searcher = "mcts") {
  TuneOptions options;
  options.trials_per_task = 20;
  options.seed = 7;
  options.searcher = searcher;
  return options;
}

// The compilers that schedules may ask for are frozen with the log.
TEST(Session, CompilersOfTheLogMustBeThere) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  SourceRunner runner;
  const auto open = [&](std::vector<std::string> compilers) {
    Target target;
    target.compilers = std::move(compilers);
    return TuningSession::Open(Inputs(), target, Options(), runner, *log);
  };
  ASSERT_TRUE(open({"gcc", "clang"}));
  const auto missing = open({"gcc"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(missing.error().message.find("clang"), std::string::npos);
  EXPECT_TRUE(open({"gcc", "clang"}));
}

TEST(Session, SameSeedSameDecisionsOtherSeedOthers) {
  for (const char* searcher : {"mcts", "evolution", "random"}) {
    Harness a, b, c;
    EXPECT_EQ(a.Run(Options(searcher)), 60);
    b.Run(Options(searcher));
    TuneOptions other = Options(searcher);
    other.seed = 8;
    c.Run(other);
    EXPECT_EQ(a.Decisions(), b.Decisions()) << searcher;
    EXPECT_NE(a.Decisions(), c.Decisions()) << searcher;
    EXPECT_EQ(a.best, b.best);
  }
}

TEST(Session, ACutRunGoesOnExactlyWhereItWas) {
  Harness whole;
  whole.Run(Options());
  for (const int cut : {1, 7, 8, 13, 30, 59}) {
    Harness parts;
    EXPECT_EQ(parts.Run(Options(), cut), cut);
    EXPECT_EQ(parts.Run(Options()), 60 - cut);
    EXPECT_EQ(parts.Decisions(), whole.Decisions()) << "cut after " << cut;
    EXPECT_EQ(parts.best, whole.best);
  }
}

// On a GPU: the same promises, cold caches, and answers that are exact afterwards.
TEST(Session, ForAGpu) {
  Harness whole, parts;
  whole.target = parts.target = *NamedCudaTarget("h200");
  whole.target.id = parts.target.id = "cuda:0";
  whole.Run(Options());
  EXPECT_EQ(parts.Run(Options(), 13), 13);
  EXPECT_EQ(parts.Run(Options()), 60 - 13);
  EXPECT_EQ(parts.Decisions(), whole.Decisions());
  EXPECT_TRUE(parts.log->Verify()->empty());
  const Workload workload = Inputs()[0].model.tasks[0].workload;
  const auto exact = AnswerQuery(parts.log.get(), {workload, parts.target, {}});
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->match, MatchLevel::kExact);
  EXPECT_EQ(exact->kernel.language, KernelSource::Language::kCuda);
  EXPECT_EQ(exact->statistics["cache_state"], "cold");
  EXPECT_EQ(exact->statistics["median_ns"], parts.best[0]);
  // Asked for by name: measured on a like device.
  const auto like = AnswerQuery(parts.log.get(), {workload, *NamedCudaTarget("h200"), {}});
  ASSERT_TRUE(like);
  EXPECT_EQ(like->match, MatchLevel::kDevice);
  const auto other = AnswerQuery(parts.log.get(), {workload, *NamedCudaTarget("a100"), {}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->match, MatchLevel::kDefault);
}

TEST(Session, AFinishedRunMeasuresNothingAndMoreTrialsGoOn) {
  Harness harness;
  harness.Run(Options());
  EXPECT_EQ(harness.Run(Options()), 0);
  EXPECT_EQ(harness.total, 60);
  TuneOptions more = Options();
  more.trials_per_task = 30;
  EXPECT_EQ(harness.Run(more), 30);
  EXPECT_EQ(harness.total, 90);
  EXPECT_TRUE(harness.log->Verify()->empty());
}

TEST(Session, TrialsIsTheTotalOverAllTasks) {
  Harness harness;
  TuneOptions options;
  options.trials = 37;
  EXPECT_EQ(harness.Run(options), 37);
}

TEST(Session, SaysWhyItEnded) {
  Harness harness;
  EXPECT_EQ(harness.Run(Options(), 5), 5);
  EXPECT_EQ(harness.end.by, "interrupted");
  harness.Run(Options());
  EXPECT_EQ(harness.end.by, "trials_per_task");
  TuneOptions options = Options();
  options.trials = 30;
  harness.Run(options);
  EXPECT_EQ(harness.end.by, "trials");
  options = Options();
  options.trials_per_task = 0;
  options.time_s = 1e-9;
  harness.Run(options);
  EXPECT_EQ(harness.end.by, "time");
}

TEST(Session, EndsWhenNothingIsExpectedToGain) {
  TuneOptions options = Options();
  options.trials_per_task = 0;
  std::int64_t before = 0;
  Harness harness;  // goes on with a smaller share where the larger one ended
  for (const double until : {0.05, 0.02}) {
    options.until = until;
    harness.Run(options);
    EXPECT_EQ(harness.end.by, "until") << harness.end.message;
    EXPECT_GT(harness.total, before);
    before = harness.total;
    EXPECT_EQ(harness.Run(options), 0) << "nothing more to do";
    EXPECT_EQ(harness.end.by, "until");
    Harness parts;
    parts.Run(options, 13);
    parts.Run(options);
    EXPECT_EQ(parts.Decisions(), harness.Decisions());
  }
  options.until = 0.05;
  EXPECT_EQ(harness.Run(options), 0);
  EXPECT_EQ(harness.total, before) << "what the log holds stays";
}

TEST(Session, AnotherSessionOnTheSameLogMeasuresNothingAgain) {
  Harness harness;
  harness.Run(Options("random"));
  const auto first = harness.Decisions();
  harness.Run(Options("mcts"));
  std::set<std::string> keys;
  for (const std::string& decision : first) keys.insert(decision.substr(decision.rfind(' ')));
  for (const std::string& decision : harness.Decisions())
    EXPECT_FALSE(keys.contains(decision.substr(decision.rfind(' ')))) << decision;
}

TEST(Session, WhatIsTooLargeIsLeftOutAndTheOthersGoOn) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  std::vector<TuningInput> inputs = Inputs();
  ImportedTask large = inputs[0].model.tasks[0];
  large.workload = *ParseWorkload("input X: f32[300000,100000]\noutput Y[i,j] = relu(X[i,j])\n");
  large.canonical = Canonicalize(large.workload);
  inputs[0].model.tasks.insert(inputs[0].model.tasks.begin() + 1, large);
  TuneOptions options = Options();
  options.limits.memory_bytes = 100e9;
  for (int run = 0; run < 2; ++run) {  // again: nothing more to do
    SourceRunner runner;
    auto session = TuningSession::Open(inputs, Target{}, options, runner, *log);
    ASSERT_TRUE(session) << session.error().message;
    Progress progress(Progress::Style::kQuiet);
    ASSERT_TRUE((*session)->Run([] { return false; }, progress));
    EXPECT_THAT((*session)->tasks()[1].left_out, testing::HasSubstr("memory"));
    EXPECT_EQ((*session)->tasks()[1].trials, 0);
    EXPECT_EQ((*session)->trials(), 60);
    EXPECT_EQ(runner.measured, run == 0 ? 60 : 0);
    const std::string text = TuneReportText(**session);
    EXPECT_THAT(text, testing::HasSubstr("left out: task: measuring it takes about"));
    EXPECT_EQ(TuneReportJson(**session)["tasks"][1]["left_out"], (*session)->tasks()[1].left_out);
  }
  options.limits.memory_bytes = 1;
  SourceRunner runner;
  const auto none = TuningSession::Open(inputs, Target{}, options, runner, *log);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUnsupported);
}

TEST(Session, APlainLoopNestThatRunsTooLongIsNotTimedButTuned) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  TuneOptions options = Options();
  options.limits.untuned_s = 0.7e-3;  // the first task takes 2 * 64 * 96 * 80 = 983,040 operations
  SourceRunner runner;
  const auto session = *TuningSession::Open(Inputs(), Target{}, options, runner, *log);
  Progress progress(Progress::Style::kQuiet);
  ASSERT_TRUE(session->Run([] { return false; }, progress));
  EXPECT_EQ(runner.references.size(), 1u);
  EXPECT_EQ(session->tasks()[0].untuned_ns, 0);
  EXPECT_FALSE(session->tasks()[0].untuned_message.empty());
  EXPECT_GT(session->tasks()[0].best_ns, 0);
  EXPECT_EQ(session->trials(), 60);
  EXPECT_THAT(TuneReportText(*session), testing::HasSubstr("not timed untuned: task: "));
}

TEST(Session, AWorkloadThatCannotBeMeasuredDoesNotEndTheRun) {
  for (const int after : {0, 11, 16}) {
    const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
    SourceRunner runner;
    runner.error_after = after;
    runner.error = Internal("the reference program crashed");
    Progress progress(Progress::Style::kQuiet);
    {
      const auto session = *TuningSession::Open(Inputs(), Target{}, Options(), runner, *log);
      const auto done = session->Run([] { return false; }, progress);
      ASSERT_TRUE(done) << done.error().message;
      for (const TuneTask& task : session->tasks())
        EXPECT_EQ(task.left_out, "the reference program crashed");
      EXPECT_TRUE(log->Verify()->empty());
    }
    // The same command tries again, and goes on from what the log holds.
    SourceRunner repaired;
    const auto session = *TuningSession::Open(Inputs(), Target{}, Options(), repaired, *log);
    ASSERT_TRUE(session->Run([] { return false; }, progress));
    EXPECT_EQ(session->trials(), 60) << after;
    for (const TuneTask& task : session->tasks()) EXPECT_TRUE(task.left_out.empty());
    TrialFilter failed;
    failed.status = "run_error";
    for (const TrialRecord& trial : *log->Trials(failed))
      EXPECT_EQ(trial.message, "the reference program crashed");
  }
}

TEST(Session, WrongSurroundingsEndTheRun) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  SourceRunner runner;
  runner.error_after = 11;
  runner.error = Environment("the disk is full");
  Progress progress(Progress::Style::kQuiet);
  const auto session = *TuningSession::Open(Inputs(), Target{}, Options(), runner, *log);
  const auto done = session->Run([] { return false; }, progress);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the disk is full");
}

TEST(Session, BindingsMakeItAnother) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  SourceRunner runner;
  const auto id = [&](std::map<std::string, std::int64_t> dims, double times) {
    std::vector<TuningInput> inputs = Inputs();
    inputs[0].model.dims = std::move(dims);
    inputs[0].model.tasks[0].uses[0].times = times;
    return (*TuningSession::Open(inputs, Target{}, Options(), runner, *log))->id();
  };
  const std::string without = id({}, 1);
  EXPECT_EQ(id({}, 1), without);
  EXPECT_NE(id({{"seq", 128}}, 1), without);
  EXPECT_NE(id({{"seq", 384}}, 1), id({{"seq", 128}}, 1));
  EXPECT_NE(id({}, 7), without) << "trip counts weigh the tasks";
}

TEST(Session, TwoAtOnceAreToldSo) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  SourceRunner one, other;
  Progress progress(Progress::Style::kQuiet);
  const auto first = *TuningSession::Open(Inputs(), Target{}, Options(), one, *log);
  TuneOptions slower = Options();
  slower.seed = 7;
  const auto second = *TuningSession::Open(Inputs(), Target{}, slower, other, *log);
  ASSERT_EQ(first->id(), second->id());
  ASSERT_TRUE(first->Run([] { return false; }, progress));
  const auto done = second->Run([] { return false; }, progress);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(done.error().message,
              testing::AllOf(testing::HasSubstr("another process"), testing::HasSubstr("--seed")));
}

TEST(Session, AStatusOfANewerVersionIsAnError) {
  Harness harness;
  harness.Run(Options(), 8);
  TrialFilter all;
  TrialRecord trial = harness.log->Trials(all)->back();
  trial.position = 8;
  trial.status = "melted";
  LogBatch batch;
  batch.trials.push_back(trial);
  ASSERT_TRUE(harness.log->Append(batch));
  SourceRunner runner;
  const auto session = *TuningSession::Open(Inputs(), Target{}, Options(), runner, *harness.log);
  const auto done = session->Run([] { return false; }, harness.progress);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, testing::HasSubstr("'melted'"));
}

TEST(Session, FailuresAreCountedAndKeptWithTheirCause) {
  Harness harness;
  harness.Run(Options());
  const auto counts = harness.log->Counts();
  EXPECT_GT(counts->failed, 0);
  TrialFilter failed;
  failed.status = "crash";
  for (const TrialRecord& trial : *harness.log->Trials(failed))
    EXPECT_EQ(trial.message, "signal 11");
}

// Shapes that Inputs() does not have, of a structure that it has.
std::vector<TuningInput> OtherShapes() {
  std::vector<TuningInput> inputs = Inputs();
  inputs[0].model.tasks.resize(1);
  ImportedTask& task = inputs[0].model.tasks[0];
  task.workload = *ParseWorkload(
      "input A: f32[64,64]\nweight B: f32[64,96]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n");
  task.canonical = Canonicalize(task.workload);
  return inputs;
}

// A log with trials of other shapes here, and of some shape on another device.
void FillLog(TuningLog& log) {
  Progress progress{Progress::Style::kQuiet};
  Target other;
  other.model = "another device";
  for (const Target& target : {Target(), other}) {
    SourceRunner runner;
    auto session = TuningSession::Open(OtherShapes(), target, Options("random"), runner, log);
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_TRUE((*session)->Run([] { return false; }, progress));
  }
}

TEST(Session, BeginsWithWhatTheLogKnowsOfOthers) {
  Harness harness;
  FillLog(*harness.log);
  SourceRunner runner;
  const auto session =
      TuningSession::Open(Inputs(), harness.target, Options(), runner, *harness.log);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_THAT((*session)->TakenOver(),
              ::testing::ElementsAre(::testing::HasSubstr("40 trials of 2 other workloads")));
  TuneOptions off = Options();
  off.transfer = false;
  const auto cold = TuningSession::Open(Inputs(), harness.target, off, runner, *harness.log);
  ASSERT_TRUE(cold);
  EXPECT_NE((*cold)->id(), (*session)->id());
  EXPECT_THAT((*cold)->TakenOver(), ::testing::IsEmpty());
}

TEST(Session, WithALogOfOthersACutRunGoesOnExactlyWhereItWas) {
  Harness whole, cut;
  FillLog(*whole.log);
  FillLog(*cut.log);
  whole.Run(Options());
  cut.Run(Options(), 21);
  // What others measure meanwhile is not looked at.
  SourceRunner runner;
  auto meanwhile =
      TuningSession::Open(OtherShapes(), cut.target, Options("evolution"), runner, *cut.log);
  ASSERT_TRUE(meanwhile);
  ASSERT_TRUE((*meanwhile)->Run([] { return false; }, cut.progress));
  cut.Run(Options());
  EXPECT_EQ(cut.Decisions(), whole.Decisions());
}

TEST(Session, FollowsWhatAPersonSaidOfFamilies) {
  Harness harness;
  harness.Run(Options());
  const auto families = harness.log->Families();
  ASSERT_EQ(families->front().members.size(), 3u);
  LogBatch batch;
  batch.pins = {{families->front().members[0], 1, 1}, {families->front().members[1], 2, 1}};
  ASSERT_TRUE(harness.log->Append(batch));
  SourceRunner runner;
  const auto families_of = [&](const TuneOptions& options) {
    return (*TuningSession::Open(Inputs(), harness.target, options, runner, *harness.log))
        ->families()
        .size();
  };
  TuneOptions next = Options();
  next.seed = 8;
  EXPECT_EQ(families_of(next), 2u);
  EXPECT_EQ(families_of(Options()), 1u) << "a session keeps what it began with";
}

}  // namespace
}  // namespace kindred
