// How good are schedules that nothing was measured for? The best of the first --k that `kindred
// predict` ranks, built and run, against the best of a tuned session. Prints one JSON object, and a
// line per workload on standard error.
//
//   predict_quality [--k 10] [--trials 200] [--seed 0] [--models LOG] --cache DIR
//                   tests/bench/predict_quality/workloads/*.kd
//
// Without --models the analytic prior ranks; with it the cost models of that log, and its siblings'
// winners: it should not know the workloads themselves. Both winners are then measured --passes
// times in turns; `ratio` is the quotient of the medians of their pooled samples, `geomean` that of
// all workloads. Wants an idle machine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "measure/runner.h"
#include "schedules/emit_kernel.h"
#include "schedules/text_form.h"
#include "tests/bench/bench_main.h"
#include "tuner/answer.h"
#include "tuner/final_race.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"
#include "tuner/targets.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> workloads;
  std::string cache, models;
  int k = 10, passes = 5;
  std::int64_t trials = 200;
  std::uint64_t seed = 0;
};

bool Never() { return false; }

Result<Workload> ReadWorkload(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound(path + ": cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  return ParseWorkload(text.str(), path);
}

struct Measured {
  double best_ns = 0;  // 0: none was right
  KernelSource kernel;
  std::size_t failed = 0;
};

// Builds and runs the first k of the ranking.
Result<Measured> MeasureRanked(const std::vector<RankedSchedule>& ranked,
                               const CanonicalWorkload& canonical, const Target& target,
                               const Options& options, Runner& runner) {
  std::vector<KernelSource> kernels;
  for (const RankedSchedule& one : ranked)
    kernels.push_back(EmitKernel(*one.candidate.program, canonical.workload, target));
  MeasureJob job;
  job.workload = &canonical.workload;
  job.candidates = kernels;
  job.seed = options.seed;
  KINDRED_TRY(const auto outcomes, runner.Measure(job, Never));
  Measured best;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.status != Status::kOk) {
      ++best.failed;
    } else if (best.best_ns == 0 || outcome.median_ns < best.best_ns) {
      best.best_ns = outcome.median_ns;
      best.kernel = kernels[i];
    }
  }
  return best;
}

Result<Measured> Tune(const std::string& name, const Workload& workload, const Target& target,
                      const Options& options, Runner& runner) {
  KINDRED_TRY(const auto log, OpenSqliteLog(":memory:", OpenMode::kReadWrite));
  TuneOptions tune;
  tune.trials = options.trials;
  tune.seed = options.seed;
  tune.choice_share = kChoiceShare;
  KINDRED_TRY(const auto session, TuningSession::Open({InputOfWorkloads(name, {{name, workload}})},
                                                      target, tune, runner, *log));
  Progress progress(Progress::Style::kQuiet);
  KINDRED_CHECK(session->Run(Never, progress));
  const TuneTask& tuned = session->tasks()[0];
  if (tuned.best_ns == 0) return Internal(name + ": no trial was right");
  KINDRED_TRY(const Candidate best, tuned.space->Lower(tuned.best_path));
  Measured measured;
  measured.best_ns = tuned.best_ns;
  measured.kernel = EmitKernel(*best.program, tuned.canonical.workload, target);
  measured.failed = static_cast<std::size_t>(tuned.failed);
  return measured;
}

// Pooled medians of the two, measured in turns.
Result<std::pair<double, double>> Compare(const Measured& predicted, const Measured& tuned,
                                          const CanonicalWorkload& canonical,
                                          const Options& options, Runner& runner) {
  FinalRace race;
  race.Enter();
  race.Enter();
  for (int pass = 0; pass < options.passes; ++pass) {
    for (const bool second : {pass % 2 == 0, pass % 2 != 0}) {
      MeasureJob job;
      job.workload = &canonical.workload;
      job.candidates = {second ? &tuned.kernel : &predicted.kernel, 1};
      job.seed = options.seed;
      KINDRED_TRY(const auto outcomes, runner.Measure(job, Never));
      if (outcomes.empty() || outcomes[0].status != Status::kOk)
        return Internal("a schedule that was right fails when it is measured again");
      race.Add(second ? 1 : 0, pass, outcomes[0].samples);
    }
  }
  return std::pair(race.MedianNs(0), race.MedianNs(1));
}

Result<std::string> Judge(const Options& options) {
  KINDRED_TRY(Target target, ResolveTarget("cpu", options.cache));
  std::unique_ptr<TuningLog> models;
  if (!options.models.empty()) {
    KINDRED_TRY(models, OpenSqliteLog(options.models, OpenMode::kReadOnly));
    KINDRED_TRY(const auto stored, models->FindTarget(ToRecord(target).id));
    if (!stored) return BadInput(options.models + ": knows nothing of this machine");
    KINDRED_TRY(target, ToTarget(*stored));
  }
  RunnerSettings settings;
  settings.cache = options.cache;
  KINDRED_TRY(const auto runner, MakeRunner(target, settings));
  ordered_json rows = ordered_json::array();
  double logs = 0;
  for (const std::string& path : options.workloads) {
    const std::string name = std::filesystem::path(path).stem().string();
    KINDRED_TRY(const Workload workload, ReadWorkload(path));
    const CanonicalWorkload canonical = Canonicalize(workload);
    KINDRED_TRY(const auto ranked, RankSchedules(models.get(), {workload, target, {}}, options.k));
    KINDRED_TRY(const Measured predicted,
                MeasureRanked(ranked, canonical, target, options, *runner));
    if (predicted.best_ns == 0)
      return Internal(name + ": none of the predicted schedules is right");
    KINDRED_TRY(const Measured tuned, Tune(name, workload, target, options, *runner));
    KINDRED_TRY(const auto medians, Compare(predicted, tuned, canonical, options, *runner));
    const double ratio = medians.first / medians.second;
    logs += std::log(ratio);
    rows.push_back({{"workload", name},
                    {"predicted_ns", medians.first},
                    {"tuned_ns", medians.second},
                    {"ratio", std::round(ratio * 1000) / 1000},
                    {"failed_predicted", predicted.failed},
                    {"failed_trials", tuned.failed}});
    fmt::print(stderr,
               "{:32} best of {}: {:9.1f} us, best of {} trials: {:9.1f} us, ratio {:.3f}\n", name,
               ranked.size(), medians.first / 1e3, options.trials, medians.second / 1e3, ratio);
  }
  const double geomean = std::exp(logs / static_cast<double>(options.workloads.size()));
  fmt::print(stderr, "geometric mean {:.3f}\n", geomean);
  const ordered_json report = {
      {"target", target.model},      {"k", options.k},
      {"trials", options.trials},    {"seed", options.seed},
      {"models", options.models},    {"geomean", std::round(geomean * 1000) / 1000},
      {"workloads", std::move(rows)}};
  return report.dump(1);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The best of what `kindred predict` ranks against the best of a tuned session");
  app.add_option("workloads", options.workloads, "WORKLOAD.kd")->required();
  app.add_option("--cache", options.cache, "Directory of built kernels")->required();
  app.add_option("--models", options.models, "Tuning log whose cost models rank");
  app.add_option("--k", options.k, "Ranked schedules that are run")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--trials", options.trials, "Of the tuned session")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--passes", options.passes, "Of the last comparison")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the tuned session")->capture_default_str();
  return ParseAndReport(app, argc, argv, "predict_quality", [&] { return Judge(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) {
  // The CPU runner's worker is this program again.
  if (argc > 1 && std::string(argv[1]) == "worker") return kindred::RunCpuWorker();
  return kindred::bench::Main(argc, argv);
}
