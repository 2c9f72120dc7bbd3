// Searchers compared at equal trials on real subgraphs: real tuning sessions of each searcher with
// several seeds, over one record of measurements. Prints one JSON object, and a table on standard
// error.
//
//   searchers --record FILE WORKLOAD.kd...   measures what the record does not hold yet
//   searchers --replay FILE WORKLOAD.kd...   looks everything up: minutes become seconds
//
// Per subgraph and searcher: the best time after 8, 16, 32 and 64 trials, in nanoseconds and
// relative to the fastest kernel of the record, with the median and the spread over the seeds; the
// trials needed to come within 5% of that kernel; how many different kernels were tried.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "measure/timing.h"
#include "tests/bench/bench_main.h"
#include "tests/bench/searchers/recording_runner.h"
#include "tests/bench/tune_quietly.h"
#include "tuner/session.h"

namespace kindred::bench {
namespace {

using nlohmann::json;

constexpr double kNearBest = 1.05;

struct Options {
  std::string record, replay, cache = "build/searchers-cache";
  std::vector<std::string> workloads;
  std::vector<std::string> searchers = {"mcts", "evolution", "random"};
  std::vector<std::uint64_t> seeds = {0, 1, 2, 3, 4};
  int trials = 64;
  int batch = TuneOptions().batch;
};

struct Run {
  std::string searcher;
  std::uint64_t seed = 0;
  std::vector<double> best_ns;  // after each trial; 0: nothing correct yet
  std::vector<std::string> kernels;
  int failed = 0;
};

Result<Run> RunSession(const TuningInput& input, const Options& options,
                       const std::string& searcher, std::uint64_t seed, RecordingRunner& runner,
                       const Target& target) {
  KINDRED_TRY(const auto log, OpenSqliteLog(":memory:", OpenMode::kReadWrite));
  TuneOptions tune;
  tune.trials = options.trials;
  tune.batch = options.batch;
  tune.seed = seed;
  tune.searcher = searcher;
  KINDRED_TRY(const auto session, TuningSession::Open({input}, target, tune, runner, *log));
  KINDRED_TRY(const auto trials, TuneQuietly(*session, *log));
  Run run{searcher, seed, {}, {}, 0};
  double best = 0;
  for (const TrialRecord& trial : trials) {
    if (trial.status == "ok" && trial.validated && (best == 0 || trial.median_ns < best))
      best = trial.median_ns;
    run.failed += trial.status != "ok" && trial.status != "abandoned";
    run.best_ns.push_back(best);
    run.kernels.push_back(trial.kernel);
  }
  if (best == 0)
    return Internal(fmt::format("{} with seed {} found nothing that is correct", searcher, seed));
  return run;
}

std::vector<int> Marks(int trials) {
  std::vector<int> marks;
  for (int mark = 8; mark < trials; mark *= 2) marks.push_back(mark);
  marks.push_back(trials);
  return marks;
}

// A space that was exhausted earlier has its last value from there on.
double BestAfter(const Run& run, int trials) {
  return run.best_ns[std::min(static_cast<std::size_t>(trials), run.best_ns.size()) - 1];
}

json Summary(const std::vector<Run>& runs, const std::string& searcher, int trials,
             double record_best) {
  json after = json::array(), seeds = json::array();
  std::set<std::string> kernels;
  for (const int mark : Marks(trials)) {
    std::vector<double> ns;
    for (const Run& run : runs)
      if (run.searcher == searcher) ns.push_back(BestAfter(run, mark));
    const auto [least, most] = std::minmax_element(ns.begin(), ns.end());
    after.push_back({{"trials", mark},
                     {"median_ns", Median(ns)},
                     {"min_ns", *least},
                     {"max_ns", *most},
                     {"median_ratio", Median(ns) / record_best},
                     {"min_ratio", *least / record_best},
                     {"max_ratio", *most / record_best}});
  }
  for (const Run& run : runs) {
    if (run.searcher != searcher) continue;
    kernels.insert(run.kernels.begin(), run.kernels.end());
    json best = json::array();
    for (const int mark : Marks(trials)) best.push_back(BestAfter(run, mark));
    const auto near = std::find_if(run.best_ns.begin(), run.best_ns.end(), [&](double ns) {
      return ns > 0 && ns <= record_best * kNearBest;
    });
    seeds.push_back({{"seed", run.seed},
                     {"trials", run.best_ns.size()},
                     {"failed", run.failed},
                     {"best_ns", best},
                     {"trials_to_within_5_percent",
                      near == run.best_ns.end() ? json() : json(near - run.best_ns.begin() + 1)}});
  }
  return {{"name", searcher}, {"kernels", kernels.size()}, {"after", after}, {"seeds", seeds}};
}

void PrintTable(const json& workload) {
  fmt::print(stderr, "{}  best of {} kernels {}\n", workload["name"].get<std::string>(),
             workload["kernels"].get<std::size_t>(), FormatNs(workload["record_best_ns"]));
  for (const json& searcher : workload["searchers"]) {
    std::string row = fmt::format("  {:10}", searcher["name"].get<std::string>());
    for (const json& after : searcher["after"])
      row += fmt::format("  {:3}: {:.3f} ({:.3f}-{:.3f})", after["trials"].get<int>(),
                         after["median_ratio"].get<double>(), after["min_ratio"].get<double>(),
                         after["max_ratio"].get<double>());
    fmt::print(stderr, "{}\n", row);
  }
}

// Returns the report, JSON.
Result<std::string> Compare(const Options& options, Runner* inner, MeasurementRecord& record) {
  RecordingRunner runner(inner, record);
  json workloads = json::array();
  for (const std::string& path : options.workloads) {
    KINDRED_TRY(const auto inputs, ReadInputs({path}, {}));
    if (inputs[0].model.tasks.size() != 1)
      return BadInput(path + ": give files of one workload each");
    const ImportedTask& task = inputs[0].model.tasks[0];
    std::vector<Run> runs;
    for (const std::uint64_t seed : options.seeds) {
      for (const std::string& searcher : options.searchers) {
        KINDRED_TRY(Run run,
                    RunSession(inputs[0], options, searcher, seed, runner, record.target()));
        runs.push_back(std::move(run));
      }
    }
    const std::string hash = WorkloadHash(task.canonical.workload);
    const double best = record.BestNs(hash);
    json searchers = json::array();
    for (const std::string& searcher : options.searchers)
      searchers.push_back(Summary(runs, searcher, options.trials, best));
    workloads.push_back({{"name", task.name},
                         {"file", path},
                         {"record_best_ns", best},
                         {"kernels", record.Measured(hash)},
                         {"searchers", std::move(searchers)}});
    PrintTable(workloads.back());
  }
  const json report = {{"target", record.target().id},     {"model", record.target().model},
                       {"trials", options.trials},         {"batch", options.batch},
                       {"seeds", options.seeds},           {"measured_now", runner.measured()},
                       {"workloads", std::move(workloads)}};
  return report.dump(1);
}

Result<std::string> Compare(const Options& options) {
  if (!options.replay.empty()) {
    KINDRED_TRY(MeasurementRecord record, MeasurementRecord::Open(options.replay));
    return Compare(options, nullptr, record);
  }
  KINDRED_TRY(const Target target, ProbeCpuTarget("cpu", options.cache));
  KINDRED_TRY(MeasurementRecord record, MeasurementRecord::OpenOrBegin(options.record, target));
  CpuRunnerOptions runner_options;
  runner_options.cache_directory = options.cache;
  runner_options.worker_program = "/proc/self/exe";
  KINDRED_TRY(const auto runner, MakeCpuRunner(record.target(), runner_options));
  return Compare(options, runner.get(), record);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Searchers compared at equal trials on real subgraphs");
  app.add_option("workloads", options.workloads, "WORKLOAD.kd")->required();
  auto* record = app.add_option("--record", options.record,
                                "Record of measurements (JSON lines); what it lacks is measured");
  auto* replay = app.add_option("--replay", options.replay, "Record to look everything up in");
  record->excludes(replay);
  AddList(app, "--searchers", options.searchers, "Names, with commas between")
      ->check(CLI::IsMember({"mcts", "evolution", "random"}))
      ->capture_default_str();
  AddSeeds(app, options.seeds);
  app.add_option("--trials", options.trials, "Of each session")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Trials of a round")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--cache", options.cache, "Directory of built kernels")->capture_default_str();
  app.callback([&] {
    if (!*record && !*replay) throw CLI::RequiredError("--record or --replay");
  });
  return ParseAndReport(app, argc, argv, "searchers", [&] { return Compare(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) {
  // The program is its own worker process (measure/cpu).
  if (argc > 1 && std::string_view(argv[1]) == "worker") return kindred::RunCpuWorker();
  return kindred::bench::Main(argc, argv);
}
