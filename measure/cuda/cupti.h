// CUPTI's activity records of kernels: when each began and ended, on the device's own clock.
//
// libcupti is opened at run time; the few functions and the beginning of a kernel's record are
// declared here. Where it is missing or refuses (some containers and drivers do not allow tracing),
// a worker times with events instead. One per process, made before the driver is initialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/cuda/dynamic_library.h"
#include "schedules/base/result.h"

namespace kindred {

// The beginning of CUpti_ActivityKernel4 and all later ones (cupti_activity.h); times in ns.
struct CuptiKernelRecord {
  std::uint32_t kind;
  std::uint8_t cache_config, shared_memory_config;
  std::uint16_t registers_per_thread;
  std::uint32_t partitioned_cache_requested, partitioned_cache_executed;
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3], static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t local_bytes_per_thread, local_bytes, correlation;
};

inline constexpr std::uint32_t kCuptiConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_...

struct KernelTimes {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t correlation = 0;  // ascends with the launches; one for all kernels of a graph
};

class Cupti {
 public:
  // Error (kEnvironment): it is not installed, or refuses; one line.
  static Result<std::unique_ptr<Cupti>> Start();

  // The kernels that have ended since the last call, in the order of their launches. To be called
  // after a synchronisation. Error (kEnvironment): CUPTI has lost records, or fails.
  Result<std::vector<KernelTimes>> Take();

 private:
  struct Functions;
  Cupti() = default;

  std::unique_ptr<DynamicLibrary> library_;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace kindred
