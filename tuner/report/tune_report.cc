#include "tuner/report/tune_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/report/input_report.h"
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
    total.untuned_ns += imported.runs() * untuned_ns;
    total.best_ns += imported.runs() * (task.best_ns > 0 ? task.best_ns : untuned_ns);
    total.complete = total.complete && task.untuned_ns > 0 && task.best_ns > 0;
  }
  return total;
}

std::string Ratio(double numerator, double denominator) {
  return numerator > 0 && denominator > 0 ? fmt::format("{:.1f}x", numerator / denominator) : "-";
}

std::string Runs(double runs) {
  return runs == std::floor(runs) ? fmt::format("{:.0f}", runs) : fmt::format("{:.3g}", runs);
}

// Trials that a task of several models would have taken again in each of the others.
std::int64_t SavedTrials(const TuningSession& session) {
  std::int64_t saved = 0;
  for (const TuneTask& task : session.tasks()) saved += (task.models - 1) * task.trials;
  return saved;
}

std::string TasksText(const TuningSession& session) {
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
    return a->runs * a->best_ns > b->runs * b->best_ns;
  });
  for (const TuneTask* task : tasks) {
    const double gflops = task->best_ns > 0 ? static_cast<double>(task->flop) / task->best_ns : 0;
    table.Row(
        {task->name, Runs(task->runs), FormatNs(task->untuned_ns), FormatNs(task->best_ns),
         Ratio(task->untuned_ns, task->best_ns), gflops > 0 ? fmt::format("{:.1f}", gflops) : "-",
         gflops > 0 ? fmt::format("{:.0f}%", 100 * gflops / session.target().peak_f32_gflops) : "-",
         fmt::format("{}", task->trials), fmt::format("{}", task->failed),
         session.families()[static_cast<std::size_t>(task->family)].id});
  }
  return table.Print();
}

std::string ModelsText(const TuningSession& session) {
  if (session.inputs().size() == 1) {
    const ImportedModel& model = session.inputs()[0].model;
    const ModelTotal total = TotalOf(session, model);
    return fmt::format("{}: untuned {}, best {} ({}){}; {} of {} compute nodes tunable\n",
                       model.name, FormatNs(total.untuned_ns), FormatNs(total.best_ns),
                       Ratio(total.untuned_ns, total.best_ns),
                       total.complete ? "" : ", what has no schedule yet counts as untuned",
                       model.tunable, model.nodes);
  }
  Table table({{"model", Table::Align::kLeft, 52},
               {"nodes"},
               {"coverage"},
               {"subgraphs"},
               {"different"},
               {"shared"},
               {"untuned"},
               {"best"},
               {"speed-up"}});
  bool complete = true;
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    const ImportedModel& model = session.inputs()[i].model;
    const ModelSharing& sharing = session.sharing().models[i];
    const ModelTotal total = TotalOf(session, model);
    complete = complete && total.complete;
    table.Row({model.name, fmt::format("{}", model.nodes), CoverageText(model),
               fmt::format("{}", sharing.subgraphs), fmt::format("{}", sharing.tasks),
               fmt::format("{}", sharing.shared), FormatNs(total.untuned_ns),
               FormatNs(total.best_ns) + (total.complete ? "" : "*"),
               Ratio(total.untuned_ns, total.best_ns)});
  }
  std::string text = table.Print() + "\n";
  if (!complete) text += "* what has no schedule yet counts as untuned\n";
  return text +
         SharingText(session.sharing(), fmt::format("which saved {} trials", SavedTrials(session)));
}

// What went wrong with single tasks.
std::string ProblemsText(const TuningSession& session) {
  std::string text;
  for (const TuneTask& task : session.tasks()) {
    if (!task.left_out.empty()) {
      text += fmt::format("left out: {}: {}\n", task.name, task.left_out);
      continue;
    }
    if (!task.untuned_message.empty())
      text += fmt::format("not timed untuned: {}: {}\n", task.name, task.untuned_message);
    if (task.best_ns > 0 || task.trials == 0) continue;
    std::string causes;
    for (const auto& [status, count] : task.failures)
      causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", count, status);
    text += fmt::format("no valid schedule for {}: {}\n", task.name, causes);
  }
  return text;
}

}  // namespace

std::string TuneReportText(const TuningSession& session) {
  std::string text = TasksText(session) + "\n" + ModelsText(session);
  const SessionTimes& t = session.times();
  text += fmt::format(
      "{} trials, {} of them now, in {}: build {:.1f} s, run {:.1f} s, search {:.1f} s, "
      "training {:.1f} s, other {:.1f} s\n",
      session.trials(), session.new_trials(), FormatSeconds(t.wall_s), t.build_s, t.run_s,
      t.search_s, t.train_s, t.other_s);
  text += fmt::format("ended: {}\n", session.end().message);
  const FinalChoice& choice = session.final_choice();
  if (choice.schedules > 0 || choice.open > 0)
    text += fmt::format(
        "final choice: {} schedules of {} subgraphs were measured again, interleaved, and {} winners "
        "changed; {} winners are not sure\n",
        choice.schedules, choice.subgraphs, choice.changed, choice.open);
  if (t.DeviceBusyShare() > 0)
    text +=
        fmt::format("the device was at work {:.0f}% of the time that a built kernel was there\n",
                    100 * t.DeviceBusyShare());
  return text + LeftOutText(session.inputs()) + ProblemsText(session);
}

nlohmann::ordered_json TuneReportJson(const TuningSession& session) {
  using json = nlohmann::ordered_json;
  json out;
  out["models"] = json::array();
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    const TuningInput& input = session.inputs()[i];
    const ModelTotal total = TotalOf(session, input.model);
    out["models"].push_back({{"model", input.model.name},
                             {"path", input.path},
                             {"dims", input.model.dims},
                             {"total",
                              {{"untuned_ns", total.untuned_ns},
                               {"best_ns", total.best_ns},
                               {"complete", total.complete}}},
                             {"coverage", CoverageJson(input)},
                             {"sharing", SharingJson(session.sharing().models[i])},
                             {"import", ImportCostJson(input)}});
  }
  out["sharing"] = SharingJson(session.sharing().all);
  out["sharing"]["saved_trials"] = SavedTrials(session);
  out["target"] = session.target().id;
  out["session"] = session.id();
  const SessionTimes& t = session.times();
  out["wall_s"] = t.wall_s;
  out["trials"] = session.trials();
  out["new_trials"] = session.new_trials();
  out["interrupted"] = session.interrupted();
  const FinalChoice& choice = session.final_choice();
  out["final_choice"] = {{"remeasured", choice.schedules},
                         {"subgraphs", choice.subgraphs},
                         {"changed", choice.changed},
                         {"open", choice.open},
                         {"seconds", choice.seconds}};
  out["ended"] = {{"by", session.end().by}, {"message", session.end().message}};
  out["tasks"] = json::array();
  for (const TuneTask& task : session.tasks()) {
    json uses = json::array();
    for (const TaskUse& use : task.uses)
      uses.push_back({{"model", use.model}, {"count", use.count}, {"runs", use.runs}});
    out["tasks"].push_back(
        {{"key", task.key},
         {"name", task.name},
         {"family", session.families()[static_cast<std::size_t>(task.family)].id},
         {"count", task.count},
         {"runs", task.runs},
         {"uses", std::move(uses)},
         {"flop", task.flop},
         {"bytes", task.bytes},
         {"untuned_ns", task.untuned_ns},
         {"best_ns", task.best_ns},
         {"trials", task.trials},
         {"failed", task.failed},
         {"failures", task.failures},
         {"left_out", task.left_out},
         {"untuned_message", task.untuned_message}});
  }
  out["time"] = {{"build_s", t.build_s},
                 {"run_s", t.run_s},
                 {"search_s", t.search_s},
                 {"train_s", t.train_s},
                 {"other_s", t.other_s}};
  if (t.DeviceBusyShare() > 0) out["time"]["device_busy_share"] = t.DeviceBusyShare();
  return out;
}

}  // namespace kindred
