// Checks of a whole log: SQLite's own, the schema, and the invariants that no constraint can
// express.
#pragma once

#include <string>
#include <vector>

#include "database/internal/sqlite.h"
#include "schedules/base/result.h"

namespace kindred {

// One sentence per problem, at most kMaximumProblems of each check. Error: the log cannot be read
// at all.
Result<std::vector<std::string>> VerifyLog(Connection& connection);

inline constexpr int kMaximumProblems = 20;

}  // namespace kindred
