#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/cuda_contraction.h"

namespace kindred::internal {

WarpShape WarpOf(const CudaContractionPlan& plan) {
  WarpShape best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t down : {4, 8, 2, 16, 1, 32}) {
    const std::int64_t across = 32 / down;
    const std::int64_t reads = down * plan.register_rows + across * plan.register_columns;
    if (plan.Down() % down != 0 || plan.Across() % across != 0 || reads >= least) continue;
    best = {down, across};
    least = reads;
  }
  return best;
}

CudaContraction::CudaContraction(const Workload& the_workload, ContractionPattern the_pattern)
    : workload(&the_workload), pattern(std::move(the_pattern)), groups(GroupAxes(pattern)) {
  std::vector<int> fusible = FusibleStages(the_workload, pattern, false);
  const std::vector<int> of_b = FusibleStages(the_workload, pattern, true);
  fusible.insert(fusible.end(), of_b.begin(), of_b.end());
  for (const bool fused : {false, true}) {
    a[fused] = DescribeOperand(the_workload, pattern, groups, false, fused);
    b[fused] = DescribeOperand(the_workload, pattern, groups, true, fused);
    for (const int stage : pattern.before)
      if (!fused || std::find(fusible.begin(), fusible.end(), stage) == fusible.end())
        apart[fused].push_back(stage);
  }
}

std::int64_t CudaContraction::SharedBytes(const CudaContractionPlan& plan) const {
  const std::int64_t bytes = AccumulatorBytes();
  const auto tile = [&](const CudaOperand& operand, std::int64_t side) {
    return RoundUp(plan.stages * plan.k_step * operand.Line(side, bytes) * bytes, 128);
  };
  return tile(A(plan), plan.block_rows) + tile(B(plan), plan.block_columns);
}

std::int64_t CudaContraction::Registers(const CudaContractionPlan& plan) const {
  const std::int64_t words = std::max<std::int64_t>(AccumulatorBytes() / 4, 1);
  const std::int64_t fragments = plan.register_rows + plan.register_columns;
  std::int64_t staged = 0;
  const auto note = [&](const CudaOperand& operand, std::int64_t tile) {
    const std::int64_t accesses = Accesses(plan, operand, tile);
    const std::int64_t width =
        tile * plan.k_step / std::max<std::int64_t>(accesses, 1) / plan.Threads();
    // Each access has its address and, of several axes, what that is made of.
    const auto axes = static_cast<std::int64_t>(operand.axes.size() + groups.reduction.size());
    staged += accesses * (2 + std::max<std::int64_t>(axes - 2, 0));
    if (!plan.Async()) staged += accesses * std::max<std::int64_t>(width, 1) * words;
  };
  note(A(plan), plan.block_rows);
  note(B(plan), plan.block_columns);
  // At the end, of several axes, each row and column has its index and what is loaded and asked of
  // that; of more than eight ptxas (13.0) keeps more of it at a time.
  const auto ends_of = [](std::size_t axes, std::int64_t count) {
    return axes > 1 ? (count > 8 ? 6 : 3) * count : 0;
  };
  const std::int64_t ends = ends_of(groups.rows.size(), plan.register_rows) +
                            ends_of(groups.columns.size(), plan.register_columns);
  const std::int64_t sums = plan.register_rows * plan.register_columns * words;
  return sums + std::max(fragments * words + staged, ends) + 32;
}

std::int64_t CudaContraction::Accesses(const CudaContractionPlan& plan, const CudaOperand& operand,
                                       std::int64_t tile) const {
  // A transposing copy moves one element at a time.
  const std::int64_t width =
      plan.Async() && operand.k_is_fast ? 1 : operand.Width(tile, plan.k_step, plan.Threads());
  return CeilDiv(tile * plan.k_step / width, plan.Threads());
}

std::int64_t CudaContraction::Steps(const CudaContractionPlan& plan) const {
  return CeilDiv(pattern.ReductionExtent(), plan.k_step);
}

std::int64_t CudaContraction::Blocks(const CudaContractionPlan& plan) const {
  std::int64_t blocks =
      CeilDiv(A(plan).all, plan.block_rows) * CeilDiv(B(plan).all, plan.block_columns);
  for (const int axis : groups.batch) blocks *= pattern.Extent(axis);
  return blocks;
}

}  // namespace kindred::internal
