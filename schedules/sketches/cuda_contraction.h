// Plan and lowering of the CUDA contraction sketch: the product on CUDA cores.
//
// Output axes of operand a alone are rows, of b alone columns, of both batch; each group and the
// reduction count as one flat axis. A block computes a tile of rows by columns, each of its warps a
// part of that, each thread strips of 16 bytes by 16 bytes apart in its warp's part. Both operands
// pass through shared memory, [k][side] in the accumulator's type, zeros beyond their extents.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program.h"
#include "schedules/sketches/contraction_pattern.h"
#include "schedules/sketches/cuda_contraction_operand.h"

namespace kindred::internal {

// ptxas may spill this much in a legal schedule: bytes of stores and loads of a kernel.
inline constexpr std::int64_t kContractionSpillBound = 128;

struct CudaContractionPlan {
  std::int64_t block_rows = 64, block_columns = 64;      // elements of a block's tile
  std::int64_t register_rows = 4, register_columns = 4;  // of a thread's
  std::int64_t k_step = 16;                              // of the reduction, staged at a time
  std::int64_t stages = 1;  // 2: double buffering through registers; more: cp.async
  std::int64_t splits = 1;  // parts of the reduction, summed by a second launch
  std::int64_t raster = 1;  // rows of blocks that walk along the columns together
  bool fused = true;        // stages before the product are computed while loading

  std::int64_t Down() const { return block_rows / register_rows; }
  std::int64_t Across() const { return block_columns / register_columns; }
  std::int64_t Threads() const { return Down() * Across(); }
  bool Async() const { return stages > 2; }
};

// Threads of a warp down and across: the shape that reads least from shared memory.
struct WarpShape {
  std::int64_t down = 1, across = 32;
};
WarpShape WarpOf(const CudaContractionPlan& plan);

// A workload as the sketch sees it.
struct CudaContraction {
  CudaContraction(const Workload& workload, ContractionPattern pattern);

  const Workload* workload;
  ContractionPattern pattern;
  ProductAxes groups;
  // Without and with the stages before the product.
  CudaOperand a[2], b[2];
  std::vector<int> apart[2];  // stages before the product that get launches of their own

  const CudaOperand& A(const CudaContractionPlan& plan) const { return a[plan.fused]; }
  const CudaOperand& B(const CudaContractionPlan& plan) const { return b[plan.fused]; }
  std::int64_t AccumulatorBytes() const { return ByteSize(pattern.accumulator); }
  std::int64_t SharedBytes(const CudaContractionPlan& plan) const;
  // 32-bit registers of a thread: sums, fragments, the next tile, addresses.
  std::int64_t Registers(const CudaContractionPlan& plan) const;
  // Global accesses of a thread for one step of an operand's tile.
  std::int64_t Accesses(const CudaContractionPlan& plan, const CudaOperand& operand,
                        std::int64_t tile) const;
  std::int64_t Steps(const CudaContractionPlan& plan) const;
  std::int64_t Blocks(const CudaContractionPlan& plan) const;  // without splits
};

Program LowerCudaContraction(const CudaContraction& contraction, const CudaContractionPlan& plan);

}  // namespace kindred::internal
