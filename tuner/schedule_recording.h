// ScheduleRecording: what a log knows of the schedules of one workload on one device, as a file of
// its own, so that a search can be replayed without the device.
//
// The file is gzipped JSON: {"format": "kindred-schedules", "version": 1, "name", "workload": text
// form, "target": description, "kindred": version, "untuned_ns", "schedules": [{"schedule":
// decisions, "status", "message", "ns": [samples], "build_s", "run_s"}]}, fastest first. Times of
// samples in ns.
#pragma once

#include <string>
#include <vector>

#include "database/tuning_log.h"
#include "schedules/outcome.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct RecordedSchedule {
  std::string schedule;  // JSON: the decisions
  Outcome outcome;
};

struct ScheduleRecording {
  std::string name;
  Workload workload;  // canonical
  Target target;
  double untuned_ns = 0;  // 0: unknown
  std::vector<RecordedSchedule> schedules;
};

// Every workload of the log with at least `least` schedules on the target of that record id, by
// name. Of a schedule that was measured several times the samples are joined. Errors: those of the
// log.
Result<std::vector<ScheduleRecording>> RecordingsOf(const TuningLog& log, const std::string& target,
                                                    std::int64_t least);

// Whole or not at all. Error kEnvironment: cannot be written.
Result<void> WriteScheduleRecording(const ScheduleRecording& recording, const std::string& path);
// Errors: kNotFound, cannot be read; kBadInput, no such recording or a damaged one; kUnsupported,
// of a newer version.
Result<ScheduleRecording> ReadScheduleRecording(const std::string& path);

}  // namespace kindred
