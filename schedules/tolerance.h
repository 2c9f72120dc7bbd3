// The reference computation and its error bounds.
//
// WithErrorBounds turns a workload into one that computes everything in f64 and, beside every
// output, a bound on the rounding error that a correct kernel in the declared types may show there:
// running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
// 3.3), with sqrt(K) instead of K for reductions of length K, so that for a contraction the bound
// is c*eps*sqrt(K)*sum|a*b|.
//
// The analysis is of first order. Inputs are exact. Every operation adds half a unit in the last
// place of its type (math functions four whole ones, absolute where their value passes through
// zero); storage in a narrower type adds its own. Where a comparison may go either way, select may
// yield either branch.
#pragma once

#include <vector>

#include "schedules/workload.h"

namespace kindred {

struct ReferenceWorkload {
  // Tensor ids of the original keep their meaning: inputs and weights as they were, every computed
  // float in f64, integers in their type. Complex tensors have a further dimension of 2, the real
  // and the imaginary part (internal/split_complex.h). Error tensors follow.
  Workload workload;
  // Per output of the original, in order of its stages: tensor ids here of its value and of its
  // error bound, both of the output's shape. Bounds are f64, absolute, and never negative; 0 where
  // the result is exact. That of an integer or bool is 0 unless it derives from inexact floats;
  // that of argmax and argmin is the distance to the farthest index whose value cannot be told
  // apart from the best.
  struct Output {
    int value = -1;
    int bound = -1;
    // Of an argmax or argmin of inexact values: which indices are right, a tensor of bools of the
    // output's shape with the reduced axis behind it; else -1.
    int choices = -1;
  };
  std::vector<Output> outputs;
};

// `safety` is the constant c, doubled where the contract allows fast_math; the other permissions
// change no bound. The reference itself is strict: its own contract allows nothing. The workload
// must satisfy CheckWorkload.
ReferenceWorkload WithErrorBounds(const Workload& workload, double safety = 8);

}  // namespace kindred
