// The plain program of a workload: what speed-ups are measured against, and what answers where
// nothing else may.
//
// On CPUs the loop nest as the text says it (schedules/lower_naive.h), as a compiler makes it. GPUs
// have no such thing; there it is what a first kernel written by hand looks like: one launch per
// stage, a thread per element of its result, the stage's reduction as plain loops in it.
#pragma once

#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

Result<Program> PlainProgram(const Workload& canonical, const Target& target);

// "the plain loop nest", "the plain kernel", for messages.
std::string_view PlainProgramName(const Target& target);

}  // namespace kindred
