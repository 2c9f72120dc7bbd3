// Analysis behind the row sketch: which leading axes are rows, and which stages one pass over a
// row's columns can compute together.
//
// All stages share their leading `row_axes` spatial axes, and what one reads of another it reads in
// its own row; so a row can be finished, all stages, before the next one starts, and temporaries
// hold one row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred::internal {

enum class PassKind : std::uint8_t {
  kScalar,   // one pointwise stage with a single value per row
  kColumns,  // one loop over the columns: pointwise stages, and reductions over all columns
  kTile,     // one reduction that keeps a column axis as its contiguous one: register tile
  kArg,      // one argmax or argmin with vectors along its reduction
};

struct RowPass {
  PassKind kind = PassKind::kColumns;
  std::vector<int> stages;  // positions in workload.stages
  // kColumns: axes (positions, the same in every stage of the pass) looped outside of one
  // reduction, those of its columns, and which of these is computed with vectors.
  std::vector<int> outer, columns;
  int vector_axis = -1;
};

struct RowPlan {
  int row_axes = 0;
  std::vector<RowPass> passes;  // in order of execution
  std::vector<int> pass_of;     // per stage
};

RowPlan PlanRows(const Workload& workload);

// Divisions by a value that is the same in the whole row become products with its reciprocal; false
// where there is none.
bool UseReciprocals(Workload& workload, int row_axes);

}  // namespace kindred::internal
