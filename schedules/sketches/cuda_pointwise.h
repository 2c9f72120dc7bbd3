// Lowerings of the pointwise CUDA sketch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedules/sketches/cuda_common.h"
#include "schedules/workload.h"

namespace kindred::internal {

// Consecutive stages of equal extents that one step computes: what one reads of another it reads at
// the very same point, and keeps in registers. Bodies have no kPadded.
struct PointwiseStep {
  std::vector<Stage> stages;
};

std::vector<PointwiseStep> PointwiseSteps(const Workload& workload);

// The axis that some load walks contiguously while the last axis jumps in it; -1: none.
int CrossedAxis(const Workload& workload, const PointwiseStep& step);

// The loads of the step's stages go through `load` unless an earlier stage of the step has just
// computed them. `lanes` points from `values` on along the last axis, every stage.
StmtPtr PointwiseLanes(Lowering& lowering, const PointwiseStep& step, std::vector<ExprPtr> values,
                       std::int64_t lanes, const LoadRule& load);

// One thread computes `items` chunks of `lanes` neighbouring points along the last axis.
StmtPtr LowerPointwise(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                       std::int64_t lanes, std::int64_t items);

// A block computes a tile of the crossed and the last axis; loads that walk along the crossed axis
// pass through shared memory, whose lines are one element longer than the tile so that neighbouring
// rows lie in different banks.
StmtPtr LowerTransposed(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                        std::int64_t tile);

// Shared memory that LowerTransposed needs.
std::int64_t TransposedBytes(const Workload& workload, const PointwiseStep& step,
                             std::int64_t tile);

}  // namespace kindred::internal
