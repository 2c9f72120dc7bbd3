#include "tuner/report/tune_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/report/table.h"

namespace kindred {
namespace {

// A model's time as the sum of its subgraphs'. A subgraph without a schedule yet counts with its
// untuned time, so that no gain is claimed for it.
struct ModelTotal {
  double untuned_ns = 0, best_ns = 0;
  bool complete = true;
};

ModelTotal TotalOf(const TuningSession& session, const ImportedModel& model) {
  std::map<std::string, const TuneTask*> by_key;
  for (const TuneTask& task : session.tasks()) by_key[task.key] = &task;
  ModelTotal total;
  for (const ImportedTask& imported : model.tasks) {
    const TuneTask& task = *by_key.at(imported.canonical.key.Hex());
    const double untuned_ns = task.untuned_ns > 0 ? task.untuned_ns : task.best_ns;
    total.untuned_ns += imported.count() * untuned_ns;
    total.best_ns += imported.count() * (task.best_ns > 0 ? task.best_ns : untuned_ns);
    total.complete = total.complete && task.untuned_ns > 0 && task.best_ns > 0;
  }
  return total;
}

std::string Ratio(double numerator, double denominator) {
  return numerator > 0 && denominator > 0 ? fmt::format("{:.1f}x", numerator / denominator) : "-";
}

}  // namespace

std::string TuneReportText(const TuningSession& session) {
  using Align = Table::Align;
  Table table({{"subgraph", Align::kLeft, 52},
               {"count"},
               {"untuned"},
               {"best"},
               {"speed-up"},
               {"GFLOP/s"},
               {"of peak"},
               {"trials"},
               {"failed"},
               {"family", Align::kLeft}});
  std::vector<const TuneTask*> tasks;
  for (const TuneTask& task : session.tasks()) tasks.push_back(&task);
  std::stable_sort(tasks.begin(), tasks.end(), [](const TuneTask* a, const TuneTask* b) {
    return a->count * std::max(a->best_ns, 0.0) > b->count * std::max(b->best_ns, 0.0);
  });
  for (const TuneTask* task : tasks) {
    const double gflops = task->best_ns > 0 ? static_cast<double>(task->flop) / task->best_ns : 0;
    table.Row(
        {task->name, fmt::format("{}", task->count), FormatNs(task->untuned_ns),
         FormatNs(task->best_ns), Ratio(task->untuned_ns, task->best_ns),
         gflops > 0 ? fmt::format("{:.1f}", gflops) : "-",
         gflops > 0 ? fmt::format("{:.0f}%", 100 * gflops / session.target().peak_f32_gflops) : "-",
         fmt::format("{}", task->trials), fmt::format("{}", task->failed),
         session.families()[static_cast<std::size_t>(task->family)].id});
  }
  std::string text = table.Print();
  text += "\n";
  for (const TuningInput& input : session.inputs()) {
    const ModelTotal total = TotalOf(session, input.model);
    text += fmt::format("{}: untuned {}, best {} ({}){}; {} of {} compute nodes tunable\n",
                        input.model.name, FormatNs(total.untuned_ns), FormatNs(total.best_ns),
                        Ratio(total.untuned_ns, total.best_ns),
                        total.complete ? "" : ", what has no schedule yet counts as untuned",
                        input.model.tunable, input.model.nodes);
  }
  const SessionTimes& t = session.times();
  text += fmt::format(
      "{} trials, {} of them now, in {}: build {:.1f} s, run {:.1f} s, search {:.1f} s, "
      "training {:.1f} s, other {:.1f} s\n",
      session.trials(), session.new_trials(), FormatSeconds(t.wall_s), t.build_s, t.run_s,
      t.search_s, t.train_s, t.other_s);
  for (const TuneTask& task : session.tasks())
    if (task.best_ns == 0 && task.trials > 0) {
      std::string causes;
      for (const auto& [status, count] : task.failures)
        causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", count, status);
      text += fmt::format("no valid schedule for {}: {}\n", task.name, causes);
    }
  return text;
}

nlohmann::ordered_json TuneReportJson(const TuningSession& session) {
  using json = nlohmann::ordered_json;
  json out;
  out["models"] = json::array();
  for (const TuningInput& input : session.inputs()) {
    const ModelTotal total = TotalOf(session, input.model);
    out["models"].push_back(
        {{"model", input.model.name},
         {"total",
          {{"untuned_ns", total.untuned_ns},
           {"best_ns", total.best_ns},
           {"complete", total.complete}}},
         {"coverage", {{"nodes", input.model.nodes}, {"tunable", input.model.tunable}}}});
  }
  out["target"] = session.target().id;
  out["session"] = session.id();
  const SessionTimes& t = session.times();
  out["wall_s"] = t.wall_s;
  out["trials"] = session.trials();
  out["new_trials"] = session.new_trials();
  out["interrupted"] = session.interrupted();
  out["tasks"] = json::array();
  for (const TuneTask& task : session.tasks()) {
    json uses = json::array();
    for (const TaskUse& use : task.uses)
      uses.push_back({{"model", use.model}, {"count", use.count}});
    out["tasks"].push_back(
        {{"key", task.key},
         {"name", task.name},
         {"family", session.families()[static_cast<std::size_t>(task.family)].id},
         {"count", task.count},
         {"uses", std::move(uses)},
         {"flop", task.flop},
         {"bytes", task.bytes},
         {"untuned_ns", task.untuned_ns},
         {"best_ns", task.best_ns},
         {"trials", task.trials},
         {"failed", task.failed},
         {"failures", task.failures}});
  }
  out["time"] = {{"build_s", t.build_s},
                 {"run_s", t.run_s},
                 {"search_s", t.search_s},
                 {"train_s", t.train_s},
                 {"other_s", t.other_s}};
  return out;
}

}  // namespace kindred
