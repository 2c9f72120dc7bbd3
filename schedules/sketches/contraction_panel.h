// Panels: an operand rearranged so that a register tile reads it front to back.
//
// Panel t holds columns (or rows) [t*width, (t+1)*width) of the operand for every step of the
// reduction: element (k*width + j), zero beyond the operand's edge. Weights are laid out so ahead
// of time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schedules/program.h"

namespace kindred {

struct PanelSpec {
  int buffer = -1;
  DataType type = DataType::kF32;
  ExprPtr base;               // element of panel `first_tile`, step 0
  ExprPtr first_tile, tiles;  // which panels to write
  std::int64_t width = 1;     // of a panel
  std::int64_t extent = 1;    // columns of the operand
  std::int64_t steps = 1;     // length of a panel in the buffer, in steps
  std::vector<ExprPtr>
      reduction;  // extents of the reduction loops, outermost first; constants but the first
  std::int64_t lanes = 1;        // of vector copies
  bool neighbours = false;       // columns are neighbours in memory, of the panel's own type
  bool readable_beyond = false;  // columns past `extent` may be read (their values do not matter)
};

// `source(column, k)` is the operand's element, of the panel's type.
StmtPtr EmitPanels(Program& program, const PanelSpec& spec,
                   const std::function<ExprPtr(const ExprPtr&, std::span<const ExprPtr>)>& source);

// Position of k within a panel: row-major over the reduction loops.
ExprPtr LinearStep(std::span<const ExprPtr> k, std::span<const ExprPtr> reduction);

}  // namespace kindred
