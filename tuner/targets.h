// Targets by their names: what a command says with --target, and what can be measured there.
//
//   cpu, cpu:threads=N   this machine's processors, peaks measured
//   cuda:N, cuda:N,M     GPUs of this machine, peaks measured; several must be of one kind, and
//   share
//                        the candidates of a run
//   cuda:all             all GPUs of this machine
//   cuda-emulated        CUDA kernels run on the processor by an emulation that finds mistakes in
//                        them; never a time
//   h200, a100, ...      a GPU as its data sheet describes it: for building and predicting without
//   it
#pragma once

#include <memory>
#include <string>

#include "measure/cuda/cuda_profiler.h"
#include "measure/kernel_runner.h"
#include "measure/runner.h"
#include "schedules/base/result.h"
#include "schedules/target.h"

namespace kindred {

inline constexpr const char* kEmulatedTarget = "cuda-emulated";

// For --help: "cpu, cpu:threads=N, ...".
std::string TargetNames();

// `cache`: directory of what was measured of devices; `anew`: measured again all the same. Errors
// (kBadInput): the name says nothing (lists those there are), or its device is not there (one line
// why).
Result<Target> ResolveTarget(const std::string& name, const std::string& cache, bool anew = false);

// Whether kernels can be timed on the target. Error (kBadInput): it is a mere description, or the
// emulation; says what to do.
Result<void> CheckTimed(const Target& target);

struct RunnerSettings {
  std::string cache;  // directory of built kernels and reference outputs
  MeasureLimits limits;
  int builders = 2;  // compilers at a time
};
// Errors: kBadInput for a mere description; those of the runners.
Result<std::unique_ptr<Runner>> MakeRunner(const Target& target, const RunnerSettings& settings);
// Of a user's kernel. Errors: kBadInput for several devices and what cannot be timed; those of the
// runners.
Result<std::unique_ptr<KernelRunner>> MakeKernelRunner(const Target& target, KernelTask task,
                                                       const RunnerSettings& settings);

// What a CUDA device is measured with. Error (kBadInput): the target is none.
Result<CudaRunnerOptions> CudaDeviceOptions(const Target& target, const RunnerSettings& settings);

// Errors: kBadInput for what is no CUDA device; those of CudaProfiler.
Result<std::unique_ptr<CudaProfiler>> MakeProfiler(const Target& target,
                                                   const RunnerSettings& settings);

}  // namespace kindred
