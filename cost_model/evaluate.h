// How good predictions are, in the measures that matter for choosing candidates (not the squared
// error).
//
// `predicted` and `measured` are times of the same candidates, in the same order; failed candidates
// have a measured time of infinity.
#pragma once

#include <span>

namespace kindred {

// Share of the `k` truly fastest that are among the `k` predicted fastest; 1 for fewer than k
// candidates.
double TopRecall(std::span<const double> predicted, std::span<const double> measured, int k);

// Fastest time of all, divided by the fastest among the `k` predicted fastest: 1 is perfect.
double BestOfRatio(std::span<const double> predicted, std::span<const double> measured, int k);

// Spearman's rank correlation, ties at their mean rank; 0 where either side is constant.
double RankCorrelation(std::span<const double> predicted, std::span<const double> measured);

}  // namespace kindred
