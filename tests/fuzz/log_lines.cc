// Any JSON lines are either refused with a message, or become a log without a fault, whose export
// is the same after another round.
#include <sstream>
#include <string>

#include "database/exchange/json_lines.h"
#include "database/sqlite_log.h"
#include "tests/fuzz/fuzz_target.h"

namespace kindred::fuzz {
namespace {

std::unique_ptr<TuningLog> EmptyLog() {
  auto log = OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  Require(log.has_value(), "a log in memory");
  return std::move(*log);
}

std::string Exported(const TuningLog& log) {
  std::ostringstream out;
  const auto count = ExportJsonLines(log, {}, out);
  Require(count.has_value(), "a log that was imported is exported");
  return out.str();
}

}  // namespace

void FuzzLogLines(std::string_view bytes) {
  const auto log = EmptyLog();
  std::istringstream in{std::string(bytes)};
  const auto added = ImportJsonLines(in, "lines", *log);
  if (!added) {
    Require(!added.error().message.empty(), "an error has a message");
    const auto counts = log->Counts();
    Require(counts && counts->trials == 0, "a refused import leaves nothing behind");
    return;
  }
  const auto problems = log->Verify();
  Require(problems.has_value(), "an imported log is readable");
  Require(problems->empty(),
          "an imported log is without fault: " + (problems->empty() ? "" : problems->front()));
  const std::string first = Exported(*log);
  const auto again = EmptyLog();
  std::istringstream lines(first);
  const auto imported = ImportJsonLines(lines, "export", *again);
  Require(imported.has_value(),
          "an export is imported: " + (imported ? "" : imported.error().message));
  Require(Exported(*again) == first, "an export is the same after another round");
}

}  // namespace kindred::fuzz
