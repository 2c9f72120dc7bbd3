// Descriptions of CUDA devices by name, for building and predicting without the device.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedules/target.h"

namespace kindred {

// "h200", "h100", "a100", "rtx4090", "b200": data sheet values, peaks included; the id is the name.
// nullopt: not a known name.
std::optional<Target> NamedCudaTarget(std::string_view name);
// Fills in what no driver tells, from SMs and clock: how fast the caches are.
void CompleteCudaTarget(Target& target);
// "a100, b200, ...", for messages.
std::string KnownCudaTargets();

}  // namespace kindred
