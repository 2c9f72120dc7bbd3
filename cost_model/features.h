// Features of a lowered program: numbers that tell how long it will take, normalised by the
// device's peaks so that they carry over to other shapes and devices.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// Every program for a kind of device gives the same number of features in the same order; names for
// reports. Those of CPUs are the first of those of CUDA.
std::span<const std::string_view> FeatureNames(DeviceKind kind);

std::vector<float> ExtractFeatures(const Program& program, const Workload& canonical,
                                   const Target& target);

}  // namespace kindred
