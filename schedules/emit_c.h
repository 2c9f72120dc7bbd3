// Prints a program as readable C (GNU dialect, vector extensions) with its decisions in the head
// comment.
#pragma once

#include "schedules/kernel.h"
#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// `workload` is what the program was lowered from: it names the arguments.
KernelSource EmitC(const Program& program, const Workload& workload, const Target& target);

}  // namespace kindred
