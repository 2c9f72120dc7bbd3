// Hardware counters of chosen kernels (`kindred tune --profile`): each is run again by a worker
// that counts and times nothing. docs/measuring.md, "Hardware counters".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/nvrtc_builder.h"
#include "measure/internal/worker_process.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

class CudaProfiler {
 public:
  // On the first of the target's devices. Errors as MakeCudaRunner's.
  static Result<std::unique_ptr<CudaProfiler>> Make(const Target& target,
                                                    const CudaRunnerOptions& options);

  // Counters of one run, by the names of CounterMetrics (measure/cuda/range_profiler.h). Error: one
  // line: CUPTI is not there or refuses, the kernel does not build or run; later kernels may do.
  Result<std::map<std::string, double>> Profile(const Workload& workload,
                                                const KernelSource& kernel, std::uint64_t seed);

  const std::string& driver() const { return driver_; }  // Outcome::driver, once it has profiled
  bool cold() const { return options_.cold; }

 private:
  CudaProfiler(std::unique_ptr<NvrtcBuilder> builder, CudaRunnerOptions options, int device)
      : builder_(std::move(builder)), options_(std::move(options)), device_(device) {}
  Result<void> Open(const Workload& workload, std::uint64_t seed);

  const std::unique_ptr<NvrtcBuilder> builder_;
  const CudaRunnerOptions options_;
  const int device_;
  std::unique_ptr<WorkerProcess> worker_;
  std::string driver_;
};

}  // namespace kindred
