// The checks behind CheckWorkload, with the place of a failure, so that the parser can point at it.
#pragma once

#include <optional>

#include "schedules/workload.h"

namespace kindred {

struct WorkloadFailure {
  Error error;
  int tensor = -1;           // the tensor declaration at fault, or
  int stage = -1;            // the stage at fault
  const Expr* at = nullptr;  // in the stage's body: the node at fault
};

std::optional<WorkloadFailure> FindFailure(const Workload& workload);

}  // namespace kindred
