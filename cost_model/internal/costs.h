// Costs: analytic times of a lowered program on one target, statement by statement and loop body by
// loop body.
//
// The unit is the issue slot: half a cycle of a core that starts two vector multiply-adds per
// cycle, which ties all other costs to the measured peak. Costs are those of recent x86 server
// cores; the learned models correct them, so only their proportions matter. What the C compiler
// will do is guessed: statements under a vectorized loop become vector instructions; plain
// innermost loops with unit strides and without a reduction are taken to be vectorized by it, less
// well.
#pragma once

#include <vector>

#include "cost_model/internal/nest.h"
#include "schedules/target.h"

namespace kindred {

// One statement with the loops around it; or all statements that turn with one innermost loop,
// where the counts are sums and what cannot be summed is that of the statement that computes most.
struct StatementCost {
  int statement = -1;
  double slots = 0;  // all of it: arithmetic, loads and stores overlap, the longest of them counts
  double instructions = 0;  // vector or scalar operations that compute
  double compute_slots = 0, load_slots = 0, store_slots = 0, math_slots = 0, integer_slots = 0;
  double latency_slots = 0;  // the least a reduction's dependence chain takes
  double lanes = 1;          // elements per instruction, counting how well vectors are filled
  bool explicit_vector = false, automatic_vector = false;
  double tile = 1;  // copies after unrolling: independent accumulators where it is recurrent
  double tile_registers = 0;  // vector registers that these take
  double loads_unit = 0, loads_broadcast = 0, loads_strided = 0,
         loads_gather = 0;  // executed instructions
  double stores_unit = 0, stores_strided = 0;
  int inner_loop = -1;  // innermost loop that is neither unrolled nor vectorized
};

struct Costs {
  std::vector<StatementCost> statements;  // in the nest's order
  std::vector<StatementCost> bodies;      // one per innermost loop, in order of first appearance
  int hottest = -1, second = -1;          // of bodies, by slots; -1: none
  double slots_per_ns = 1;                // of one thread
  double threads_used = 1;                // parallel loops: speed-up that their trip count allows
  double slots = 0, compute_slots = 0, load_slots = 0, store_slots = 0, math_slots = 0;
  double integer_slots = 0, latency_slots = 0, loop_slots = 0;
  double instructions = 0, vector_instructions = 0, automatic_instructions = 0;
  double flop = 0;  // executed, floating
  double spill_slots = 0;
};

void EstimateCosts(const Nest& nest, const Target& target, Costs& costs);

}  // namespace kindred
