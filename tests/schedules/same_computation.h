// An oracle for the key's tests that knows nothing of Canonicalize: are two workloads one
// computation on the same memory?
#pragma once

#include "schedules/workload.h"
#include "tests/schedules/rewrite_workload.h"

namespace kindred {

// Whether `disguised` computes from the memory of `original` what that computes (on random data,
// up to rounding).
bool ComputesTheSame(const Workload& original, const Disguised& disguised);

// Whether two workloads certainly are different computations: what they declare of their live
// arguments, accumulators, symbols and contract differs, or their outputs do on random data however
// the arguments of one are handed to the other.
bool CertainlyDiffer(const Workload& a, const Workload& b);

}  // namespace kindred
