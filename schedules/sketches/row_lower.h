// Lowering of the row sketch.
#pragma once

#include "schedules/program.h"
#include "schedules/sketches/row_plan.h"
#include "schedules/target.h"

namespace kindred::internal {

struct RowChoices {
  std::int64_t rows = 1;     // computed side by side
  std::int64_t vectors = 1;  // accumulators per reduction and row, and vectors per step
};

// `workload` must be what `plan` was made of, and outlives the call.
Program LowerRows(const Workload& workload, const RowPlan& plan, const RowChoices& choices,
                  const Target& target);

}  // namespace kindred::internal
