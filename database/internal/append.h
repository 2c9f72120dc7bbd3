// Writing a batch: one transaction, each kind of row in the order that their references need.
#pragma once

#include "database/internal/sqlite.h"
#include "database/tuning_log.h"
#include "schedules/base/result.h"

namespace kindred {

// What no table may hold. Error kBadInput.
Result<void> CheckTrial(const TrialRecord& record);

Result<AppendSummary> AppendBatch(Connection& connection, const LogBatch& batch);

}  // namespace kindred
