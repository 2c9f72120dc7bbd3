// The same computation in real numbers, for error analysis.
//
// A complex input X[..] is read as f32 X[..,2], the same memory. A complex result is computed as two
// temporaries, one for each part, and an output then holds both, f32 Y[..,2]. Complex arithmetic
// becomes the plain formulas that emitted C computes, too (internal/c_complex.cc).
#pragma once

#include "schedules/workload.h"

namespace kindred::internal {

// Tensor ids of `workload` keep their meaning; further temporaries follow. Without c64: a copy.
Workload SplitComplex(const Workload& workload);

}  // namespace kindred::internal
