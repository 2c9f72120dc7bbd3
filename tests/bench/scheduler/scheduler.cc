// Task schedulers against each other: end-to-end time against trials and seconds. Prints one JSON
// object, and a table on standard error.
//
//   scheduler [--seeds 0,1,2,3,4] [--trials-per-task 64] [RECORDING.json.gz...]
//
// With recordings of schedules (`kindred record`): whole tuning sessions over all of them at once,
// as one model, which runs each 1 to 16 times (log-uniform, drawn from the seed). Without: the
// schedulers alone on made-up learning curves (simulated_curves.h) of --tasks tasks.
//
// Per scheduler, over the seeds:
//   ratio            the model's time over the best that is known, after 8, 16, 32... trials a task
//                    on average; subgraphs without a schedule yet count untuned
//   trials_to_5, seconds_to_5
//                    until it is within 5%; null where that was not reached. Seconds: building and
//                    running as recorded
//   until            where `--until` 2%, 1% and 0.5% would have ended: trials, and the ratio there
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/base/seed.h"
#include "tests/bench/ablation/recorded_sessions.h"
#include "tests/bench/bench_main.h"
#include "tests/bench/scheduler/simulated_curves.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

constexpr double kUntil[] = {0.02, 0.01, 0.005};

struct Setting {
  const char* name;
  const char* scheduler;
  GainOptions gain;
};

std::vector<Setting> Settings() {
  GainOptions shared, greedy, uncharted;
  shared.family_share = 0.5;
  greedy.exploration = 0;
  uncharted.undertrained = 0;
  return {{"gain", "gain", {}},
          {"ansor", "ansor", {}},
          {"round-robin", "round-robin", {}},
          {"gain with families' gains", "gain", shared},
          {"gain without exploration", "gain", greedy},
          {"gain without control chart", "gain", uncharted}};
}

// After each round (curves) or trial (recordings).
struct Step {
  double trials, seconds, ratio, expected;  // expected: TaskScheduler::ExpectedShare, 1: not known
};
using Run = std::vector<Step>;

struct Options {
  std::vector<std::string> recordings;
  std::vector<std::uint64_t> seeds = {0, 1, 2, 3, 4};
  int trials_per_task = 64;
  int tasks = 24;
};

Result<Run> RunCurves(const Setting& setting, std::uint64_t seed, const Options& options) {
  SimulatedCurves curves(options.tasks, DeriveSeed(seed, "curves"));
  KINDRED_TRY(const auto scheduler, MakeTaskScheduler(setting.scheduler, setting.gain));
  for (const CurveTask& one : curves.tasks()) scheduler->AddTask(one.task);
  const int batch = TuneOptions().batch;
  Run run;
  double trials = 0, seconds = 0;
  while (trials < options.trials_per_task * options.tasks) {
    const int task = *scheduler->Pick();
    const RoundResult round = curves.Round(task, batch);
    scheduler->Update(task, round);
    trials += batch;
    seconds += round.seconds;
    run.push_back(
        {trials, seconds, curves.TotalNs() / curves.BestTotalNs(), scheduler->ExpectedShare()});
  }
  return run;
}

// Each workload runs 1 to 16 times.
TuningInput WeightedInput(const ReplayRunner& runner, std::uint64_t seed) {
  std::mt19937_64 random(DeriveSeed(seed, "weights"));
  std::uniform_real_distribution<> exponent(0, 4);
  TuningInput input = InputOf(runner.recordings());
  for (ImportedTask& task : input.model.tasks)
    task.uses.back().times = std::round(std::exp2(exponent(random)));
  return input;
}

// Replays the scheduler's view of a finished session, to know what it expected after each round.
Result<Run> StepsOf(const TuningSession& session, const std::vector<TrialRecord>& trials,
                    const ReplayRunner& runner, const Setting& setting) {
  struct State {
    double weight, best, untuned, known_best;
    int task;
  };
  KINDRED_TRY(const auto scheduler, MakeTaskScheduler(setting.scheduler, setting.gain));
  std::map<std::string, State> states;
  double goal = 0;
  for (const TuneTask& task : session.tasks()) {
    const double known_best = runner.BestNs(task.canonical.workload);
    const int index = scheduler->AddTask({task.weight, task.untuned_ns, task.family, 0});
    states[task.key] = {task.weight, 0, task.untuned_ns > 0 ? task.untuned_ns : 20 * known_best,
                        known_best, index};
    goal += task.weight * known_best;
  }
  Run run;
  double seconds = 0, round_seconds = 0, round_trials = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialRecord& trial = trials[i];
    State& state = states.at(trial.workload);
    seconds += trial.build_s + trial.run_s;
    round_seconds += trial.build_s + trial.run_s;
    ++round_trials;
    if (trial.status == "ok" && (state.best == 0 || trial.median_ns < state.best))
      state.best = trial.median_ns;
    if (i + 1 == trials.size() || trials[i + 1].round != trial.round) {
      scheduler->Update(state.task, {state.best, round_seconds, -1, round_trials});
      round_seconds = round_trials = 0;
    }
    double sum = 0;
    for (const auto& [key, one] : states)
      sum += one.weight * (one.best > 0 ? one.best : one.untuned);
    run.push_back({static_cast<double>(i + 1), seconds, sum / goal, scheduler->ExpectedShare()});
  }
  return run;
}

Result<Run> RunSession(const Setting& setting, std::uint64_t seed, const Options& options,
                       ReplayRunner& runner) {
  TuneOptions tune;
  tune.scheduler = setting.scheduler;
  tune.gain = setting.gain;
  tune.seed = seed;
  KINDRED_TRY(const RecordedSession recorded,
              RunOnRecordings(WeightedInput(runner, seed), std::move(tune), options.trials_per_task,
                              runner));
  return StepsOf(*recorded.session, recorded.trials, runner, setting);
}

// The first step of each run at which `reached` holds; a step of kNever where none does.
template <typename Reached>
std::vector<Step> FirstSteps(const std::vector<Run>& runs, Reached reached) {
  std::vector<Step> steps;
  for (const Run& run : runs) {
    const auto found = std::find_if(run.begin(), run.end(), reached);
    steps.push_back(found == run.end() ? Step{kNever, kNever, kNever, 0} : *found);
  }
  return steps;
}

ordered_json SpreadOf(const std::vector<Step>& steps, double Step::*field) {
  std::vector<double> values;
  for (const Step& step : steps) values.push_back(step.*field);
  return Spread(std::move(values));
}

ordered_json Summary(const Setting& setting, const std::vector<Run>& runs, double tasks,
                     int trials_per_task) {
  ordered_json ratios = ordered_json::array(), until = ordered_json::array();
  for (int each = 8; each <= trials_per_task; each *= 2) {
    ordered_json one = {{"trials_a_task", each}};
    one.update(
        SpreadOf(FirstSteps(runs, [&](const Step& step) { return step.trials >= each * tasks; }),
                 &Step::ratio));
    ratios.push_back(std::move(one));
  }
  for (const double share : kUntil) {
    const auto steps = FirstSteps(runs, [&](const Step& step) { return step.expected < share; });
    until.push_back({{"share", share},
                     {"trials", SpreadOf(steps, &Step::trials)},
                     {"ratio", SpreadOf(steps, &Step::ratio)}});
  }
  const auto near = FirstSteps(runs, [](const Step& step) { return step.ratio <= kNear; });
  return {{"scheduler", setting.name},
          {"ratio", std::move(ratios)},
          {"trials_to_5", SpreadOf(near, &Step::trials)},
          {"seconds_to_5", SpreadOf(near, &Step::seconds)},
          {"until", std::move(until)}};
}

void PrintRow(const ordered_json& row) {
  std::string text = fmt::format(
      "{:30} trials to 5% {:>6}, seconds {:>6}; ratio", row["scheduler"].get<std::string>(),
      Shown(row["trials_to_5"]["median"]), Shown(row["seconds_to_5"]["median"]));
  for (const ordered_json& after : row["ratio"])
    text += fmt::format("  {}: {}", after["trials_a_task"].get<int>(), Shown(after["median"]));
  for (const ordered_json& until : row["until"])
    text += fmt::format("; until {}%: {} at {}", 100 * until["share"].get<double>(),
                        Shown(until["ratio"]["median"]), Shown(until["trials"]["median"]));
  fmt::print(stderr, "{}\n", text);
}

Result<std::string> Compare(const Options& options) {
  std::unique_ptr<ReplayRunner> runner;
  if (!options.recordings.empty()) {
    KINDRED_TRY(runner, ReadRecordings(options.recordings));
  }
  const std::size_t tasks =
      runner ? runner->recordings().size() : static_cast<std::size_t>(options.tasks);
  ordered_json rows = ordered_json::array();
  for (const Setting& setting : Settings()) {
    std::vector<Run> runs;
    for (const std::uint64_t seed : options.seeds) {
      KINDRED_TRY(runs.emplace_back(), runner ? RunSession(setting, seed, options, *runner)
                                              : RunCurves(setting, seed, options));
    }
    rows.push_back(Summary(setting, runs, static_cast<double>(tasks), options.trials_per_task));
    PrintRow(rows.back());
  }
  const ordered_json report = {{"on", runner ? "recordings" : "made-up curves"},
                               {"tasks", tasks},
                               {"seeds", options.seeds},
                               {"trials_per_task", options.trials_per_task},
                               {"schedulers", std::move(rows)}};
  return report.dump(1);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Task schedulers against each other");
  app.add_option("recordings", options.recordings,
                 "NAME.json.gz, made by `kindred record`; none: made-up learning curves");
  AddSeeds(app, options.seeds);
  app.add_option("--trials-per-task", options.trials_per_task, "On average")
      ->check(CLI::Range(8, 100000))
      ->capture_default_str();
  app.add_option("--tasks", options.tasks, "Of made-up curves")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  return ParseAndReport(app, argc, argv, "scheduler", [&] { return Compare(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) { return kindred::bench::Main(argc, argv); }
