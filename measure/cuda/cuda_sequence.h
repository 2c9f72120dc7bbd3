// End-to-end times of sequences of kernels (`kindred benchmark`): a worker replays them as one CUDA
// graph. docs/measuring.md, "Whole models".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/cuda/cuda_runner.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct SequencedKernel {
  Workload workload;  // canonical form
  KernelSource kernel;
};

struct SequenceTimes {
  double graph_ns = 0;     // median of the replays, by events
  double launched_ns = 0;  // the same kernels launched one by one
  double kernels_ns = 0;   // the kernels of a replay alone, without the gaps; 0: not known
  std::string untraced;    // why kernels_ns is not known
  std::vector<double> graph_samples;
  std::int64_t launches = 0;  // kernels of one replay
  std::string driver;         // Outcome::driver
};

// `order` are indices of `kernels`. On the first of the target's devices, from warm caches. Errors:
// as MakeCudaRunner's; a kernel that does not build, load or run.
Result<SequenceTimes> ReplaySequence(const Target& target, const CudaRunnerOptions& options,
                                     const std::vector<SequencedKernel>& kernels,
                                     const std::vector<int>& order, std::uint64_t seed);

}  // namespace kindred
