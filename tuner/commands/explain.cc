// kindred explain: why a schedule won.
#include <fmt/format.h>

#include "database/sqlite_log.h"
#include "tuner/commands/commands.h"
#include "tuner/report/explain.h"

namespace kindred {
namespace {

Result<void> Explain(const ExplainCommand& command) {
  KINDRED_TRY(const auto log, OpenSqliteLog(command.log, OpenMode::kReadOnly));
  KINDRED_TRY(const auto explanation, ExplainSchedule(*log, command.key, command.target));
  if (command.json) {
    fmt::print("{}\n", explanation.dump(2));
  } else {
    fmt::print("{}", ExplanationText(explanation));
  }
  return {};
}

}  // namespace

int RunExplain(const ExplainCommand& command) {
  const auto done = Explain(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
