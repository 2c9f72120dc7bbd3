// Choosing a batch from a scored pool.
#pragma once

#include <vector>

#include "search/internal/pool.h"

namespace kindred {

struct BatchOptions {
  double doubt = 0.5;         // weight of the model's sigma: upper confidence bound, in log2(time)
  double distance = 1;        // penalty, in log2(time), of being equal to one already chosen
  double random_share = 0.1;  // chosen uniformly among the uniform draws
  double mutation_share = 0.2;  // best single-decision mutations of measured winners
};

// Appends to `batch` until it holds n or the pool is used up. Greedy by upper bound less the
// distance penalty, then the share of mutations, then that of random picks.
void ChooseBatch(Pool& pool, const BatchOptions& options, int n, Random& random,
                 std::vector<Candidate>& batch);

// 1 + log2(best / ns) / 3, clipped to [0, 1]: 1 for the best, 0 for eight times slower; 0 for ns =
// 0.
double Reward(double ns, double best_ns);

}  // namespace kindred
