// Inlining of pointwise stages: a workload that computes the same outputs with fewer stages.
#pragma once

#include <vector>

#include "schedules/workload.h"

namespace kindred::internal {

// A temporary computed point by point can be computed where it is read.
bool CanInline(const Workload& workload, const Stage& stage);

// Stages that CanInline and that no reader evaluates much more often than once per element (a
// reader with a larger domain would repeat the work: a row's factor in every column). `repeats`
// bounds how often; stages that only convert, move or do cheap arithmetic may be repeated without
// bound if `cheap_always`.
std::vector<bool> WorthInlining(const Workload& workload, double repeats, bool cheap_always);

// The workload without the chosen stages, their bodies put in place of the loads; padded loads of
// them become guarded selects. Tensor ids stay; chosen stages' tensors have no producer any more.
Workload InlineStages(const Workload& workload, const std::vector<bool>& chosen);

}  // namespace kindred::internal
