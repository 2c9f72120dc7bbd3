// Footprint: how many bytes the accesses of a nest touch below each loop, and the traffic that
// follows from that for a cache of a given size.
//
// Analytic, in whole cache lines of 64 bytes: an access touches a product of arithmetic
// progressions, one per loop; progressions that continue each other are chained into one. Accesses
// of one buffer below a loop are taken together and are never more than the buffer. A cache of C
// bytes keeps what one iteration of a loop touches if that is at most C: then the loop as a whole
// moves only its distinct bytes, once each time it starts (the stack-distance argument of Hong and
// Kung, tile by tile). Scratch, like Nest.
#pragma once

#include <vector>

#include "cost_model/internal/nest.h"

namespace kindred {

inline constexpr double kCacheLineBytes = 64;

class Footprint {
 public:
  void Build(const Nest& nest);

  // Distinct bytes that one iteration of `loop` touches; loop -1: the body.
  double Iteration(int loop) const {
    return loop < 0 ? whole_ : iteration_[static_cast<std::size_t>(loop)];
  }

  struct Traffic {
    double arguments = 0;  // bytes moved into the cache for inputs, weights and outputs
    double prepared = 0;
    double scratch = 0;  // workspace and stack
    double total() const { return arguments + prepared + scratch; }
  };
  // Bytes that move between a cache of `capacity` bytes and the level above it in one run; nothing
  // where all that the program touches stays there from run to run.
  Traffic TrafficBeyond(double capacity) const;

 private:
  double Union(int first_access, int end_access, int depth) const;
  // Distinct bytes of an access when only the loops at `depth` and deeper move.
  double BytesOf(int access, int depth) const;
  void AddTraffic(int loop, double capacity, Traffic& traffic) const;
  void AddRange(int first_access, int end_access, int depth, double times, Traffic& traffic) const;

  const Nest* nest_ = nullptr;
  std::vector<double> iteration_;
  std::vector<double> bytes_;   // one row of accesses per depth; of depths beyond its own, nothing
  std::vector<double> buffer_;  // bytes of each buffer
  std::vector<int>
      twin_;  // per access: an earlier one in the same loop that touches the same lines
  std::vector<std::size_t> buffer_of_;  // per access
  mutable std::vector<double> per_buffer_;
  double whole_ = 0;
};

}  // namespace kindred
