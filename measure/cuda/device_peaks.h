// What a device reaches with small kernels of ours: copies, and multiply-adds from registers.
#pragma once

#include <string>

#include "measure/cuda/device.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"

namespace kindred {

// 1e9 bytes (read and written) or operations per second, of the whole device.
struct DevicePeaks {
  double copy_gbps = 0, f32_gflops = 0, f64_gflops = 0, f16_gflops = 0, i8_gops = 0;
};

// The kernels, for NvrtcBuilder.
KernelSource PeakSource();

// `image` is the cubin of PeakSource. The best of a few runs each. Error: a kernel cannot be run.
Result<DevicePeaks> MeasurePeaks(Device& device, const std::string& image);

}  // namespace kindred
