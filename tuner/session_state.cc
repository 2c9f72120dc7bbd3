// A session's progress as the log and the terminal see it.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/record_mapping.h"
#include "tuner/session.h"

namespace kindred {
namespace {

using nlohmann::json;

json UsesToJson(const std::vector<TaskUse>& uses) {
  json list = json::array();
  for (const TaskUse& use : uses)
    list.push_back({{"model", use.model}, {"count", use.count}, {"runs", use.runs}});
  return list;
}

}  // namespace

std::int64_t TuningSession::trials() const {
  std::int64_t sum = 0;
  for (const TuneTask& task : tasks_) sum += task.trials;
  return sum;
}

Result<void> TuningSession::LeaveOut(std::size_t index, const std::string& cause,
                                     Progress& progress) {
  TuneTask& task = tasks_[index];
  task.left_out = cause;
  progress.Note(fmt::format("{} is left out: {}", task.name, cause));
  LogBatch batch;
  batch.tasks.push_back(TaskRow(index));
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

TaskRecord TuningSession::TaskRow(std::size_t index) const {
  const TuneTask& task = tasks_[index];
  TaskRecord record;
  record.session = session_.id;
  record.workload = task.key;
  record.position = static_cast<std::int64_t>(index);
  record.name = task.name;
  if (options_.families) record.family = families_[static_cast<std::size_t>(task.family)].id;
  record.uses = UsesToJson(task.uses).dump();
  record.weight = task.weight;
  record.untuned_ns = task.untuned_ns;
  const bool cuda = target_.kind == DeviceKind::kCuda;
  json untuned = {{"message", task.untuned_message},
                  {"compiler", cuda ? "nvrtc" : "gcc"},
                  {"flags", cuda ? "" : "-O3 -march=native"}};
  if (!task.left_out.empty()) untuned["left_out"] = task.left_out;
  record.untuned = untuned.dump();
  return record;
}

Result<void> TuningSession::SaveState(const std::string& state) {
  session_.state = state;
  session_.updated_ms = NowMs();
  json summary = json::parse(session_.summary);
  summary["planned_round"] = planned_round_;
  summary["planned_size"] = planned_size_;
  summary["final_choice"] = {{"after_trials", choice_.after_trials}, {"seconds", choice_.seconds}};
  if (state != "running")
    summary["last_run"] = {{"wall_s", times_.wall_s},   {"build_s", times_.build_s},
                           {"run_s", times_.run_s},     {"search_s", times_.search_s},
                           {"train_s", times_.train_s}, {"trials", new_trials_}};
  session_.summary = summary.dump();
  LogBatch batch;
  batch.sessions.push_back(session_);
  if (state != "running" && observed_ > 0) {
    ModelRecord model;
    model.target = target_record_.id;
    model.name = "families";
    model.kind = "kindred-family-models/1";
    KINDRED_TRY(model.epoch, log_.Epoch());
    model.blob = models_->Save();
    // The families that the ensembles are numbered by.
    json families = json::array();
    for (const Family& family : families_)
      families.push_back(
          {{"id", family.id}, {"structure", family.structure.Hex()}, {"centre", family.centre}});
    model.metrics = json{{"families", std::move(families)}}.dump();
    batch.models.push_back(std::move(model));
  }
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

RunEnd TuningSession::WhyEnded(bool interrupted) const {
  if (interrupted) return {"interrupted", "the run was interrupted"};
  const bool open = std::any_of(tasks_.begin(), tasks_.end(), [](const TuneTask& task) {
    return task.left_out.empty() && !task.exhausted;
  });
  if (!open) return {"exhausted", "every schedule was tried"};
  if (options_.trials > 0 && trials() >= options_.trials)
    return {"trials", fmt::format("the budget of {} trials is spent", options_.trials)};
  const bool room = std::any_of(tasks_.begin(), tasks_.end(), [&](const TuneTask& task) {
    return task.left_out.empty() && !task.exhausted && Room(task) > 0;
  });
  if (!room)
    return {"trials_per_task", fmt::format("the budget of {} trials for each subgraph is spent",
                                           options_.trials_per_task)};
  if (NothingToGain())
    return {"until",
            fmt::format("another round of every subgraph is expected to gain {:.2g}% of the time, "
                        "less than {:g}%",
                        100 * scheduler_->ExpectedShare(), 100 * options_.until)};
  return {"time", fmt::format("the time of {:g} s is spent", options_.time_s)};
}

ProgressState TuningSession::Snapshot(const std::string& phase, const std::string& task) const {
  ProgressState state;
  state.phase = phase;
  state.task = task;
  state.done = trials();
  state.elapsed_s = Elapsed();
  state.time_limit_s = options_.time_s;
  state.total = options_.trials;
  if (options_.trials_per_task > 0) {
    const auto all = options_.trials_per_task *
                     std::count_if(tasks_.begin(), tasks_.end(),
                                   [](const TuneTask& t) { return t.left_out.empty(); });
    state.total = state.total > 0 ? std::min(state.total, all) : all;
  }
  for (const TuneTask& t : tasks_) {
    state.failed += t.failed;
    state.untuned_ns += t.weight * (t.untuned_ns > 0 ? t.untuned_ns : t.best_ns);
    state.best_ns += t.weight * (t.best_ns > 0 ? t.best_ns : t.untuned_ns);
  }
  return state;
}

}  // namespace kindred
