// The register tile: rows x (vectors of lanes) sums kept in named registers while the reduction
// runs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schedules/program.h"

namespace kindred {

// How a tile reads one operand: element `base` + step(values of the reduction loops) + row *
// row_stride. Columns are neighbours, so row_stride serves the row operand only.
struct TileOperand {
  int buffer = -1;
  DataType type = DataType::kF32;
  ExprPtr base;
  std::function<ExprPtr(std::span<const ExprPtr>)> step;
  std::int64_t row_stride = 1;
};

struct TileShape {
  std::int64_t rows = 1, vectors = 1, lanes = 1;
  DataType accumulator = DataType::kF32;
  std::vector<ExprPtr> reduction;  // extents of the reduction loops, outermost first
  std::int64_t unroll = 1;         // of the innermost one; 0: fully
};

// Sums that a reduction cut into blocks leaves in memory, in the tile's own order.
struct PartialSums {
  int buffer = -1;  // -1: the reduction is not cut
  ExprPtr base;
  ExprPtr first, last;  // conditions: this is the first, the last block
};

// Statements of one tile; `finish(acc)` makes those that use the finished sums in register buffer
// `acc` (element row * vectors * lanes + column).
StmtPtr EmitTile(Program& program, const TileShape& shape, const TileOperand& a,
                 const TileOperand& b, const PartialSums& partial,
                 const std::function<StmtPtr(int)>& finish);

}  // namespace kindred
