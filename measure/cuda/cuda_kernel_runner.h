// Users' kernels on a GPU: compiled by NVRTC, run, checked and timed by a CUDA worker process.
#pragma once

#include <memory>

#include "measure/cuda/cuda_runner.h"
#include "measure/kernel_runner.h"

namespace kindred {

// `target.id` is "cuda:N". Errors: those of MakeCudaRunner and MakeKernelRunner; kBadInput: several
// devices.
Result<std::unique_ptr<KernelRunner>> MakeCudaKernelRunner(const Target& target, KernelTask task,
                                                           const CudaRunnerOptions& options);

}  // namespace kindred
