#include "tuner/report/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cost_model/prior.h"
#include "schedules/text_form.h"
#include "tuner/prediction.h"
#include "tuner/progress.h"
#include "tuner/record_mapping.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kRanked = 5;
constexpr std::size_t kValuesShown = 8;

struct Ranked {
  const TrialRecord* trial;
  json schedule;
};

// One trial for each schedule, the last valid one; fastest first.
std::vector<Ranked> RankSchedules(const std::vector<TrialRecord>& trials,
                                  const std::string& cache_state) {
  std::map<std::string, const TrialRecord*> last;
  std::set<std::string> wrong;
  for (const TrialRecord& trial : trials) {
    if (trial.status == "wrong_answer" || trial.status == "out_of_bounds")
      wrong.insert(trial.schedule_key);
    if (trial.status == "ok" && trial.validated && trial.cache_state == cache_state)
      last[trial.schedule_key] = &trial;
  }
  std::vector<Ranked> ranked;
  for (const auto& [key, trial] : last)
    if (!wrong.contains(key))
      ranked.push_back({trial, json::parse(trial->schedule, nullptr, false)});
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.trial->median_ns != b.trial->median_ns ? a.trial->median_ns < b.trial->median_ns
                                                    : a.trial->id < b.trial->id;
  });
  return ranked;
}

std::string ValueText(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

json Decisions(const std::vector<Ranked>& ranked) {
  if (ranked.empty() || !ranked[0].schedule.is_object()) return json::array();
  std::vector<std::pair<double, json>> decisions;
  for (const auto& [name, chosen] : ranked[0].schedule.items()) {
    std::map<std::string, std::pair<std::int64_t, double>> values;  // trials, best
    for (const Ranked& r : ranked) {
      if (!r.schedule.is_object() || !r.schedule.contains(name)) continue;
      auto& [count, best] = values[ValueText(r.schedule[name])];
      best = count++ == 0 ? r.trial->median_ns : std::min(best, r.trial->median_ns);
    }
    std::vector<std::pair<std::string, std::pair<std::int64_t, double>>> order(values.begin(),
                                                                               values.end());
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    json list = json::array();
    for (const auto& [value, seen] : order)
      list.push_back({{"value", value}, {"trials", seen.first}, {"best_ns", seen.second}});
    const double cost = order.size() > 1 ? order[1].second.second / ranked[0].trial->median_ns : 0;
    decisions.emplace_back(
        cost, json{{"name", name}, {"chosen", ValueText(chosen)}, {"values", std::move(list)}});
  }
  std::stable_sort(decisions.begin(), decisions.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  json list = json::array();
  for (auto& [cost, decision] : decisions) list.push_back(std::move(decision));
  return list;
}

Result<TargetRecord> FindTargetRow(const TuningLog& log, const std::string& key,
                                   const std::string& wanted) {
  KINDRED_TRY(const auto targets, log.Targets());
  std::string known;
  std::optional<TargetRecord> found;
  for (const TargetRecord& target : targets) {
    TrialFilter filter;
    filter.workload = key;
    filter.target = target.id;
    filter.limit = 1;
    KINDRED_TRY(const auto trials, log.Trials(filter));
    if (trials.empty()) continue;
    known += (known.empty() ? "" : ", ") + target.id;
    if (target.id == wanted || (target.name == wanted && !found)) found = target;
  }
  if (found) return *found;
  return NotFound(known.empty()
                      ? fmt::format("the log has no trial of {}", key)
                      : fmt::format("the log has no trial of {} on '{}'; it has some on {}", key,
                                    wanted, known));
}

}  // namespace

Result<json> ExplainSchedule(const TuningLog& log, const std::string& key,
                             const std::string& target) {
  KINDRED_TRY(const auto workload, log.FindWorkload(key));
  if (!workload) return NotFound(fmt::format("key {} is not in the log", key));
  KINDRED_TRY(const TargetRecord row, FindTargetRow(log, key, target));
  TrialFilter filter;
  filter.workload = key;
  filter.target = row.id;
  KINDRED_TRY(const auto trials, log.Trials(filter));
  const std::vector<Ranked> ranked = RankSchedules(trials, row.cache_state);
  if (ranked.empty())
    return NotFound(
        fmt::format("none of the {} trials of {} on {} is valid", trials.size(), key, row.id));

  json out = {{"key", key}, {"name", workload->name}, {"target", row.id}, {"text", workload->text}};
  out["untuned_ns"] = nullptr;
  KINDRED_TRY(const auto sessions, log.Sessions());
  for (const SessionRecord& session : sessions) {
    if (session.target != row.id) continue;
    KINDRED_TRY(const auto tasks, log.Tasks(session.id));
    for (const TaskRecord& task : tasks) {
      if (task.workload != key) continue;
      out["name"] = task.name;
      if (task.untuned_ns > 0) out["untuned_ns"] = task.untuned_ns;
    }
  }
  out["roofline_ns"] = nullptr;
  if (const auto device = ToTarget(row))
    if (const auto parsed = ParseWorkload(workload->text, "log"))
      out["roofline_ns"] = RooflineNs(*parsed, *device);
  out["trials"] = trials.size();
  out["failed"] = std::count_if(trials.begin(), trials.end(), [](const TrialRecord& t) {
    return t.status != "ok" && t.status != "abandoned";
  });
  out["ranking"] = json::array();
  for (std::size_t i = 0; i < ranked.size() && i < kRanked; ++i) {
    const TrialRecord& trial = *ranked[i].trial;
    const auto [low, high] = MedianBounds(trial.samples, trial.median_ns);
    KINDRED_TRY(const auto profile, log.FindProfile(trial.id));
    out["ranking"].push_back(
        {{"trial", trial.id},
         {"median_ns", trial.median_ns},
         {"low_ns", low},
         {"high_ns", high},
         {"predicted_ns", trial.predicted_ns > 0 ? json(trial.predicted_ns) : json()},
         {"schedule", ranked[i].schedule},
         {"counters", profile ? json::parse(profile->metrics, nullptr, false) : json()}});
  }
  out["separated"] =
      out["ranking"].size() < 2 || out["ranking"][0]["high_ns"] < out["ranking"][1]["low_ns"];
  out["decisions"] = Decisions(ranked);
  Result<json> result(boost::system::in_place_value, std::move(out));
  return result;
}

std::string ExplanationText(const json& e) {
  const auto ns = [](const json& value) {
    return value.is_null() ? std::string("-") : FormatNs(value.get<double>());
  };
  const json& winner = e.at("ranking").at(0);
  std::string text = fmt::format("{}\n{} on {}\n\n{}\n", e.at("name").get<std::string>(),
                                 e.at("key").get<std::string>(), e.at("target").get<std::string>(),
                                 e.at("text").get<std::string>());
  text += fmt::format("best {} (95%: {} to {}), untuned {}, roofline {}; {} trials, {} failed\n",
                      ns(winner.at("median_ns")), ns(winner.at("low_ns")), ns(winner.at("high_ns")),
                      ns(e.at("untuned_ns")), ns(e.at("roofline_ns")),
                      e.at("trials").get<std::int64_t>(), e.at("failed").get<std::int64_t>());
  if (e.at("ranking").size() > 1)
    text +=
        fmt::format("runner-up {} ({:+.1f}%): {}\n", ns(e.at("ranking")[1].at("median_ns")),
                    100 * (e.at("ranking")[1].at("median_ns").get<double>() /
                               winner.at("median_ns").get<double>() -
                           1),
                    e.at("separated").get<bool>() ? "the two are separated"
                                                  : "not separated: either may be the faster one");
  if (const json& counters = winner.at("counters"); counters.is_object()) {
    std::string list;
    for (const auto& [name, value] : counters.items())
      list += fmt::format("{}{} {:.6g}", list.empty() ? "" : ", ", name, value.get<double>());
    text += "hardware counters of the best: " + list + "\n";
  }
  constexpr auto kLeft = Table::Align::kLeft;
  Table table({{"decision", kLeft}, {"chosen", kLeft}, {"best with other values", kLeft, 100}});
  for (const json& decision : e.at("decisions")) {
    std::string others;
    std::size_t shown = 0;
    for (const json& value : decision.at("values")) {
      if (value.at("value") == decision.at("chosen") || shown++ >= kValuesShown) continue;
      others += fmt::format(
          "{}{}: {:+.0f}%", others.empty() ? "" : ", ", value.at("value").get<std::string>(),
          100 * (value.at("best_ns").get<double>() / winner.at("median_ns").get<double>() - 1));
    }
    table.Row({decision.at("name"), decision.at("chosen"), others.empty() ? "none tried" : others});
  }
  return text +
         "\nwhat the winner decided, and how much slower the best schedule with another value is:\n" +
         table.Print();
}

}  // namespace kindred
