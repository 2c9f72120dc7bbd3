#include "tuner/check_schedules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/base/seed.h"
#include "schedules/emit_kernel.h"
#include "schedules/space.h"
#include "search/searcher.h"
#include "tuner/distinct_tasks.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

Result<void> CheckTask(const DistinctTask& task, const Target& target, int schedules,
                       std::uint64_t seed, Runner& runner, const std::function<bool()>& stop,
                       CheckedTask& out) {
  const Workload& workload = task.canonical.workload;
  const auto space = MakeSpace(workload, target);
  const auto searcher = MakeRandomSearcher(*space, seed);
  const std::vector<Candidate> candidates = searcher->Propose(schedules);
  std::vector<KernelSource> kernels;
  for (const Candidate& candidate : candidates)
    kernels.push_back(EmitKernel(*candidate.program, workload, target));
  MeasureJob job;
  job.workload = &workload;
  job.candidates = kernels;
  job.seed = seed;
  KINDRED_TRY(const auto outcomes, runner.Measure(job, stop));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    ++out.checked;
    if (outcome.validated)
      ++out.right;
    else
      out.failures.push_back(
          {PathToJson(candidates[i].path), std::string(Name(outcome.status)), outcome.message});
  }
  return {};
}

}  // namespace

Result<std::vector<CheckedTask>> CheckSchedules(std::vector<TuningInput> inputs,
                                                const Target& target, int schedules,
                                                std::uint64_t seed, Runner& runner,
                                                const std::function<bool()>& stop,
                                                Progress& progress) {
  const std::vector<DistinctTask> tasks = MergeTasks(inputs);
  std::vector<CheckedTask> checked;
  for (const DistinctTask& task : tasks) {
    if (stop()) break;
    CheckedTask& one = checked.emplace_back();
    one.key = task.key;
    one.name = task.name;
    const auto done = CheckTask(task, target, schedules, DeriveSeed(seed, "check", checked.size()),
                                runner, stop, one);
    if (!done && done.error().kind == ErrorKind::kEnvironment) return done.error();
    if (!done) one.failures.push_back({"", "left out", done.error().message});
    progress.Note(
        fmt::format("{}: {} of {} schedules are right", one.name, one.right, one.checked));
  }
  return checked;
}

std::string CheckedText(const std::vector<CheckedTask>& tasks, const Target& target) {
  Table table({{"subgraph", Table::Align::kLeft, 56}, {"schedules"}, {"right"}});
  std::string failures;
  std::int64_t checked = 0, right = 0;
  for (const CheckedTask& task : tasks) {
    checked += task.checked;
    right += task.right;
    table.Row({task.name, std::to_string(task.checked), std::to_string(task.right)});
    for (const CheckedTask::Failure& failure : task.failures)
      failures += fmt::format("{}: {}: {} {}\n", task.name, failure.status, failure.message,
                              failure.schedule);
  }
  return fmt::format("{}{}\n{} of {} schedules are right on {}; none was timed\n", table.Print(),
                     failures, right, checked, target.id);
}

std::string CheckedJson(const std::vector<CheckedTask>& tasks, const Target& target) {
  json out = {{"target", target.id}, {"tasks", json::array()}};
  for (const CheckedTask& task : tasks) {
    json failures = json::array();
    for (const CheckedTask::Failure& failure : task.failures)
      failures.push_back({{"schedule", json::parse(failure.schedule, nullptr, false)},
                          {"status", failure.status},
                          {"message", failure.message}});
    out["tasks"].push_back({{"key", task.key},
                            {"name", task.name},
                            {"checked", task.checked},
                            {"right", task.right},
                            {"failures", std::move(failures)}});
  }
  return out.dump(2);
}

}  // namespace kindred
