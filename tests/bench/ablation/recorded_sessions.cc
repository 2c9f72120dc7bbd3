#include "tests/bench/ablation/recorded_sessions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "database/sqlite_log.h"
#include "measure/timing.h"
#include "tests/bench/tune_quietly.h"

namespace kindred::bench {

using nlohmann::ordered_json;

Result<std::unique_ptr<ReplayRunner>> ReadRecordings(const std::vector<std::string>& paths) {
  std::vector<ScheduleRecording> recordings;
  for (const std::string& path : paths) {
    KINDRED_TRY(recordings.emplace_back(), ReadScheduleRecording(path));
  }
  return ReplayRunner::Make(std::move(recordings));
}

TuningInput InputOf(const std::vector<ScheduleRecording>& recordings) {
  std::vector<NamedWorkload> workloads;
  for (const ScheduleRecording& recording : recordings)
    workloads.push_back({recording.name, recording.workload});
  return InputOfWorkloads("recordings", std::move(workloads));
}

Result<RecordedSession> RunOnRecordings(TuningInput input, TuneOptions options, int trials_per_task,
                                        ReplayRunner& runner, std::unique_ptr<TuningLog> log) {
  RecordedSession run;
  run.log = std::move(log);
  if (!run.log) {
    KINDRED_TRY(run.log, OpenSqliteLog(":memory:", OpenMode::kReadWrite));
  }
  options.trials = trials_per_task * static_cast<std::int64_t>(input.model.tasks.size());
  options.space = [&](const Workload& workload, const Target& target) {
    return runner.RecordedSpace(workload, target);
  };
  KINDRED_TRY(run.session, TuningSession::Open({std::move(input)}, runner.recordings()[0].target,
                                               options, runner, *run.log));
  KINDRED_TRY(run.trials, TuneQuietly(*run.session, *run.log));
  return run;
}

ordered_json Spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto shown = [](double value) {
    return std::isfinite(value) ? ordered_json(std::round(value * 1000) / 1000) : ordered_json();
  };
  return {{"median", shown(Median(values))},
          {"min", shown(values.front())},
          {"max", shown(values.back())}};
}

std::string Shown(const ordered_json& number) {
  return number.is_null() ? "-" : fmt::format("{:.4g}", number.get<double>());
}

}  // namespace kindred::bench
