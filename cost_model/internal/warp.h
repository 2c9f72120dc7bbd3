// The indices that the threads of one warp have at a place of a nest: what coalescing and bank
// conflicts follow from.
//
// Computed thread by thread from the index expressions themselves, not from average strides: a
// block's threads are taken apart by division and modulus. All loops but those over threads stand
// at a sample (the middle; vectorized ones at their start), and conditions are taken as met. Values
// that are loaded differ where their addresses do.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cost_model/internal/nest.h"

namespace kindred {

inline constexpr int kWarpThreads = 32;
using Lanes = std::array<std::int64_t, kWarpThreads>;

class Warp {
 public:
  explicit Warp(const Nest& nest) : nest_(nest) {}

  // Lane i is thread first + i * step of a block whose loops over threads are `loops` (of the nest,
  // outermost first; the innermost is the fastest).
  void Begin(std::span<const int> loops, std::int64_t first, std::int64_t step);
  // Elements, for all lanes.
  Lanes Indices(const Expr& index);

 private:
  struct Value {
    bool known = false;
    bool uniform = true;  // lanes[0] is that of all
    Lanes lanes{};
  };
  Value Evaluate(const Expr& e);
  Value OfVariable(int variable);

  const Nest& nest_;
  std::vector<Value> variables_;  // of lets and loops over threads, as far as they were asked for
};

}  // namespace kindred
