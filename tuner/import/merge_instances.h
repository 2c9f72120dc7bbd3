// Instances of one model as one computation, with weights and inputs of their own (NetFuse: Jeong
// et al., "Accelerating Multi-Model Inference by Merging DNNs of Different Weights", EuroMLSys
// 2021): matrix products become batched ones, convolutions grouped ones, all else longer.
#pragma once

#include <set>

#include "schedules/workload.h"

namespace kindred {

// The workload of `instances` instances: every stage and tensor gets a leading axis of that extent,
// but the tensors `shared` (ids), which are the same for all. Tensor ids stay. One instance: the
// workload as it is.
Workload MergeInstances(const Workload& workload, int instances, const std::set<int>& shared);

}  // namespace kindred
