// kindred record: the schedules that a log knows, one file per workload, to replay searches on.
#include <cctype>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "tuner/commands/commands.h"
#include "tuner/progress.h"
#include "tuner/report/table.h"
#include "tuner/schedule_recording.h"

namespace kindred {
namespace {

// A file's name of a workload's: letters, digits, - and _.
std::string FileName(const std::string& name) {
  std::string file;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-')
      file += c;
    else if (!file.empty() && file.back() != '_')
      file += '_';
  return file.substr(0, 80);
}

// The log's only target, or the one that is asked for, by record id or by name.
Result<std::string> TargetOf(const TuningLog& log, const std::string& asked) {
  KINDRED_TRY(const auto targets, log.Targets());
  std::vector<std::string> found, all;
  for (const TargetRecord& target : targets) {
    all.push_back(target.id);
    if (asked.empty() || target.id == asked || target.name == asked) found.push_back(target.id);
  }
  if (found.size() == 1) return found.front();
  return BadInput(fmt::format("{} of the log's targets ({}) {}; name one with --target",
                              found.empty() ? "none" : "several", fmt::join(all, ", "),
                              asked.empty() ? "can be meant" : "are called " + asked));
}

Result<void> Record(const RecordCommand& command) {
  KINDRED_TRY(const auto log, OpenSqliteLog(command.log, OpenMode::kReadOnly));
  KINDRED_TRY(const std::string target, TargetOf(*log, command.target));
  KINDRED_TRY(const auto recordings, RecordingsOf(*log, target, command.least));
  if (recordings.empty())
    return NotFound(
        fmt::format("no workload of {} has {} schedules on {}: tune more, or ask for "
                    "fewer with --least",
                    command.log, command.least, target));
  std::error_code code;
  std::filesystem::create_directories(command.out, code);
  if (code) return Environment(command.out + " cannot be made: " + code.message());
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({{"file", Table::Align::kLeft}, {"schedules"}, {"failed"}, {"best"}, {"median"}});
  for (const ScheduleRecording& recording : recordings) {
    const std::string file = FileName(recording.name) + ".json.gz";
    KINDRED_CHECK(WriteScheduleRecording(recording, command.out + "/" + file));
    std::vector<double> ns;
    for (const RecordedSchedule& one : recording.schedules)
      if (one.outcome.Timed()) ns.push_back(one.outcome.median_ns);
    const std::size_t failed = recording.schedules.size() - ns.size();
    const double best = ns.empty() ? 0 : ns.front(), median = ns.empty() ? 0 : ns[ns.size() / 2];
    out.push_back({{"file", file},
                   {"name", recording.name},
                   {"schedules", recording.schedules.size()},
                   {"failed", failed},
                   {"best_ns", best},
                   {"median_ns", median}});
    table.Row({file, std::to_string(recording.schedules.size()), std::to_string(failed),
               FormatNs(best), FormatNs(median)});
  }
  if (command.json)
    fmt::print("{}\n", out.dump(2));
  else
    fmt::print("{}", table.Print());
  return {};
}

}  // namespace

int RunRecord(const RecordCommand& command) {
  const auto done = Record(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
