// The plain loop nest of a workload: spatial loops in output order, then reductions as written,
// stage after stage, temporaries in the workspace.
//
// It is two things: the *untuned* program that speed-ups are measured against (accumulating in the
// workload's own accumulator type), and, on the workload of schedules/tolerance.h, the reference
// that judges correctness (everything in f64).
#pragma once

#include "schedules/program.h"
#include "schedules/workload.h"

namespace kindred {

Program LowerNaive(const Workload& workload);

}  // namespace kindred
