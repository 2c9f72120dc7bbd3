// Interleaved hot timing of several contestants on one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/peers/contestant.h"

namespace kindred {

struct Timing {
  std::vector<double> samples_ns;  // each the mean of a burst of runs
  std::int64_t runs_per_sample = 1;
  double Minimum() const;
  double Median() const;
};

// Round after round each contestant gives one sample, in an order that rotates, each burst after
// one untimed run. A burst lasts at least a millisecond. Stops after 10 rounds when the standard
// error of every contestant's mean is below 0.5%, or when `seconds` are over (5 rounds at least).
std::vector<Timing> TimeInterleaved(const std::vector<Contestant>& contestants, double seconds);

}  // namespace kindred
