// The same as `ablation`, on this machine instead of recordings: workloads are tuned for real, as
// one model, with each setting and seed. Prints one JSON object, and a table on standard error.
//
//   live_ablation [--settings "default,one model without prior"] [--seeds 0,1,2,3,4]
//                 [--trials-per-task 16] WORKLOAD.kd...
//
// The best that is known of a task is the best of all runs. Every run builds into an empty cache;
// settings take turns. Wants an idle machine.
#include <cstdio>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "database/sqlite_log.h"
#include "measure/runner.h"
#include "tests/bench/ablation/ablated_runs.h"
#include "tests/bench/bench_main.h"
#include "tests/bench/tune_quietly.h"
#include "tests/measure/scratch.h"
#include "tuner/inputs.h"
#include "tuner/targets.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> workloads, settings = {"default", "one model without prior"};
  std::vector<std::uint64_t> seeds = {0, 1, 2, 3, 4};
  int trials_per_task = 16;
};

Result<Trials> Tune(const Setting& setting, std::uint64_t seed,
                    const std::vector<TuningInput>& inputs, const Target& target,
                    int trials_per_task) {
  const Scratch cache;
  RunnerSettings settings;
  settings.cache = cache.path();
  KINDRED_TRY(const auto runner, MakeRunner(target, settings));
  KINDRED_TRY(const auto log, OpenSqliteLog(":memory:", OpenMode::kReadWrite));
  TuneOptions tune = setting.options;
  tune.seed = seed;
  tune.trials = trials_per_task * static_cast<std::int64_t>(inputs.size());
  KINDRED_TRY(const auto session, TuningSession::Open(inputs, target, tune, *runner, *log));
  return TuneQuietly(*session, *log);
}

Result<std::string> Ablate(const Options& options) {
  KINDRED_TRY(const auto settings, Settings(options.settings));
  KINDRED_TRY(const auto inputs, ReadInputs(options.workloads, {}));
  const Scratch folder;
  KINDRED_TRY(const Target target, ResolveTarget("cpu", folder.path()));
  std::vector<std::vector<Trials>> runs(settings.size());
  std::map<std::string, double> best_ns;
  for (const std::uint64_t seed : options.seeds)
    for (std::size_t i = 0; i < settings.size(); ++i) {
      KINDRED_TRY(runs[i].emplace_back(),
                  Tune(settings[i], seed, inputs, target, options.trials_per_task));
      KeepBest(runs[i].back(), best_ns);
      fmt::print(stderr, "seed {}, {}: {} trials\n", seed, settings[i].name, runs[i].back().size());
    }
  ordered_json::array_t rows;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::vector<std::map<std::string, double>> known(runs[i].size(), best_ns);
    rows.push_back(Row(settings[i].name, runs[i], known));
    PrintRow(rows.back());
  }
  ordered_json names = ordered_json::array();
  for (const std::string& path : options.workloads)
    names.push_back(std::filesystem::path(path).stem().string());
  const ordered_json report = {{"target", target.model},
                               {"workloads", std::move(names)},
                               {"seeds", options.seeds},
                               {"trials_per_task", options.trials_per_task},
                               {"settings", std::move(rows)}};
  return report.dump(1);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("What each part of the search is worth, on this machine");
  app.add_option("workloads", options.workloads, "WORKLOAD.kd")->required();
  AddList(app, "--settings", options.settings, "Only these, with commas between")
      ->capture_default_str();
  AddSeeds(app, options.seeds);
  app.add_option("--trials-per-task", options.trials_per_task, "On average")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  return ParseAndReport(app, argc, argv, "live_ablation", [&] { return Ablate(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) {
  // The CPU runner's worker is this program again.
  if (argc > 1 && std::string(argv[1]) == "worker") return kindred::RunCpuWorker();
  return kindred::bench::Main(argc, argv);
}
