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

// Neighbouring points, by their number.
struct PointwisePoints {
  std::function<std::vector<ExprPtr>(const ExprPtr& lane)> at;  // values of all axes
  // nullptr, or the points' place in the row-major order of all, which reads and writes of tensors
  // of the step's shape then use.
  std::function<ExprPtr(const ExprPtr& lane)> flat;
};

PointwisePoints AlongLastAxis(std::vector<ExprPtr> values);

// How the loads of a lane are made.
using LaneLoads = std::function<LoadRule(const ExprPtr& lane)>;

// `lanes` points of every stage. The loads of the step's stages go through `loads` unless an
// earlier stage of the step has just computed them.
StmtPtr PointwiseLanes(Lowering& lowering, const PointwiseStep& step, const PointwisePoints& points,
                       std::int64_t lanes, const LaneLoads& loads);

// The last axis consists of vectors of `lanes`.
bool WholeVectors(const PointwiseStep& step, std::int64_t lanes);

// One thread computes `items` chunks of `lanes` neighbouring points.
StmtPtr LowerPointwise(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                       std::int64_t lanes, std::int64_t items);

// The tile of a block along the crossed and the last axis.
struct TransposeTile {
  std::int64_t crossed = 0, last = 0;
};

// About size x size points, longer along one axis where the other is short.
TransposeTile TileOf(const Workload& workload, const PointwiseStep& step, std::int64_t size);

// A block computes a tile of the crossed and the last axis; loads that walk along the crossed axis
// pass through shared memory, whose lines are one bank longer than the tile so that neighbouring
// lines begin in different banks. Vectors of up to `lanes` elements on both sides, where the axes
// consist of them.
StmtPtr LowerTransposed(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                        std::int64_t size, std::int64_t lanes);

// Shared memory that LowerTransposed needs.
std::int64_t TransposedBytes(const Workload& workload, const PointwiseStep& step,
                             std::int64_t size);

}  // namespace kindred::internal
