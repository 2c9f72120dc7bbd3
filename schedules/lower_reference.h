// The loop nest of a reference program (schedules/tolerance.h): the same arithmetic as LowerNaive,
// with the loops in an order that compilers turn into vector code.
//
// A plain nest adds up one element after the other, each addition waiting for the last: below 1
// GFLOP/s. Here a block of neighbouring elements is added up side by side, the reduction's loops
// around it:
//   for outer axes, for blocks of the last axis: clear the block; for reduction axes, for the
//   block: add
// Every element still sums in the order written, in its accumulator's type.
#pragma once

#include "schedules/program.h"
#include "schedules/workload.h"

namespace kindred {

// Stages whose accumulator is not what is stored, and argmax and argmin, get the plain nest.
Program LowerReference(const Workload& workload);

}  // namespace kindred
