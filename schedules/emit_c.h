// Prints a program as readable C (GNU dialect, vector extensions) with its decisions in the head
// comment.
#pragma once

#include "schedules/kernel.h"
#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// `workload` is what the program was lowered from: it names the arguments.
// The workload must pass CanEmitC.
KernelSource EmitC(const Program& program, const Workload& workload, const Target& target);

// Error kUnsupported names the first tensor or cast of a type that has no C lowering yet (f8e4m3,
// f8e5m2, c64).
Result<void> CanEmitC(const Workload& workload);

}  // namespace kindred
