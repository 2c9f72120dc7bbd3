// Whole tuning sessions on recordings of schedules, and how their figures are shown: what the
// benchmarks of the search and of the task scheduler have in common.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "database/tuning_log.h"
#include "tests/bench/ablation/replay_runner.h"
#include "tuner/session.h"

namespace kindred::bench {

// What is reached within 5% of the best that is known counts as reached.
inline constexpr double kNear = 1.05;
// Of what was not reached: shown as null.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Errors: those of reading and of ReplayRunner::Make.
Result<std::unique_ptr<ReplayRunner>> ReadRecordings(const std::vector<std::string>& paths);

// One model that has each recorded workload once.
TuningInput InputOf(const std::vector<ScheduleRecording>& recordings);

struct RecordedSession {
  std::unique_ptr<TuningLog> log;  // in memory; has everything that was known before
  std::unique_ptr<TuningSession> session;
  std::vector<TrialRecord> trials;  // in order
};

// Tunes with `options` until `trials_per_task` are spent on average, into `log` or, without one, an
// empty log.
Result<RecordedSession> RunOnRecordings(TuningInput input, TuneOptions options, int trials_per_task,
                                        ReplayRunner& runner,
                                        std::unique_ptr<TuningLog> log = nullptr);

// {"median", "min", "max"} of at least one value.
nlohmann::ordered_json Spread(std::vector<double> values);

// For tables: "-" for null.
std::string Shown(const nlohmann::ordered_json& number);

}  // namespace kindred::bench
