// Runner: builds, checks and times candidates of one workload on one target.
//
// What goes wrong with a candidate is its Outcome. An Error is returned only where no candidate
// could be measured at all (no compiler, no memory for the workload's own buffers, no worker).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/outcome.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct MeasureLimits {
  double build_timeout_s = 30;
  double run_timeout_s = 20;              // of one candidate, everything included
  // CPUs: of a worker, beyond its buffers. GPUs: of a candidate's workspace, beyond the workload's
  // intermediate tensors. 0: no limit.
  std::int64_t memory_bytes = 1ll << 30;
  double minimum_sample_ns = 20e3;        // shorter kernels are repeated within a sample
  int minimum_samples = 10;
  int maximum_samples = 100;
  double time_budget_s = 0.15;    // sampling stops here once minimum_samples are in
  double relative_error = 0.005;  // ... or when the median's standard error is below this
  double abandon_ratio = 2;       // first sample above incumbent * ratio: kAbandoned
};

struct MeasureJob {
  const Workload* workload = nullptr;  // canonical form
  std::span<const KernelSource> candidates;
  double incumbent_ns = 0;  // best known; 0: none
  std::uint64_t seed = 0;   // of the test data
  bool reference = false;   // the untuned program: never abandoned, long deadline
  bool brief = false;       // the least number of samples is enough
  // Called with each outcome as soon as it is known, in order, so that a killed process loses none.
  std::function<void(std::size_t index, const Outcome&)> finished;
};

// Disjoint wall seconds since the runner was made.
struct MeasureTimes {
  double build_s = 0, run_s = 0;
  // GPUs, summed over the devices: how long kernels, copies or checks ran, and how long a built
  // candidate was there to be run. Their quotient is the devices' busy share. Neither is disjoint
  // from the others.
  double device_busy_s = 0, device_wanted_s = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  // One outcome per candidate, in order. `stop` is polled between candidates; those not reached get
  // no outcome: the result is then shorter.
  virtual Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                               const std::function<bool()>& stop) = 0;
  virtual MeasureTimes times() const = 0;
};

struct CpuRunnerOptions {
  std::string cache_directory;  // content-addressed builds and reference outputs
  std::string
      worker_program;  // executable that serves `worker` (RunCpuWorker) as its first argument
  MeasureLimits limits;
  int build_jobs = 2;
};

// Builds a batch first, then runs it in one child process. Call Measure from one long-lived thread:
// the child ends with the thread that started it (the next call would start another).
// docs/measuring.md. Error: no usable compiler on PATH (names what was looked for), cache directory
// not writable.
Result<std::unique_ptr<Runner>> MakeCpuRunner(const Target& target, CpuRunnerOptions options);

// The child process: reads requests on descriptor 3, answers on descriptor 4, until end of file.
// Exit code.
int RunCpuWorker();

// What this machine offers, with measured peaks (about a second; cached in `cache_directory` by
// model and boot where given; `anew`: measured again all the same). `id` is "cpu" or
// "cpu:threads=N" (one thread is "cpu"). Error (kBadInput): another target, or more threads than
// this process may use.
Result<Target> ProbeCpuTarget(const std::string& id, const std::string& cache_directory,
                              bool anew = false);

}  // namespace kindred
