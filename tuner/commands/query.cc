// kindred query: the best kernel for a workload, never empty.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "schedules/text_form.h"
#include "tuner/answer.h"
#include "tuner/commands/commands.h"
#include "tuner/progress.h"

namespace kindred {
namespace {

bool IsKey(const std::string& text) {
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

Result<Workload> AskedWorkload(const std::string& asked, const TuningLog* log) {
  if (!IsKey(asked)) {
    std::error_code code;
    if (std::filesystem::is_directory(asked, code))
      return BadInput(fmt::format("{}: is a directory, not a workload", asked));
    std::ifstream file(asked);
    if (!file)
      return NotFound(fmt::format(
          "{}: no such file; query takes a WORKLOAD.kd or a key of 32 hexadecimal digits", asked));
    std::stringstream text;
    text << file.rdbuf();
    return ParseWorkload(text.str(), asked);
  }
  std::string key = asked;
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::optional<WorkloadRecord> record;
  if (log != nullptr) {
    KINDRED_TRY(record, log->FindWorkload(key));
  }
  if (!record)
    return NotFound(fmt::format(
        "key {} is not in the log; give the workload itself (a .kd file), then there is always an answer",
        key));
  return ParseWorkload(record->text, "the log's workload " + key);
}

Result<KernelPackage> Answer(const QueryCommand& command) {
  std::unique_ptr<TuningLog> log;
  const bool implied = command.log.empty();
  const std::string path = implied ? "kindred.db" : command.log;
  std::error_code code;
  if (!implied || std::filesystem::exists(path, code)) {
    KINDRED_TRY(log, OpenSqliteLog(path, OpenMode::kReadOnly));
  }
  KINDRED_TRY(Workload workload, AskedWorkload(command.workload, log.get()));
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  KINDRED_TRY(Target target, FindTarget(command.target, cache));
  return AnswerQuery(log.get(), {std::move(workload), std::move(target), command.epoch});
}

void PrintPackage(const KernelPackage& package) {
  fmt::print("workload   {}\ntarget     {}\nmatch      {}{}\n", package.key, package.target,
             Name(package.match), package.validated ? ", validated" : ", not run");
  if (package.statistics.contains("median_ns"))
    fmt::print("time       {} ({:.1f} GFLOP/s, median of {} samples)\n",
               FormatNs(package.statistics["median_ns"].get<double>()),
               package.statistics["gflops"].get<double>(), package.statistics["samples_ns"].size());
  else
    fmt::print("time       {} predicted\n",
               FormatNs(package.statistics["predicted_ns"].get<double>()));
  fmt::print("schedule   {}\n", package.schedule.dump());
  fmt::print("build      {} {}\n", package.provenance.value("compiler", ""),
             package.provenance.value("flags", ""));
  for (const auto& a : package.arguments)
    fmt::print("buffer {:<3} {} {} {}  {}\n", a["position"].get<int>(),
               a["access"].get<std::string>(), a["type"].get<std::string>(),
               a["name"].get<std::string>() + a["shape"].dump(), a["layout"].get<std::string>());
  fmt::print("workspace  {} bytes\nepoch      {}\n\n{}", package.kernel.workspace_bytes,
             package.epoch, package.kernel.code);
}

}  // namespace

int RunQuery(const QueryCommand& command) {
  const auto package = Answer(command);
  if (!package) return Fail(package.error());
  if (command.json)
    fmt::print("{}\n", ToJson(*package).dump(2));
  else
    PrintPackage(*package);
  return 0;
}

}  // namespace kindred
