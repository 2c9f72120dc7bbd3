// Lowering of the CUDA contraction sketch: the product on CUDA cores.
//
// Output axes of operand a alone are rows, of b alone columns, of both batch; each group and the
// reduction count as one flat axis. A block computes a tile of rows by columns. Both operands pass
// through shared memory in the accumulator's type, filled with zeros beyond their extents.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program.h"
#include "schedules/sketches/contraction_pattern.h"

namespace kindred::internal {

struct CudaContractionPlan {
  std::int64_t block_rows = 64, block_columns = 64;      // elements of a block's tile
  std::int64_t register_rows = 4, register_columns = 4;  // of a thread's
  std::int64_t k_step = 16;                              // of the reduction, staged at a time
  std::int64_t stages = 1;                               // 2: double buffering

  std::int64_t Threads() const {
    return block_rows / register_rows * (block_columns / register_columns);
  }
  // Shared memory, for accumulators of `bytes`.
  std::int64_t SharedBytes(std::int64_t bytes) const {
    return stages * k_step * (block_rows + block_columns + 2) * bytes;
  }
  // 32-bit registers of a thread: sums, fragments, the next tile, addresses.
  std::int64_t Registers(std::int64_t bytes) const;
};

// Axes of the product in groups, each with the fastest last.
struct ProductAxes {
  std::vector<int> batch, rows, columns, reduction;
};
ProductAxes GroupAxes(const ContractionPattern& pattern);

Program LowerCudaContraction(const Workload& workload, const ContractionPattern& pattern,
                             const CudaContractionPlan& plan);

}  // namespace kindred::internal
