// KernelRunner: builds, checks and times kernels that users bring, on this machine's CPU or on one
// GPU of it (measure/cuda/cuda_kernel_runner.h).
//
// As Runner (measure/runner.h), by the same worker process, deadlines, guard zones and timing
// rules; but what a kernel works on is a list of buffers, and what is right is what a reference
// kernel writes. Buffers that are both read and written hold their first contents before the runs
// that are checked; between timed runs nothing is put back.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/runner.h"
#include "schedules/data_type.h"

namespace kindred {

struct UserBuffer {
  std::string name;
  DataType type = DataType::kF32;
  std::int64_t elements = 0;
  bool read = true, written = false;
  bool scratch = false;   // written, and not compared
  bool constant = false;  // CUDA: copied into the kernel's __constant__ array of that name
  // Filled with random numbers (floats in [0, 1), integers in [0, 100), bools), with `value`, or
  // with a file's bytes; what is only written is filled with bytes that no kernel computes.
  bool random = false;
  double value = 0;
  std::string file = {};         // path; empty: none
  std::int64_t file_offset = 0;  // where the data begin, bytes
  // An element that is written is right within tolerance * (|reference| + the output's root mean
  // square); integers must be equal. 0: 1e-4, of f64 1e-9.
  double tolerance = 0;
};

struct KernelTask {
  std::vector<UserBuffer> buffers;  // in the order of KernelSource::arguments
  // Where the buffers are written when a reference has been taken, as NAME.npy; empty: nowhere.
  std::string save_to;
  std::uint64_t seed = 0;
};

// Error (kBadInput): a buffer's file cannot be read or is too short.
Result<void> CheckBufferFiles(const KernelTask& task);

class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // Builds the kernel, runs it once, and takes what it writes for right. A failure is its Outcome;
  // there is no reference then.
  virtual Result<Outcome> TakeReference(const KernelSource& reference) = 0;
  virtual bool has_reference() const = 0;
  // Builds all, as far as `stop` lets it; so that runs do not wait for a compiler.
  virtual Result<void> BuildAhead(std::span<const KernelSource> candidates,
                                  const std::function<bool()>& stop) = 0;
  // Once there is a reference. `patient`: of the reference itself; never abandoned, long deadline.
  virtual Result<Outcome> Measure(const KernelSource& candidate, double incumbent_ns,
                                  bool patient) = 0;
};

// Errors: those of MakeCpuRunner; kBadInput: a buffer's file cannot be read or is too short.
Result<std::unique_ptr<KernelRunner>> MakeKernelRunner(const Target& target, KernelTask task,
                                                       CpuRunnerOptions options);

}  // namespace kindred
