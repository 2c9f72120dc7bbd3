// What the parent of a CUDA worker makes of a kernel's source: the call it asks for, and the
// compiler that it is built with.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/nvrtc_builder.h"
#include "measure/internal/protocol.h"
#include "schedules/kernel.h"
#include "schedules/target.h"

namespace kindred {

// `built` is what was built of `source`; `extents` are those of the symbolic axes, from which grids
// follow.
KernelCall CallOf(const KernelSource& source, const BuiltKernel& built,
                  std::span<const std::int64_t> extents);

// Outcome::driver, of a worker's answer to "device".
std::string DriverOf(const std::string& device);

NvrtcBuilderOptions NvrtcOptions(const Target& target, const CudaRunnerOptions& options);

}  // namespace kindred
