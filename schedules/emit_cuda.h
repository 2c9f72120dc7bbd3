// Prints a program for CUDA as readable C++ (one __global__ function per step, no headers) with its
// decisions in the head comment and the device functions it needs before them.
#pragma once

#include "schedules/kernel.h"
#include "schedules/program.h"
#include "schedules/workload.h"

namespace kindred {

// `workload` is what the program was lowered from: it names the arguments.
KernelSource EmitCuda(const Program& program, const Workload& workload);

}  // namespace kindred
