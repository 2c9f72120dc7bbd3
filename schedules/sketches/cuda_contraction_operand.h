// One operand of a CUDA contraction: what is read of it, and on which ways it may go to shared
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/sketches/contraction_pattern.h"

namespace kindred::internal {

// Axes of the product in groups, each with the fastest last.
struct ProductAxes {
  std::vector<int> batch, rows, columns, reduction;
};
ProductAxes GroupAxes(const ContractionPattern& pattern);

struct CudaOperand {
  ExprPtr value;                   // over the anchor's axes, in workload form without kPadded
  DataType type = DataType::kF32;  // in which it waits in registers for its tile
  std::vector<int> axes;           // rows or columns
  std::int64_t all = 1;            // the extent of the side
  bool k_is_fast = false;          // neighbours in memory are neighbours in the reduction
  // Neighbours along the fast axis that one access may move, by alignment: at most 16 bytes.
  std::int64_t vector = 1;
  bool copies = false;  // cp.async can move it: elements of the accumulator's type, zeros outside

  // Elements between neighbours in k of its tile: transposed tiles are padded against conflicts.
  std::int64_t Line(std::int64_t tile, std::int64_t accumulator_bytes) const {
    return k_is_fast ? tile + 16 / accumulator_bytes : tile;
  }
  // Elements of one global access where `threads` threads move `tile` by `k_step`.
  std::int64_t Width(std::int64_t tile, std::int64_t k_step, std::int64_t threads) const;
};

// Stages before the product that can be computed while operand `side` is loaded: read by it alone.
std::vector<int> FusibleStages(const Workload& workload, const ContractionPattern& pattern,
                               bool of_b);
CudaOperand DescribeOperand(const Workload& workload, const ContractionPattern& pattern,
                            const ProductAxes& groups, bool of_b, bool fused);

}  // namespace kindred::internal
