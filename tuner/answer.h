// Answers to queries: the best kernel for a workload on a target, never empty.
//
// In order: measured here (exact), measured on a like device (device), a family member's winner
// carried over (sibling), the cost models' best of a search without measurements (predicted), the
// analytic prior's (default). Where constraints leave nothing
// else, the plain program answers.
#pragma once

#include <optional>
#include <vector>

#include "cost_model/cost_model.h"
#include "database/tuning_log.h"
#include "schedules/target.h"
#include "tuner/constraints.h"
#include "tuner/kernel_package.h"

namespace kindred {

struct KernelQuery {
  Workload workload;  // the asker's, with the asker's names
  Target target;
  std::optional<std::int64_t> epoch;  // answer as of then; empty: now
  Constraints constraints = {};
};

// `log` may be nullptr: nothing was ever measured. Errors: those of the log; kUnsupported for a
// workload that cannot be lowered, for a dialect that does not
// exist, and for constraints that not even the plain program meets.
Result<KernelPackage> AnswerQuery(const TuningLog* log, const KernelQuery& query);

struct RankedSchedule {
  Candidate candidate;
  Prediction prediction;
};

// At most `count` schedules that the log's models like best, best first: winners of siblings and
// what a search without measurements finds. What was measured of the workload itself, and
// constraints, play no part. `log` as above; errors: those of the log.
Result<std::vector<RankedSchedule>> RankSchedules(const TuningLog* log, const KernelQuery& query,
                                                  int count);

}  // namespace kindred
