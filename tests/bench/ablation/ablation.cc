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
#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/timing.h"
#include "tests/bench/ablation/recorded_sessions.h"
#include "tests/bench/bench_main.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

struct Setting {
  const char* name;
  TuneOptions options;
};

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  const auto add = [&](const char* name, auto&& change) {
    TuneOptions options;
    change(options);
    settings.push_back({name, std::move(options)});
  };
  add("default", [](TuneOptions&) {});
  add("evolution", [](TuneOptions& o) { o.searcher = "evolution"; });
  add("random", [](TuneOptions& o) { o.searcher = "random"; });
  add("no foresee", [](TuneOptions& o) { o.foresee = false; });
  add("no families", [](TuneOptions& o) { o.families = false; });
  add("no prior", [](TuneOptions& o) { o.prior = false; });
  add("one model without prior", [](TuneOptions& o) { o.families = o.prior = false; });
  return settings;
}

struct Run {
  std::vector<double>
      ratio;  // after each trial: sum of best over the recordings'; 0: not all known
  std::vector<double> seconds;  // after each trial
  std::vector<double> task_trials_to_5;
  std::string hash;  // of the decisions
};

Result<Run> RunSession(const Setting& setting, std::uint64_t seed, int trials_per_task,
                       ReplayRunner& runner) {
  TuneOptions options = setting.options;
  options.seed = seed;
  KINDRED_TRY(
      const RecordedSession recorded,
      RunOnRecordings(InputOf(runner.recordings()), std::move(options), trials_per_task, runner));

  struct State {
    double best = 0, known_best = 0, trials = 0, near_after = 0;
  };
  std::map<std::string, State> states;
  double goal = 0;
  for (const TuneTask& task : recorded.session->tasks()) {
    State& state = states[task.key];
    state.known_best = runner.BestNs(task.canonical.workload);
    goal += state.known_best;
  }
  Run run;
  double seconds = 0;
  std::string decisions;
  for (const TrialRecord& trial : recorded.trials) {
    State& state = states.at(trial.workload);
    ++state.trials;
    seconds += trial.build_s + trial.run_s;
    decisions += trial.schedule_key;
    if (trial.status == "ok" && (state.best == 0 || trial.median_ns < state.best)) {
      state.best = trial.median_ns;
      if (state.near_after == 0 && state.best <= state.known_best * kNear)
        state.near_after = state.trials;
    }
    double sum = 0;
    for (const auto& [key, one] : states) {
      if (one.best == 0) {
        sum = 0;
        break;
      }
      sum += one.best;
    }
    run.ratio.push_back(sum / goal);
    run.seconds.push_back(seconds);
  }
  for (const auto& [key, state] : states)
    run.task_trials_to_5.push_back(state.near_after > 0 ? state.near_after : kNever);
  run.hash = HashOf(decisions).Hex().substr(0, 8);
  return run;
}

ordered_json Summary(const Setting& setting, const std::vector<Run>& runs, std::size_t tasks) {
  std::vector<double> trials, seconds, own;
  for (const Run& run : runs) {
    const auto near = std::find_if(run.ratio.begin(), run.ratio.end(),
                                   [](double ratio) { return ratio > 0 && ratio <= kNear; });
    const auto at = static_cast<std::size_t>(near - run.ratio.begin());
    trials.push_back(near == run.ratio.end() ? kNever : static_cast<double>(at + 1));
    seconds.push_back(near == run.ratio.end() ? kNever : run.seconds[at]);
    own.push_back(Median(run.task_trials_to_5));
  }
  ordered_json after = ordered_json::array();
  std::size_t most = 0;
  for (const Run& run : runs) most = std::max(most, run.ratio.size());
  for (std::size_t each = 1; each * tasks <= most; each *= 2) {
    std::vector<double> ratios;
    for (const Run& run : runs) {
      const double ratio = run.ratio[std::min(each * tasks, run.ratio.size()) - 1];
      ratios.push_back(ratio > 0 ? ratio : kNever);
    }
    ordered_json one = Spread(ratios);
    one["trials_a_task"] = each;
    after.push_back(std::move(one));
  }
  ordered_json hashes = ordered_json::array();
  for (const Run& run : runs) hashes.push_back(run.hash);
  return {{"setting", setting.name},         {"trials_to_5", Spread(trials)},
          {"seconds_to_5", Spread(seconds)}, {"task_trials_to_5", Spread(own)},
          {"ratio", std::move(after)},       {"decisions", std::move(hashes)}};
}

void PrintRow(const ordered_json& row) {
  std::string text =
      fmt::format("{:20} trials {:>6} seconds {:>6} own {:>5} ratio",
                  row["setting"].get<std::string>(), Shown(row["trials_to_5"]["median"]),
                  Shown(row["seconds_to_5"]["median"]), Shown(row["task_trials_to_5"]["median"]));
  for (const ordered_json& after : row["ratio"])
    text +=
        fmt::format("  {}: {}", after["trials_a_task"].get<std::size_t>(), Shown(after["median"]));
  fmt::print(stderr, "{}\n", text);
}

struct Options {
  std::vector<std::string> recordings, settings;
  std::vector<std::uint64_t> seeds = {0, 1, 2, 3, 4};
  int trials_per_task = 64;
};

Result<std::string> Ablate(const Options& options) {
  KINDRED_TRY(const auto runner, ReadRecordings(options.recordings));
  ordered_json spaces = ordered_json::array(), rows = ordered_json::array();
  for (const ScheduleRecording& recording : runner->recordings())
    spaces.push_back({{"name", recording.name},
                      {"schedules", recording.schedules.size()},
                      {"best_ns", runner->BestNs(recording.workload)}});
  for (const Setting& setting : Settings()) {
    if (!options.settings.empty() && std::find(options.settings.begin(), options.settings.end(),
                                               setting.name) == options.settings.end())
      continue;
    std::vector<Run> runs;
    for (const std::uint64_t seed : options.seeds) {
      KINDRED_TRY(runs.emplace_back(), RunSession(setting, seed, options.trials_per_task, *runner));
    }
    rows.push_back(Summary(setting, runs, runner->recordings().size()));
    PrintRow(rows.back());
  }
  const ordered_json report = {
      {"target", runner->recordings()[0].target.model}, {"recordings", std::move(spaces)},
      {"left_out_schedules", runner->left_out()},       {"seeds", options.seeds},
      {"trials_per_task", options.trials_per_task},     {"settings", std::move(rows)}};
  return report.dump(1);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("What each part of the search is worth, on recordings of schedules");
  app.add_option("recordings", options.recordings, "NAME.json.gz, made by `kindred record`")
      ->required();
  app.add_option("--settings", options.settings, "Only these, with commas between")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddSeeds(app, options.seeds);
  app.add_option("--trials-per-task", options.trials_per_task, "On average")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  return ParseAndReport(app, argc, argv, "ablation", [&] { return Ablate(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) { return kindred::bench::Main(argc, argv); }
