// Answers to queries: the best kernel for a workload on a target, never empty.
//
// In order: measured here (exact), measured on a like device (device), a family member's winner
// carried over (sibling), the cost models' best of a search without measurements (predicted), the
// analytic prior's (default).
#pragma once

#include <optional>

#include "database/tuning_log.h"
#include "schedules/target.h"
#include "tuner/kernel_package.h"

namespace kindred {

struct Query {
  Workload workload;  // the asker's, with the asker's names
  Target target;
  std::optional<std::int64_t> epoch;  // answer as of then; empty: now
};

// `log` may be nullptr: nothing was ever measured. Errors: those of the log; kUnsupported for a
// workload that cannot be lowered (f8 and complex types).
Result<KernelPackage> AnswerQuery(const TuningLog* log, const Query& query);

}  // namespace kindred
