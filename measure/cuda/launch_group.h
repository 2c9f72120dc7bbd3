// Launches of a loaded cubin, queued in groups so that launch costs do not enter their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/device.h"
#include "measure/internal/protocol.h"

namespace kindred {

// A module and the launches that make up one run. Unloads the module in the end.
class LoadedKernels {
 public:
  LoadedKernels() = default;
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;
  ~LoadedKernels();

  // `image` is a cubin; `arguments` are the pointers that kArgument parameters name, `workspace`
  // the memory of the others, `extents` the symbolic extents. The driver's code.
  CudaResult Load(const Device& device, const std::string& image,
                  std::span<const KernelLaunch> launches, std::span<const CudaPointer> arguments,
                  CudaPointer workspace, std::span<const std::int64_t> extents);

  // Copies `bytes` into the module's __constant__ (or __device__) array of that name and size.
  CudaResult FillConstant(const std::string& name, std::span<const std::byte> bytes) const;

  CudaResult Launch() const;  // one run, on the device's stream
  int launches() const { return static_cast<int>(launches_.size()); }

 private:
  struct Prepared {
    void* function = nullptr;
    KernelLaunch launch;
    std::vector<std::uint64_t> values;  // of the parameters
  };
  const Device* device_ = nullptr;
  void* module_ = nullptr;
  std::vector<Prepared> launches_;
};

struct GroupTimes {
  CudaResult code = 0;         // not 0: the device failed, and nothing else is set
  std::vector<double> run_ns;  // of each run: from the first kernel's begin to the last one's end
};

// Runs `kernels` so many times. Cold: the second-level cache is flushed before each run; otherwise
// one more run comes first, not counted. The device is kept busy until all of them are queued.
// Timed by CUPTI, or by events where CUPTI is not there or stops giving records.
GroupTimes RunGroup(Device& device, const LoadedKernels& kernels, int runs, bool cold);

}  // namespace kindred
