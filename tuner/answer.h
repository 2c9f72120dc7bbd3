// Answers to queries: the best kernel for a workload on a target, never empty.
//
// In order: measured here (exact), measured on a like device (device), a family member's winner
// carried over (sibling), the cost models' best of a search without measurements (predicted), the
// analytic prior's (default). Where constraints leave nothing
// else, the plain loop nest answers.
#pragma once

#include <optional>

#include "database/tuning_log.h"
#include "schedules/target.h"
#include "tuner/constraints.h"
#include "tuner/kernel_package.h"

namespace kindred {

struct Query {
  Workload workload;  // the asker's, with the asker's names
  Target target;
  std::optional<std::int64_t> epoch;  // answer as of then; empty: now
  Constraints constraints = {};
};

// `log` may be nullptr: nothing was ever measured. Errors: those of the log; kUnsupported for a
// workload that cannot be lowered, for a dialect that does not
// exist, and for constraints that not even the plain loop nest meets.
Result<KernelPackage> AnswerQuery(const TuningLog* log, const Query& query);

}  // namespace kindred
