// ReplayRunner: a Runner that answers from recordings of schedules (tuner/schedule_recording.h).
//
// A candidate that is not in them is an error: sessions search the recorded schedules only
// (RecordedSpace).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "measure/runner.h"
#include "schedules/space.h"
#include "tuner/schedule_recording.h"

namespace kindred::bench {

class ReplayRunner final : public Runner {
 public:
  // Lowers all schedules; those that the space no longer offers are left out and counted. Error
  // kBadInput: none of a recording's schedules is left; recordings of different devices.
  static Result<std::unique_ptr<ReplayRunner>> Make(std::vector<ScheduleRecording> recordings);

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override;
  MeasureTimes times() const override { return times_; }

  const std::vector<ScheduleRecording>& recordings() const { return recordings_; }
  std::size_t left_out() const { return left_out_; }
  // Fastest right one of a recording, ns.
  double BestNs(const Workload& canonical) const;
  // The recorded schedules of a recorded workload.
  std::unique_ptr<Space> RecordedSpace(const Workload& canonical, const Target& target) const;

 private:
  struct Recorded {
    double untuned_ns = 0, best_ns = 0;
    std::vector<Path> paths;
    std::unordered_map<std::string, Outcome> outcomes;  // by kernel
  };

  ReplayRunner() = default;
  Result<void> Add(const ScheduleRecording& recording);

  std::vector<ScheduleRecording> recordings_;
  std::unordered_map<std::string, Recorded> by_workload_;
  std::size_t left_out_ = 0;
  MeasureTimes times_;
};

}  // namespace kindred::bench
