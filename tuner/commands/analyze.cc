// kindred analyze: a log, looked at offline.
#include <cstdio>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "database/sqlite_log.h"
#include "tuner/commands/commands.h"
#include "tuner/progress.h"
#include "tuner/report/analysis.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

Result<json> Analyzed(const std::string& path) {
  KINDRED_TRY(const auto log, OpenSqliteLog(path, OpenMode::kReadOnly));
  return AnalyzeLog(*log, path);
}

// As a whole or not at all.
Result<void> WriteFile(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code code;
  if (file) std::filesystem::rename(temporary, path, code);
  if (file && !code) return {};
  std::filesystem::remove(temporary, code);
  return Environment(
      fmt::format("{}: cannot be written; is the folder there, and the disk not full?", path));
}

std::string ChangesText(const json& changes, const std::string& before) {
  Table table({{"subgraph", Table::Align::kLeft, 48}, {before}, {"now"}, {"change"}});
  for (const json& change : changes) {
    const double from = change.at("before_ns"), to = change.at("after_ns");
    table.Row({change.at("name"), FormatNs(from), FormatNs(to),
               fmt::format("{:+.1f}%", 100 * (to / from - 1))});
  }
  return "\n" + table.Print();
}

Result<void> Analyze(const AnalyzeCommand& command) {
  KINDRED_TRY(json analysis, Analyzed(command.log));
  if (!command.compare.empty()) {
    KINDRED_TRY(const json other, Analyzed(command.compare));
    analysis["compared_with"] = command.compare;
    analysis["changes"] = CompareAnalyses(other, analysis);
  }
  if (!command.html.empty()) KINDRED_CHECK(WriteFile(command.html, AnalysisHtml(analysis)));
  if (command.json) {
    fmt::print("{}\n", analysis.dump(2, ' ', false, json::error_handler_t::replace));
    return {};
  }
  fmt::print("{}", AnalysisText(analysis));
  if (!command.compare.empty())
    fmt::print("{}", ChangesText(analysis.at("changes"), command.compare));
  if (!command.html.empty()) fmt::print(stderr, "kindred: wrote {}\n", command.html);
  return {};
}

}  // namespace

int RunAnalyze(const AnalyzeCommand& command) {
  const auto done = Analyze(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
