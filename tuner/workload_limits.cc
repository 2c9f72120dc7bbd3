#include "tuner/workload_limits.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "cost_model/prior.h"
#include "measure/reference_plan.h"

namespace kindred {
namespace {

// Value and bound of an element, in the buffers of the reference and as kept for comparing.
constexpr double kReferenceElementBytes = 32;

std::string Gigabytes(double bytes) { return fmt::format("{:.3g} GB", bytes / 1e9); }

}  // namespace

double MeasuringBytes(const Workload& workload) {
  double bytes = 0, computed = 0;
  for (const Tensor& tensor : workload.tensors)
    bytes += static_cast<double>(Bytes(tensor)) * (tensor.role == Role::kWeight ? 2 : 1);
  for (const Stage& stage : workload.stages)
    computed +=
        static_cast<double>(Elements(workload.tensors[static_cast<std::size_t>(stage.tensor)]));
  return bytes +
         kReferenceElementBytes * std::min(computed, static_cast<double>(kReferenceElementLimit));
}

double UntunedSeconds(const Workload& workload, const Target& target) {
  if (target.kind == DeviceKind::kCuda) return 100 * RooflineNs(workload, target) / 1e9;
  return static_cast<double>(Flop(workload)) / 1e9;
}

std::string WhyNotTunable(const Workload& canonical, const Target& target,
                          const WorkloadLimits& limits) {
  const double bytes = MeasuringBytes(canonical);
  if (limits.memory_bytes > 0 && bytes > limits.memory_bytes)
    return fmt::format("measuring it takes about {} of memory, and there are {}", Gigabytes(bytes),
                       Gigabytes(limits.memory_bytes));
  const double seconds = RooflineNs(canonical, target) / 1e9;
  if (seconds > limits.run_s)
    return fmt::format(
        "one run takes at least {:.3g} s at the measured peaks of {}, and a candidate gets {:.3g} s",
        seconds, target.id, limits.run_s);
  return {};
}

double MemoryBytes() {
  double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // Control groups of version 2 and 1; "max" and what cannot be read are no bound.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace kindred
