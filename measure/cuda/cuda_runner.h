// The CUDA runner: candidates compiled by NVRTC, run, checked and timed by one worker process per
// device, while later ones are compiled. docs/measuring.md, "GPUs".
//
// The process that calls these never loads NVIDIA's libraries itself; only its children do: a
// broken driver must not end a session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/runner.h"
#include "schedules/base/result.h"
#include "schedules/target.h"

namespace kindred {

struct CudaRunnerOptions {
  std::string cache_directory;  // content-addressed cubins and reference outputs
  // Executable that serves `cuda-worker` (RunCudaWorker), `nvrtc` (RunNvrtcProcess) and `worker`
  // (RunCpuWorker, for references) as its first argument.
  std::string program;
  MeasureLimits limits;
  int build_jobs = 2;
  bool cold = true;  // the second-level cache is flushed before each run
};

// `target.id` is "cuda:N", "cuda:N,M" or "cuda:all". Error (kEnvironment): no driver, no such
// device, no NVRTC, no C compiler for the references: one line each; (kBadInput): another target.
Result<std::unique_ptr<Runner>> MakeCudaRunner(const Target& target, CudaRunnerOptions options);

// The child process: requests on descriptor 3, answers on descriptor 4, until end of file. Exit
// code.
int RunCudaWorker();

// `id` as for MakeCudaRunner; of several devices, which must be of one kind, the first is
// described. The peaks are measured by a worker, and kept in `cache_directory` by the device's uuid
// and the driver's version (`anew`: measured again all the same). Errors as MakeCudaRunner's.
Result<Target> ProbeCudaTarget(const std::string& id, const std::string& cache_directory,
                               const std::string& program, bool anew = false);

struct CudaDevice {
  int index = 0;
  std::string name, uuid, arch;
};

// What the driver lists. Error (kEnvironment): one line why there is none.
Result<std::vector<CudaDevice>> ListCudaDevices(const std::string& program);

// The devices that a target's id names, ascending. Errors as MakeCudaRunner's.
Result<std::vector<int>> CudaDevicesOf(const std::string& id, const std::string& program);

}  // namespace kindred
