// Features of a program for CUDA, from the costs of its launches.
#pragma once

#include <span>

#include "cost_model/features.h"
#include "cost_model/internal/nest.h"
#include "schedules/target.h"

namespace kindred {

// `out` has kCudaFeatureCount places: those of the workload are set, the others zero.
void ExtractCudaFeatures(const Nest& nest, const WorkloadFacts& workload, const Target& target,
                         std::span<float> out);

}  // namespace kindred
