#include "tests/bench/ablation/replay_runner.h"

#include <fmt/format.h>

#include "schedules/emit_c.h"
#include "schedules/listed_space.h"
#include "tests/bench/searchers/recording_runner.h"

namespace kindred::bench {

Result<std::unique_ptr<ReplayRunner>> ReplayRunner::Make(
    std::vector<ScheduleRecording> recordings) {
  std::unique_ptr<ReplayRunner> runner(new ReplayRunner());
  for (const ScheduleRecording& recording : recordings) {
    if (recording.target.id != recordings.front().target.id ||
        recording.target.model != recordings.front().target.model)
      return BadInput(recording.name + " was recorded on another device than " +
                      recordings.front().name);
    KINDRED_CHECK(runner->Add(recording));
  }
  runner->recordings_ = std::move(recordings);
  return runner;
}

Result<void> ReplayRunner::Add(const ScheduleRecording& recording) {
  const auto space = MakeSpace(recording.workload, recording.target);
  Recorded& recorded = by_workload_[WorkloadHash(recording.workload)];
  recorded.untuned_ns = recording.untuned_ns;
  for (const RecordedSchedule& one : recording.schedules) {
    const auto path = PathFromJson(*space, one.schedule);
    auto candidate = path ? space->Lower(*path) : Result<Candidate>(path.error());
    if (!candidate) {
      ++left_out_;
      continue;
    }
    const KernelSource kernel = EmitC(*candidate->program, recording.workload, recording.target);
    recorded.paths.push_back(*path);
    recorded.outcomes.emplace(KernelHash(kernel, recording.workload), one.outcome);
    const double ns = one.outcome.median_ns;
    if (one.outcome.status == Status::kOk && (recorded.best_ns == 0 || ns < recorded.best_ns))
      recorded.best_ns = ns;
  }
  if (recorded.best_ns == 0)
    return BadInput(recording.name +
                    ": this version of Kindred offers none of its schedules that "
                    "were right; record it anew");
  return {};
}

double ReplayRunner::BestNs(const Workload& canonical) const {
  return by_workload_.at(WorkloadHash(canonical)).best_ns;
}

std::unique_ptr<Space> ReplayRunner::RecordedSpace(const Workload& canonical,
                                                   const Target& target) const {
  return MakeListedSpace(MakeSpace(canonical, target),
                         by_workload_.at(WorkloadHash(canonical)).paths);
}

Result<std::vector<Outcome>> ReplayRunner::Measure(const MeasureJob& job,
                                                   const std::function<bool()>& stop) {
  const auto recorded = by_workload_.find(WorkloadHash(*job.workload));
  if (recorded == by_workload_.end()) return NotFound("a workload that was not recorded");
  const double limit = job.incumbent_ns * MeasureLimits().abandon_ratio;
  std::vector<Outcome> outcomes;
  for (const KernelSource& kernel : job.candidates) {
    if (stop && stop()) break;
    Outcome outcome;
    if (job.reference) {
      outcome.median_ns = recorded->second.untuned_ns;
      if (outcome.median_ns == 0) {
        outcome.status = Status::kRunTimeout;
        outcome.message = "was not timed in the recording either";
      }
    } else {
      const auto known = recorded->second.outcomes.find(KernelHash(kernel, *job.workload));
      if (known == recorded->second.outcomes.end())
        return Internal("a schedule that was not recorded");
      outcome = known->second;
      if (outcome.Timed())
        outcome.status = limit > 0 && outcome.median_ns > limit ? Status::kAbandoned : Status::kOk;
    }
    times_.build_s += outcome.build_s;
    times_.run_s += outcome.run_s;
    if (job.finished) job.finished(outcomes.size(), outcome);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace kindred::bench
