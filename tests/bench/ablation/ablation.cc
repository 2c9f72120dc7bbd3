// What each part of the search is worth, on recordings of real schedules: whole tuning sessions
// over all recordings at once, each with one part taken out or exchanged. Prints one JSON object,
// and a table on standard error.
//
//   ablation [--seeds 0,1,2,3,4] [--trials-per-task 64] RECORDING.json.gz...
//
// Per setting, median and spread over the seeds:
//   trials_to_5, seconds_to_5   until the sum of the tasks' best times is within 5% of the sum of
//                               the recordings' best (seconds: building and running as recorded);
//                               null where that was not reached
//   ratio                       that sum over the recordings' best, after 1, 2, 4, 8... trials a
//                               task on average
//   task_trials_to_5            median over tasks of a task's own trials until it is within 5%
//
// With --groups N instead: the recordings are dealt out to N groups, and each group is tuned into a
// log in which a session over all the other groups stands (--known-trials a task), with and without
// what the log teaches ("transfer", "no transfer"); there is one run for each seed and group.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/bench/ablation/ablated_runs.h"
#include "tests/bench/ablation/recorded_sessions.h"
#include "tests/bench/bench_main.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> recordings, settings;
  std::vector<std::uint64_t> seeds = {0, 1, 2, 3, 4};
  int trials_per_task = 64;
  std::size_t groups = 0;
  int known_trials = 32;
};

std::map<std::string, double> BestOf(const TuningSession& session, const ReplayRunner& runner) {
  std::map<std::string, double> best_ns;
  for (const TuneTask& task : session.tasks())
    best_ns[task.key] = runner.BestNs(task.canonical.workload);
  return best_ns;
}

Result<ordered_json::array_t> CompareSettings(const Options& options, ReplayRunner& runner) {
  KINDRED_TRY(const auto settings, Settings(options.settings));
  ordered_json::array_t rows;
  for (const Setting& setting : settings) {
    std::vector<Trials> runs;
    std::vector<std::map<std::string, double>> best_ns;
    for (const std::uint64_t seed : options.seeds) {
      TuneOptions tune = setting.options;
      tune.seed = seed;
      KINDRED_TRY(RecordedSession recorded,
                  RunOnRecordings(InputOf(runner.recordings()), std::move(tune),
                                  options.trials_per_task, runner));
      best_ns.push_back(BestOf(*recorded.session, runner));
      runs.push_back(std::move(recorded.trials));
    }
    rows.push_back(Row(setting.name, runs, best_ns));
    PrintRow(rows.back());
  }
  return rows;
}

Result<ordered_json::array_t> CompareTransfer(const Options& options, ReplayRunner& runner) {
  ordered_json::array_t rows;
  for (const bool transfer : {true, false}) {
    std::vector<Trials> runs;
    std::vector<std::map<std::string, double>> best_ns;
    for (const std::uint64_t seed : options.seeds)
      for (std::size_t group = 0; group < options.groups; ++group) {
        std::vector<ScheduleRecording> here, elsewhere;
        for (std::size_t i = 0; i < runner.recordings().size(); ++i)
          (i % options.groups == group ? here : elsewhere).push_back(runner.recordings()[i]);
        TuneOptions known, tune;
        known.seed = tune.seed = seed;
        tune.transfer = transfer;
        KINDRED_TRY(RecordedSession before,
                    RunOnRecordings(InputOf(elsewhere), known, options.known_trials, runner));
        before.session.reset();
        KINDRED_TRY(RecordedSession recorded,
                    RunOnRecordings(InputOf(here), tune, options.trials_per_task, runner,
                                    std::move(before.log)));
        best_ns.push_back(BestOf(*recorded.session, runner));
        runs.push_back(std::move(recorded.trials));
      }
    rows.push_back(Row(transfer ? "transfer" : "no transfer", runs, best_ns));
    PrintRow(rows.back());
  }
  return rows;
}

Result<std::string> Ablate(const Options& options) {
  KINDRED_TRY(const auto runner, ReadRecordings(options.recordings));
  ordered_json spaces = ordered_json::array();
  for (const ScheduleRecording& recording : runner->recordings())
    spaces.push_back({{"name", recording.name},
                      {"schedules", recording.schedules.size()},
                      {"best_ns", runner->BestNs(recording.workload)}});
  KINDRED_TRY(auto rows, options.groups > 0 ? CompareTransfer(options, *runner)
                                            : CompareSettings(options, *runner));
  ordered_json report = {
      {"target", runner->recordings()[0].target.model}, {"recordings", std::move(spaces)},
      {"left_out_schedules", runner->left_out()},       {"seeds", options.seeds},
      {"trials_per_task", options.trials_per_task},     {"settings", std::move(rows)}};
  if (options.groups > 0) {
    report["groups"] = options.groups;
    report["known_trials"] = options.known_trials;
  }
  return report.dump(1);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("What each part of the search is worth, on recordings of schedules");
  app.add_option("recordings", options.recordings, "NAME.json.gz, made by `kindred record`")
      ->required();
  AddList(app, "--settings", options.settings, "Only these, with commas between");
  AddSeeds(app, options.seeds);
  app.add_option("--trials-per-task", options.trials_per_task, "On average")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--groups", options.groups, "Compare with and without transfer between so many")
      ->check(CLI::Range(2, 1000));
  app.add_option("--known-trials", options.known_trials, "Of the other groups' tasks, on average")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  return ParseAndReport(app, argc, argv, "ablation", [&] { return Ablate(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) { return kindred::bench::Main(argc, argv); }
