#include "tuner/report/analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cost_model/evaluate.h"
#include "cost_model/prior.h"
#include "schedules/text_form.h"
#include "tuner/record_mapping.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t kChunk = 5000;  // trials read at once
constexpr std::size_t kRanked = 8;     // fewer predictions of a subgraph have no rank correlation
constexpr double kSpreadBounds[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5};

// Linear between order statistics; 0 of no values.
double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// Interquartile range over the median.
double Spread(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  return (Quantile(samples, 0.75) - Quantile(samples, 0.25)) / Quantile(samples, 0.5);
}

// What is kept of a trial that counts.
struct Measured {
  std::int64_t trial = 0;
  double median_ns = 0, spread = 0, predicted_ns = 0;
  std::string sketch, schedule, searcher, session;
};

struct SubgraphFacts {
  std::int64_t trials = 0, failed = 0;
  std::vector<std::pair<std::int64_t, double>> curve;
  std::map<std::string, Measured> last;  // by schedule key
  std::set<std::string> wrong;
  std::vector<double> predicted, measured;  // of the trials that were predicted
};

class Analysis {
 public:
  Analysis(const TuningLog& log, std::string path) : log_(log), path_(std::move(path)) {}

  Result<json> Run() {
    KINDRED_CHECK(ReadRows());
    KINDRED_CHECK(ReadTrials());
    json out;
    out["log"] = path_;
    KINDRED_TRY(const std::int64_t epoch, log_.Epoch());
    out["epoch"] = epoch;
    out["version"] = Version();
    KINDRED_TRY(const LogCounts counts, log_.Counts());
    out["counts"] = {{"targets", counts.targets},   {"workloads", counts.workloads},
                     {"families", counts.families}, {"kernels", counts.kernels},
                     {"sessions", counts.sessions}, {"trials", counts.trials},
                     {"failed", counts.failed}};
    out["targets"] = json::array();
    for (const TargetRecord& record : targets_) {
      KINDRED_TRY(json target, TargetPart(record));
      out["targets"].push_back(std::move(target));
    }
    out["sessions"] = SessionsPart();
    out["failures"] = FailuresPart();
    out["noise"] = NoisePart();
    out["models"] = ModelsPart();
    Result<json> result(boost::system::in_place_value, std::move(out));
    return result;
  }

 private:
  Result<void> ReadRows() {
    KINDRED_TRY(targets_, log_.Targets());
    KINDRED_TRY(const auto workloads, log_.Workloads());
    for (const WorkloadRecord& record : workloads) workloads_[record.key] = record;
    KINDRED_TRY(families_, log_.Families());
    KINDRED_TRY(sessions_, log_.Sessions());
    for (const SessionRecord& session : sessions_) {
      KINDRED_TRY(const auto tasks, log_.Tasks(session.id));
      for (const TaskRecord& task : tasks) {
        names_[task.workload] = task.name;
        if (task.untuned_ns > 0) untuned_[{session.target, task.workload}] = task.untuned_ns;
      }
    }
    return {};
  }

  Result<void> ReadTrials() {
    std::map<std::string, std::string> cache_state;
    for (const TargetRecord& target : targets_) cache_state[target.id] = target.cache_state;
    TrialFilter filter;
    filter.limit = kChunk;
    while (true) {
      KINDRED_TRY(const auto trials, log_.Trials(filter));
      for (const TrialRecord& trial : trials) Take(trial, cache_state[trial.target]);
      if (static_cast<std::int64_t>(trials.size()) < kChunk) return {};
      filter.after = trials.back().id;
    }
  }

  void Take(const TrialRecord& trial, const std::string& cache_state) {
    SubgraphFacts& facts = facts_[{trial.target, trial.workload}];
    ++facts.trials;
    auto& [count, failed] = sessions_trials_[trial.session];
    ++count;
    if (trial.status != "ok" && trial.status != "abandoned") {
      ++facts.failed;
      ++failed;
    }
    if (trial.status != "ok") {
      auto& [trials, example] = failures_[trial.status];
      ++trials;
      if (example.empty()) example = trial.message;
    }
    if (trial.status == "wrong_answer" || trial.status == "out_of_bounds")
      facts.wrong.insert(trial.schedule_key);
    if (trial.status != "ok") return;
    CountTiming(trial);
    const double spread = Spread(trial.samples);
    spreads_.push_back(spread);
    if (trial.predicted_ns > 0) {
      facts.predicted.push_back(trial.predicted_ns);
      facts.measured.push_back(trial.median_ns);
      errors_.push_back(std::log2(trial.predicted_ns / trial.median_ns));
    }
    if (!trial.validated || trial.cache_state != cache_state) return;
    if (facts.curve.empty() || trial.median_ns < facts.curve.back().second)
      facts.curve.emplace_back(facts.trials, trial.median_ns);
    facts.last[trial.schedule_key] = {trial.id,           trial.median_ns, spread,
                                      trial.predicted_ns, trial.sketch,    trial.schedule,
                                      trial.searcher,     trial.session};
  }

  // GPUs say how they were timed.
  void CountTiming(const TrialRecord& trial) {
    if (trial.conditions == "{}") return;
    const json conditions = json::parse(trial.conditions, nullptr, false);
    if (!conditions.is_object()) return;
    Timing& timing = timing_[trial.target];
    if (const std::string timer = conditions.value("timer", ""); !timer.empty())
      ++timing.timers[timer];
    timing.throttled += conditions.value("throttled", "").empty() ? 0 : 1;
  }

  // The usable schedules of a subgraph, fastest first: the rule of the view best_schedule.
  static std::vector<const Measured*> Ranked(const SubgraphFacts& facts) {
    std::vector<const Measured*> ranked;
    for (const auto& [key, measured] : facts.last)
      if (!facts.wrong.contains(key)) ranked.push_back(&measured);
    std::sort(ranked.begin(), ranked.end(), [](const Measured* a, const Measured* b) {
      return a->median_ns != b->median_ns ? a->median_ns < b->median_ns : a->trial < b->trial;
    });
    return ranked;
  }

  static json ScheduleJson(const Measured& m) {
    return {{"trial", m.trial},
            {"median_ns", m.median_ns},
            {"spread", m.spread},
            {"predicted_ns", m.predicted_ns > 0 ? json(m.predicted_ns) : json()},
            {"sketch", m.sketch},
            {"schedule", json::parse(m.schedule, nullptr, false)},
            {"searcher", m.searcher},
            {"session", m.session}};
  }

  Result<json> TargetPart(const TargetRecord& record) {
    json out = {{"id", record.id}, {"name", record.name}};
    const auto target = ToTarget(record);
    out["model"] = target ? target->model : "";
    out["peak_f32_gflops"] = target ? json(target->peak_f32_gflops) : json();
    out["memory_gbps"] = target ? json(target->memory_gbps) : json();
    const auto timing = timing_.find(record.id);
    out["timing"] = {
        {"cache_state", record.cache_state},
        {"timers", timing == timing_.end() ? json::object() : json(timing->second.timers)},
        {"throttled", timing == timing_.end() ? 0 : timing->second.throttled}};
    out["subgraphs"] = json::array();
    std::map<std::string, std::pair<double, double>> best;  // best and roofline, by key
    std::map<std::string, json> winners;
    for (const auto& [place, facts] : facts_) {
      if (place.first != record.id) continue;
      const WorkloadRecord& workload = workloads_[place.second];
      double roofline = 0;
      if (target)
        if (const auto parsed = ParseWorkload(workload.text, "log"))
          roofline = RooflineNs(*parsed, *target);
      const auto ranked = Ranked(facts);
      const auto untuned = untuned_.find(place);
      json curve = json::array();
      for (const auto& [trial, ns] : facts.curve) curve.push_back({trial, ns});
      const double best_ns = ranked.empty() ? 0 : ranked.front()->median_ns;
      best[place.second] = {best_ns, roofline};
      if (!ranked.empty()) winners[place.second] = json::parse(ranked[0]->schedule, nullptr, false);
      out["subgraphs"].push_back(
          {{"key", place.second},
           {"name", names_.contains(place.second) ? names_[place.second] : workload.name},
           {"family", FamilyOf(place.second)},
           {"flop", workload.flop},
           {"bytes", workload.bytes},
           {"untuned_ns", untuned == untuned_.end() ? json() : json(untuned->second)},
           {"best_ns", best_ns > 0 ? json(best_ns) : json()},
           {"roofline_ns", roofline > 0 ? json(roofline) : json()},
           {"gflops", best_ns > 0 ? json(static_cast<double>(workload.flop) / best_ns) : json()},
           {"trials", facts.trials},
           {"failed", facts.failed},
           {"curve", std::move(curve)},
           {"winner", ranked.empty() ? json() : ScheduleJson(*ranked[0])},
           {"runner_up", ranked.size() < 2 ? json() : ScheduleJson(*ranked[1])}});
    }
    out["families"] = FamiliesPart(record.id, winners);
    out["models"] = InputsPart(record.id, best);
    Result<json> result(boost::system::in_place_value, std::move(out));
    return result;
  }

  std::string FamilyOf(const std::string& key) const {
    for (const FamilyRecord& family : families_)
      if (std::find(family.members.begin(), family.members.end(), key) != family.members.end())
        return family.id;
    return "";
  }

  json FamiliesPart(const std::string& target, const std::map<std::string, json>& winners) const {
    json list = json::array();
    for (const FamilyRecord& family : families_) {
      std::int64_t trials = 0;
      json members = json::array();
      std::map<std::string, std::map<std::string, std::int64_t>> decisions;
      for (const std::string& member : family.members) {
        const auto facts = facts_.find({target, member});
        if (facts == facts_.end()) continue;
        trials += facts->second.trials;
        members.push_back(member);
        const auto winner = winners.find(member);
        if (winner == winners.end() || !winner->second.is_object()) continue;
        for (const auto& [name, value] : winner->second.items())
          ++decisions[name][value.is_string() ? value.get<std::string>() : value.dump()];
      }
      if (members.empty()) continue;
      json made = json::array();
      for (const auto& [name, values] : decisions) {
        json counts = json::array();
        for (const auto& [value, count] : values)
          counts.push_back({{"value", value}, {"winners", count}});
        made.push_back({{"name", name}, {"values", std::move(counts)}});
      }
      list.push_back({{"id", family.id},
                      {"members", std::move(members)},
                      {"trials", trials},
                      {"decisions", std::move(made)}});
    }
    return list;
  }

  // Each model once, as its last session saw it.
  json InputsPart(const std::string& target,
                  const std::map<std::string, std::pair<double, double>>& best) const {
    std::map<std::string, json> models;
    for (const SessionRecord& session : sessions_) {
      if (session.target != target) continue;
      const json inputs = json::parse(session.inputs, nullptr, false);
      if (!inputs.is_array()) continue;
      for (const json& input : inputs) {
        if (!input.is_object()) continue;
        const std::string name = input.value("model", "");
        double untuned = 0, tuned = 0, roofline = 0;
        bool complete = true;
        json subgraphs = json::array();
        for (const json& task : input.value("tasks", json::array())) {
          if (!task.is_array() || task.size() < 2 || !task[0].is_string() || !task[1].is_number())
            continue;
          const std::string key = task.at(0);
          const double count = task.at(1);
          const auto plain = untuned_.find({target, key});
          const auto found = best.find(key);
          const double plain_ns = plain == untuned_.end() ? 0 : plain->second;
          const double best_ns = found == best.end() ? 0 : found->second.first;
          untuned += count * plain_ns;
          tuned += count * (best_ns > 0 ? best_ns : plain_ns);
          roofline += found == best.end() ? 0 : count * found->second.second;
          complete = complete && best_ns > 0;
          subgraphs.push_back({{"key", key}, {"count", count}});
        }
        models[name] = {{"name", name},         {"untuned_ns", untuned},
                        {"best_ns", tuned},     {"roofline_ns", roofline},
                        {"complete", complete}, {"subgraphs", std::move(subgraphs)}};
      }
    }
    json list = json::array();
    for (auto& [name, model] : models) list.push_back(std::move(model));
    return list;
  }

  json SessionsPart() const {
    json list = json::array();
    for (const SessionRecord& session : sessions_) {
      const auto counts = sessions_trials_.find(session.id);
      const bool any = counts != sessions_trials_.end();
      const json summary = json::parse(session.summary, nullptr, false);
      list.push_back({{"id", session.id},
                      {"target", session.target},
                      {"state", session.state},
                      {"seed", session.seed},
                      {"version", session.version},
                      {"started_ms", session.started_ms},
                      {"updated_ms", session.updated_ms},
                      {"trials", any ? counts->second.first : 0},
                      {"failed", any ? counts->second.second : 0},
                      {"options", json::parse(session.options, nullptr, false)},
                      {"time", summary.is_object() ? summary.value("last_run", json::object())
                                                   : json::object()}});
    }
    return list;
  }

  json FailuresPart() const {
    json list = json::array();
    for (const auto& [status, seen] : failures_)
      list.push_back({{"status", status}, {"trials", seen.first}, {"example", seen.second}});
    return list;
  }

  json NoisePart() const {
    json bins = json::array();
    double above = -1;
    const auto count = [&](double below) {
      return std::count_if(spreads_.begin(), spreads_.end(),
                           [&](double s) { return s > above && s <= below; });
    };
    for (const double bound : kSpreadBounds) {
      bins.push_back({{"below", bound}, {"trials", count(bound)}});
      above = bound;
    }
    bins.push_back({{"below", nullptr}, {"trials", count(HUGE_VAL)}});
    return {{"spread", std::move(bins)}, {"median", Quantile(spreads_, 0.5)}};
  }

  // How well the cost models ranked what was then measured: the mean over subgraphs, by trials.
  json ModelsPart() const {
    double sum = 0, weight = 0;
    for (const auto& [place, facts] : facts_) {
      if (facts.predicted.size() < kRanked) continue;
      const auto n = static_cast<double>(facts.predicted.size());
      sum += n * RankCorrelation(facts.predicted, facts.measured);
      weight += n;
    }
    return {{"trials", errors_.size()},
            {"error_log2",
             {{"p10", Quantile(errors_, 0.1)},
              {"p50", Quantile(errors_, 0.5)},
              {"p90", Quantile(errors_, 0.9)}}},
            {"rank_correlation", weight > 0 ? json(sum / weight) : json()}};
  }

  const TuningLog& log_;
  const std::string path_;
  std::vector<TargetRecord> targets_;
  std::map<std::string, WorkloadRecord> workloads_;
  std::vector<FamilyRecord> families_;
  std::vector<SessionRecord> sessions_;
  std::map<std::string, std::string> names_;
  std::map<std::pair<std::string, std::string>, double> untuned_;  // by target and workload
  std::map<std::pair<std::string, std::string>, SubgraphFacts> facts_;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sessions_trials_;
  std::map<std::string, std::pair<std::int64_t, std::string>> failures_;
  struct Timing {
    std::map<std::string, std::int64_t> timers;  // trials by who timed them
    std::int64_t throttled = 0;
  };
  std::map<std::string, Timing> timing_;  // by target
  std::vector<double> spreads_, errors_;
};

}  // namespace

Result<json> AnalyzeLog(const TuningLog& log, const std::string& path) {
  return Analysis(log, path).Run();
}

json CompareAnalyses(const json& before, const json& after) {
  std::map<std::pair<std::string, std::string>, double> old;
  for (const json& target : before.at("targets"))
    for (const json& subgraph : target.at("subgraphs"))
      if (!subgraph.at("best_ns").is_null())
        old[{target.at("name"), subgraph.at("key")}] = subgraph.at("best_ns");
  std::vector<json> changes;
  for (const json& target : after.at("targets"))
    for (const json& subgraph : target.at("subgraphs")) {
      const auto found = old.find({target.at("name"), subgraph.at("key")});
      if (found == old.end() || subgraph.at("best_ns").is_null()) continue;
      changes.push_back({{"target", target.at("name")},
                         {"key", subgraph.at("key")},
                         {"name", subgraph.at("name")},
                         {"before_ns", found->second},
                         {"after_ns", subgraph.at("best_ns")}});
    }
  const auto ratio = [](const json& change) {
    return std::fabs(
        std::log(change.at("after_ns").get<double>() / change.at("before_ns").get<double>()));
  };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](const json& a, const json& b) { return ratio(a) > ratio(b); });
  return json(changes);
}

}  // namespace kindred
