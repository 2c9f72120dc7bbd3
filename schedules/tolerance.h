// The reference computation and its error bounds.
//
// WithErrorBounds turns a workload into one that computes everything in f64 and, beside every output, a
// bound on the rounding error that a correct kernel in the declared types may show there: running error
// analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3), with sqrt(K)
// instead of K for reductions of length K, so that for a contraction the bound is c*eps*sqrt(K)*sum|a*b|.
#pragma once

#include <vector>

#include "schedules/workload.h"

namespace kindred {

struct ReferenceWorkload {
  Workload workload;  // inputs and weights as in the original (same ids and types); all else f64 or integer
  // Per output of the original, in order: tensor ids here of its value and of its error bound (absolute,
  // bound < 0 never; integers and bools: 0 where exact).
  struct Output {
    int value = -1;
    int bound = -1;
  };
  std::vector<Output> outputs;
};

// `safety` is the constant c.
ReferenceWorkload WithErrorBounds(const Workload& workload, double safety = 8);

}  // namespace kindred
