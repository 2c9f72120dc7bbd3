// kindred log: what stands in a tuning log, and moving it between logs.
#include <ctime>

#include <fstream>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/exchange/json_lines.h"
#include "database/exchange/t4.h"
#include "database/sqlite_log.h"
#include "tuner/commands/commands.h"
#include "tuner/progress.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using nlohmann::ordered_json;
using Align = Table::Align;

std::string When(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc);
  return text;
}

Result<void> List(const TuningLog& log, bool json) {
  KINDRED_TRY(const LogCounts counts, log.Counts());
  KINDRED_TRY(const auto sessions, log.Sessions());
  KINDRED_TRY(const auto epoch, log.Epoch());
  if (json) {
    ordered_json out = {{"epoch", epoch},
                        {"counts",
                         {{"targets", counts.targets},
                          {"workloads", counts.workloads},
                          {"families", counts.families},
                          {"kernels", counts.kernels},
                          {"sessions", counts.sessions},
                          {"trials", counts.trials},
                          {"failed", counts.failed}}},
                        {"sessions", ordered_json::array()}};
    for (const SessionRecord& s : sessions)
      out["sessions"].push_back({{"id", s.id},
                                 {"target", s.target},
                                 {"seed", s.seed},
                                 {"state", s.state},
                                 {"started_ms", s.started_ms},
                                 {"updated_ms", s.updated_ms},
                                 {"version", s.version}});
    fmt::print("{}\n", out.dump(2));
    return {};
  }
  fmt::print("{} trials ({} failed) of {} workloads in {} families on {} targets; epoch {}\n\n",
             counts.trials, counts.failed, counts.workloads, counts.families, counts.targets,
             epoch);
  Table table({{"session", Align::kLeft},
               {"target", Align::kLeft},
               {"seed"},
               {"started (UTC)", Align::kLeft},
               {"state", Align::kLeft},
               {"trials"},
               {"failed"}});
  for (const SessionRecord& s : sessions) {
    KINDRED_TRY(const auto progress, log.Progress(s.id));
    std::int64_t trials = 0, failed = 0;
    for (const TaskProgress& p : progress) trials += p.trials, failed += p.failed;
    table.Row({s.id, s.target, fmt::format("{}", s.seed), When(s.started_ms), s.state,
               fmt::format("{}", trials), fmt::format("{}", failed)});
  }
  fmt::print("{}", table.Print());
  return {};
}

// Without a key: the best schedule of every workload; with one: all its trials.
Result<void> Show(const TuningLog& log, const std::string& key, bool json) {
  KINDRED_TRY(const auto workloads, log.Workloads());
  std::map<std::string, const WorkloadRecord*> by_key;
  for (const WorkloadRecord& w : workloads) by_key[w.key] = &w;
  std::vector<TrialRecord> trials;
  if (key.empty()) {
    KINDRED_TRY(const auto targets, log.Targets());
    for (const TargetRecord& target : targets) {
      KINDRED_TRY(const auto best, log.BestSchedules(target.id));
      trials.insert(trials.end(), best.begin(), best.end());
    }
  } else {
    if (!by_key.contains(key))
      return NotFound(
          fmt::format("the log has no workload {}; `kindred log show LOG` lists them", key));
    TrialFilter filter;
    filter.workload = key;
    KINDRED_TRY(trials, log.Trials(filter));
  }
  if (json) {
    ordered_json out = {{"trials", ordered_json::array()}};
    for (const TrialRecord& t : trials)
      out["trials"].push_back({{"id", t.id},
                               {"workload", t.workload},
                               {"name", by_key[t.workload]->name},
                               {"target", t.target},
                               {"session", t.session},
                               {"round", t.round},
                               {"position", t.position},
                               {"sketch", t.sketch},
                               {"status", t.status},
                               {"message", t.message},
                               {"median_ns", t.median_ns},
                               {"predicted_ns", t.predicted_ns},
                               {"schedule", ordered_json::parse(t.schedule)}});
    fmt::print("{}\n", out.dump(2));
    return {};
  }
  if (!key.empty()) fmt::print("{}\n{}\n", by_key[key]->name, by_key[key]->text);
  Table table({{"trial"},
               {key.empty() ? "workload" : "session", Align::kLeft, 48},
               {"key", Align::kLeft, 32},
               {"sketch", Align::kLeft},
               {"status", Align::kLeft},
               {"time"},
               {"predicted"},
               {"schedule", Align::kLeft, 80}});
  for (const TrialRecord& t : trials)
    table.Row({fmt::format("{}", t.id), key.empty() ? by_key[t.workload]->name : t.session,
               t.workload, t.sketch,
               t.status == "ok" || t.message.empty() ? t.status : t.status + ": " + t.message,
               FormatNs(t.median_ns), FormatNs(t.predicted_ns), t.schedule});
  fmt::print("{}", table.Print());
  return {};
}

Result<void> Verify(const TuningLog& log, bool json, bool& clean) {
  KINDRED_TRY(const auto problems, log.Verify());
  KINDRED_TRY(const LogCounts counts, log.Counts());
  clean = problems.empty();
  if (json) {
    fmt::print(
        "{}\n",
        ordered_json{{"clean", clean}, {"trials", counts.trials}, {"problems", problems}}.dump(2));
    return {};
  }
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (clean) fmt::print("{} trials, all well\n", counts.trials);
  return {};
}

Result<int> Act(const LogCommand& command) {
  const bool writes = command.action == "import";
  KINDRED_TRY(const auto log,
              OpenSqliteLog(command.log, writes ? OpenMode::kReadWrite : OpenMode::kReadOnly));
  if (command.action == "ls") {
    KINDRED_CHECK(List(*log, command.json));
  } else if (command.action == "show") {
    KINDRED_CHECK(Show(*log, command.argument, command.json));
  } else if (command.action == "verify") {
    bool clean = false;
    KINDRED_CHECK(Verify(*log, command.json, clean));
    return clean ? 0 : 1;
  } else if (command.action == "export") {
    KINDRED_CHECK(ExportJsonLines(*log, {}, std::cout));
  } else if (command.action == "t4") {
    KINDRED_CHECK(ExportT4(*log, command.argument, command.target, std::cout));
  } else {
    std::ifstream file;
    if (command.argument != "-") {
      file.open(command.argument);
      if (!file)
        return NotFound(fmt::format("{}: no such file, or not readable", command.argument));
    }
    const bool piped = command.argument == "-";
    KINDRED_TRY(const auto summary,
                ImportJsonLines(piped ? std::cin : static_cast<std::istream&>(file),
                                piped ? "standard input" : command.argument, *log));
    if (command.json)
      fmt::print("{}\n",
                 ordered_json{{"added", summary.added}, {"skipped", summary.skipped}}.dump());
    else
      fmt::print("{} trials added, {} known already\n", summary.added, summary.skipped);
  }
  return 0;
}

}  // namespace

int RunLog(const LogCommand& command) {
  const auto done = Act(command);
  return done ? *done : Fail(done.error());
}

}  // namespace kindred
