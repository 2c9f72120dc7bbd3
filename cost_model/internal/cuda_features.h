// Features of a program for CUDA, from the costs of its launches.
#pragma once

#include <span>

#include "cost_model/internal/nest.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// `out` has kCudaFeatureCount places, all zero.
void ExtractCudaFeatures(const Nest& nest, const Workload& workload, const Target& target,
                         std::span<float> out);

}  // namespace kindred
