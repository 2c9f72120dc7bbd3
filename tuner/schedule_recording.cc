#include "tuner/schedule_recording.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/recorded/recording.h"
#include "measure/timing.h"
#include "schedules/target_json.h"
#include "schedules/text_form.h"
#include "tuner/record_mapping.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::ordered_json;

constexpr char kFormat[] = "kindred-schedules";
constexpr int kVersion = 1;

// Fastest first, what failed last.
bool Before(const RecordedSchedule& a, const RecordedSchedule& b) {
  if (a.outcome.Timed() != b.outcome.Timed()) return a.outcome.Timed();
  if (a.outcome.median_ns != b.outcome.median_ns) return a.outcome.median_ns < b.outcome.median_ns;
  return a.schedule < b.schedule;
}

// One entry per program; a schedule that was ever wrong is wrong.
Result<std::vector<RecordedSchedule>> Joined(const std::vector<TrialRecord>& trials) {
  std::map<std::string, RecordedSchedule> by_program;
  for (const TrialRecord& trial : trials) {
    KINDRED_TRY(Outcome outcome, ToOutcome(trial));
    const auto [found, fresh] =
        by_program.try_emplace(trial.schedule_key, RecordedSchedule{trial.schedule, outcome});
    Outcome& known = found->second.outcome;
    if (fresh || !known.Timed()) continue;
    if (!outcome.Timed()) {
      known = outcome;
      continue;
    }
    // Of a complete and an abandoned measurement the complete one tells more.
    if (known.status != outcome.status) {
      if (outcome.status == Status::kOk) known = outcome;
      continue;
    }
    known.samples.insert(known.samples.end(), outcome.samples.begin(), outcome.samples.end());
    known.median_ns = Median(known.samples);
  }
  std::vector<RecordedSchedule> schedules;
  for (auto& [key, schedule] : by_program) schedules.push_back(std::move(schedule));
  std::sort(schedules.begin(), schedules.end(), Before);
  return schedules;
}

ordered_json ToJson(const RecordedSchedule& one) {
  // A tenth of a nanosecond is far below what a clock tells.
  std::vector<double> ns;
  for (const double sample : one.outcome.samples) ns.push_back(std::round(sample * 10) / 10);
  ordered_json out = {{"schedule", ordered_json::parse(one.schedule)},
                      {"status", Name(one.outcome.status)}};
  if (!one.outcome.message.empty()) out["message"] = one.outcome.message;
  out["ns"] = std::move(ns);
  out["build_s"] = std::round(one.outcome.build_s * 1e4) / 1e4;
  out["run_s"] = std::round(one.outcome.run_s * 1e4) / 1e4;
  return out;
}

Result<RecordedSchedule> FromJson(const ordered_json& in, const std::string& path) {
  RecordedSchedule one;
  one.schedule = in.at("schedule").dump();
  const std::string status = in.at("status");
  bool known = false;
  for (int i = 0; i <= static_cast<int>(Status::kAbandoned); ++i)
    if (Name(static_cast<Status>(i)) == status) {
      one.outcome.status = static_cast<Status>(i);
      known = true;
    }
  if (!known)
    return Unsupported(path + ": the status '" + status +
                       "' is of a newer version of Kindred; use that");
  one.outcome.message = in.value("message", "");
  one.outcome.samples = in.at("ns").get<std::vector<double>>();
  one.outcome.build_s = in.at("build_s");
  one.outcome.run_s = in.at("run_s");
  if (!one.outcome.Timed()) return one;
  if (one.outcome.samples.empty() ||
      std::any_of(one.outcome.samples.begin(), one.outcome.samples.end(),
                  [](double ns) { return !(ns > 0); }))
    return BadInput(path + ": a schedule with the status '" + status + "' has no times above 0");
  one.outcome.median_ns = Median(one.outcome.samples);
  one.outcome.validated = true;
  return one;
}

}  // namespace

Result<std::vector<ScheduleRecording>> RecordingsOf(const TuningLog& log, const std::string& target,
                                                    std::int64_t least) {
  KINDRED_TRY(const auto target_record, log.FindTarget(target));
  if (!target_record) return NotFound("the log knows no target " + target);
  KINDRED_TRY(const Target device, ToTarget(*target_record));
  std::map<std::string, double> untuned;
  KINDRED_TRY(const auto sessions, log.Sessions());
  for (const SessionRecord& session : sessions) {
    if (session.target != target) continue;
    KINDRED_TRY(const auto tasks, log.Tasks(session.id));
    for (const TaskRecord& task : tasks)
      if (task.untuned_ns > 0) untuned[task.workload] = task.untuned_ns;
  }
  std::vector<ScheduleRecording> recordings;
  KINDRED_TRY(const auto workloads, log.Workloads());
  for (const WorkloadRecord& record : workloads) {
    TrialFilter filter;
    filter.workload = record.key;
    filter.target = target;
    KINDRED_TRY(const auto trials, log.Trials(filter));
    KINDRED_TRY(auto schedules, Joined(trials));
    if (static_cast<std::int64_t>(schedules.size()) < least) continue;
    ScheduleRecording& recording = recordings.emplace_back();
    recording.name = record.name;
    KINDRED_TRY(recording.workload, ParseWorkload(record.text, "log"));
    recording.target = device;
    const auto plain = untuned.find(record.key);
    recording.untuned_ns = plain == untuned.end() ? 0 : plain->second;
    recording.schedules = std::move(schedules);
  }
  std::sort(recordings.begin(), recordings.end(),
            [](const ScheduleRecording& a, const ScheduleRecording& b) { return a.name < b.name; });
  return recordings;
}

Result<void> WriteScheduleRecording(const ScheduleRecording& recording, const std::string& path) {
  ordered_json out = {{"format", kFormat},
                      {"version", kVersion},
                      {"name", recording.name},
                      {"workload", PrintWorkload(recording.workload)},
                      {"target", ordered_json(TargetToJson(recording.target))},
                      {"kindred", Version()},
                      {"untuned_ns", recording.untuned_ns},
                      {"schedules", ordered_json::array()}};
  for (const RecordedSchedule& one : recording.schedules) out["schedules"].push_back(ToJson(one));
  const std::string text = out.dump();
  const std::string part = path + ".part";
  const gzFile file = gzopen(part.c_str(), "wb9");
  const bool written =
      file != nullptr && gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
                             static_cast<int>(text.size());
  const bool closed = file != nullptr && gzclose(file) == Z_OK;
  std::error_code code;
  if (written && closed) std::filesystem::rename(part, path, code);
  if (!written || !closed || code) {
    std::filesystem::remove(part, code);
    return Environment(path + " cannot be written");
  }
  return {};
}

Result<ScheduleRecording> ReadScheduleRecording(const std::string& path) try {
  bool truncated = false;
  KINDRED_TRY(const std::string text, ReadMaybeGzipped(path, &truncated));
  const Error damaged = BadInput(path + ": is no whole recording of schedules (`kindred record`)");
  if (truncated) return damaged;
  const ordered_json in = ordered_json::parse(text, nullptr, false);
  if (!in.is_object() || in.value("format", "") != kFormat) return damaged;
  if (in.value("version", 0) > kVersion)
    return Unsupported(path + ": was written by a newer version of Kindred; use that");
  ScheduleRecording recording;
  recording.name = in.at("name");
  KINDRED_TRY(recording.workload, ParseWorkload(in.at("workload").get<std::string>(), path));
  KINDRED_TRY(recording.target, TargetFromJson(in.at("target")));
  recording.untuned_ns = in.at("untuned_ns");
  for (const ordered_json& one : in.at("schedules")) {
    KINDRED_TRY(recording.schedules.emplace_back(), FromJson(one, path));
  }
  return recording;
} catch (const nlohmann::json::exception& error) {
  return BadInput(path + ": is no whole recording of schedules: " + error.what());
}

}  // namespace kindred
