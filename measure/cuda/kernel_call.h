// What the parent of a CUDA worker makes of a kernel's source: the call it asks for, and the
// compiler that it is built with.
#pragma once

#include <string>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/nvrtc_builder.h"
#include "measure/internal/protocol.h"
#include "schedules/kernel.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// `cubin` is the path of what was built of `source`; grids are those of the extents for which the
// workload is measured.
KernelCall CallOf(const KernelSource& source, const std::string& cubin, const Workload& workload);

// Outcome::driver, of a worker's answer to "device".
std::string DriverOf(const std::string& device);

NvrtcBuilderOptions NvrtcOptions(const Target& target, const CudaRunnerOptions& options);

}  // namespace kindred
