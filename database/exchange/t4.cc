#include "database/exchange/t4.h"

#include <map>
#include <ostream>
#include <set>

#include <nlohmann/json.hpp>

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

// The causes that the format knows.
std::string_view Invalidity(const std::string& status) {
  if (status == "ok" || status == "abandoned") return "correct";
  if (status == "build_error") return "compile";
  if (status == "build_timeout" || status == "run_timeout") return "timeout";
  if (status == "wrong_answer" || status == "out_of_bounds") return "correctness";
  return "runtime";
}

// What was measured: times, or a command's objective, which the log holds as the time of as many
// milliseconds, or of what is maximised as one over it.
struct Objective {
  std::string name = "time", unit = "milliseconds";
  bool maximise = false;

  double Of(double ns) const { return maximise ? 1e6 / ns : ns / 1e6; }
};

Objective ObjectiveOf(const WorkloadRecord& workload) {
  const json parsed = json::parse(workload.json, nullptr, false);
  Objective objective;
  if (!parsed.is_object() || !parsed.contains("user_kernel") ||
      !parsed["user_kernel"].contains("objective"))
    return objective;
  const json& said = parsed["user_kernel"]["objective"];
  objective.unit = said.value("unit", "ms");
  objective.maximise = said.value("direction", "") == "maximise";
  if (objective.unit != "ms" || objective.maximise) objective.name = "objective";
  return objective;
}

json ResultOf(const TrialRecord& trial, const Objective& objective) {
  const std::string_view invalidity = Invalidity(trial.status);
  json runtimes = json::array();
  for (const double ns : trial.samples) runtimes.push_back(objective.Of(ns));
  json result = {{"configuration", json::parse(trial.schedule, nullptr, false)},
                 {"times",
                  {{"compilation", trial.build_s * 1e3},
                   {"framework", 0},
                   {"search_algorithm", 0},
                   {"validation", 0},
                   {"runtimes", std::move(runtimes)}}},
                 {"invalidity", invalidity},
                 {"correctness", invalidity == "correct" ? 1 : 0},
                 {"measurements", json::array()},
                 {"objectives", {objective.name}}};
  if (invalidity == "correct")
    result["measurements"].push_back({{"name", objective.name},
                                      {"value", objective.Of(trial.median_ns)},
                                      {"unit", objective.unit}});
  return result;
}

}  // namespace

Result<std::int64_t> ExportT4(const TuningLog& log, const std::string& workload,
                              const std::string& target, std::ostream& out) {
  KINDRED_TRY(const auto record, log.FindWorkload(workload));
  if (!record)
    return NotFound("the log has no workload " + workload + "; `kindred log show` lists them");
  TrialFilter filter;
  filter.workload = workload;
  KINDRED_TRY(const auto trials, log.Trials(filter));
  KINDRED_TRY(const auto targets, log.Targets());
  std::set<std::string> wanted;
  for (const TargetRecord& one : targets)
    if (target.empty() || one.id == target || one.name == target) wanted.insert(one.id);
  std::set<std::string> met;
  std::map<std::string, const TrialRecord*> last;  // by schedule
  for (const TrialRecord& trial : trials) {
    if (!wanted.contains(trial.target)) continue;
    met.insert(trial.target);
    last[trial.schedule_key] = &trial;
  }
  if (met.empty()) return NotFound("the log has no trials of the workload " + workload);
  if (met.size() > 1) {
    std::string names;
    for (const std::string& id : met) names += " " + id;
    return BadInput("the workload was tuned on several targets; choose one:" + names);
  }
  const Objective objective = ObjectiveOf(*record);
  json results = json::array();
  for (const TrialRecord& trial : trials) {
    const auto found = last.find(trial.schedule_key);
    if (found != last.end() && found->second == &trial)
      results.push_back(ResultOf(trial, objective));
  }
  const auto count = static_cast<std::int64_t>(results.size());
  const json all = {{"metadata",
                     {{"timeunit", "milliseconds"},
                      {"kernel", record->name},
                      {"workload", workload},
                      {"target", *met.begin()}}},
                    {"results", std::move(results)}};
  out << all.dump(1) << "\n";
  if (!out.flush()) return Environment("the results cannot be written");
  return count;
}

}  // namespace kindred
