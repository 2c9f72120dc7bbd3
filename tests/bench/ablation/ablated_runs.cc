#include "tests/bench/ablation/ablated_runs.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/timing.h"
#include "schedules/base/hash.h"
#include "tests/bench/ablation/recorded_sessions.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;
using BestTimes = std::map<std::string, double>;

// A run, trial by trial.
struct Course {
  std::vector<double> ratio;    // sum of the best so far over the best known; kNever: some unknown
  std::vector<double> seconds;  // spent
  double task_trials_to_5;      // median over tasks
  std::string decisions;        // a hash
};

Course CourseOf(const Trials& trials, const BestTimes& known_best) {
  struct State {
    double best = 0, trials = 0, near_after = kNever;
  };
  std::map<std::string, State> states;
  double goal = 0;
  for (const auto& [key, best] : known_best) {
    states[key];
    goal += best;
  }
  Course course;
  double seconds = 0;
  std::string decisions;
  for (const TrialRecord& trial : trials) {
    State& state = states.at(trial.workload);
    const double known = known_best.at(trial.workload);
    ++state.trials;
    seconds += trial.build_s + trial.run_s;
    decisions += trial.schedule_key;
    if (trial.status == "ok" && (state.best == 0 || trial.median_ns < state.best)) {
      state.best = trial.median_ns;
      if (state.best <= known * kNear) state.near_after = std::min(state.near_after, state.trials);
    }
    double sum = 0;
    for (const auto& [key, one] : states) sum += one.best > 0 ? one.best : kNever;
    course.ratio.push_back(sum / goal);
    course.seconds.push_back(seconds);
  }
  std::vector<double> own;
  for (const auto& [key, state] : states) own.push_back(state.near_after);
  course.task_trials_to_5 = Median(own);
  course.decisions = HashOf(decisions).Hex().substr(0, 8);
  return course;
}

}  // namespace

Result<std::vector<Setting>> Settings(const std::vector<std::string>& names) {
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
  if (names.empty()) return settings;
  std::vector<Setting> chosen;
  std::vector<std::string> known;
  for (const Setting& setting : settings) known.push_back(setting.name);
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      return BadInput(fmt::format("no setting '{}'; there are {}", name, fmt::join(known, ", ")));
    chosen.push_back(settings[static_cast<std::size_t>(found - known.begin())]);
  }
  return chosen;
}

void KeepBest(const Trials& trials, BestTimes& best_ns) {
  for (const TrialRecord& trial : trials) {
    if (trial.status != "ok") continue;
    double& best = best_ns.try_emplace(trial.workload, trial.median_ns).first->second;
    best = std::min(best, trial.median_ns);
  }
}

ordered_json Row(const std::string& name, const std::vector<Trials>& runs,
                 const std::vector<BestTimes>& best_ns) {
  std::vector<double> trials, seconds, own;
  std::vector<Course> courses;
  ordered_json hashes = ordered_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Course& course = courses.emplace_back(CourseOf(runs[i], best_ns[i]));
    const auto near = std::find_if(course.ratio.begin(), course.ratio.end(),
                                   [](double ratio) { return ratio <= kNear; });
    const auto at = static_cast<std::size_t>(near - course.ratio.begin());
    trials.push_back(near == course.ratio.end() ? kNever : static_cast<double>(at + 1));
    seconds.push_back(near == course.ratio.end() ? kNever : course.seconds[at]);
    own.push_back(course.task_trials_to_5);
    hashes.push_back(course.decisions);
  }
  ordered_json after = ordered_json::array();
  for (std::size_t each = 1;; each *= 2) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < courses.size(); ++i)
      if (each * best_ns[i].size() <= courses[i].ratio.size())
        ratios.push_back(courses[i].ratio[each * best_ns[i].size() - 1]);
    if (ratios.size() < courses.size()) break;
    ordered_json one = Spread(std::move(ratios));
    one["trials_a_task"] = each;
    after.push_back(std::move(one));
  }
  return {{"setting", name},
          {"trials_to_5", Spread(trials)},
          {"seconds_to_5", Spread(seconds)},
          {"task_trials_to_5", Spread(own)},
          {"ratio", std::move(after)},
          {"decisions", std::move(hashes)}};
}

void PrintRow(const ordered_json& row) {
  std::string text =
      fmt::format("{:23} trials {:>6} seconds {:>6} own {:>5} ratio",
                  row["setting"].get<std::string>(), Shown(row["trials_to_5"]["median"]),
                  Shown(row["seconds_to_5"]["median"]), Shown(row["task_trials_to_5"]["median"]));
  for (const ordered_json& after : row["ratio"])
    text +=
        fmt::format("  {}: {}", after["trials_a_task"].get<std::size_t>(), Shown(after["median"]));
  fmt::print(stderr, "{}\n", text);
}

}  // namespace kindred::bench
