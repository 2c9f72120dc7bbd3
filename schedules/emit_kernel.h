// Prints a program in the language of its target: C for CPUs (emit_c.h), CUDA C++ for GPUs
// (emit_cuda.h).
#pragma once

#include "schedules/kernel.h"
#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// `program` was lowered from `workload` for `target`.
KernelSource EmitKernel(const Program& program, const Workload& workload, const Target& target);

}  // namespace kindred
