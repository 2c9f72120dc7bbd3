#include "cost_model/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kindred {
namespace {

// Indices from fast to slow; ties in order.
std::vector<std::size_t> Order(std::span<const double> times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  return order;
}

std::vector<double> Ranks(std::span<const double> times) {
  const std::vector<std::size_t> order = Order(times);
  std::vector<double> ranks(times.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && times[order[end]] == times[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = (static_cast<double>(i + end) - 1) / 2;
    i = end;
  }
  return ranks;
}

}  // namespace

double TopRecall(std::span<const double> predicted, std::span<const double> measured, int k) {
  const auto top = static_cast<std::size_t>(std::max(0, k));
  if (predicted.size() <= top || top == 0) return 1;
  const std::vector<std::size_t> guess = Order(predicted), truth = Order(measured);
  std::size_t found = 0;
  for (std::size_t i = 0; i < top; ++i)
    found += std::find(guess.begin(), guess.begin() + k, truth[i]) != guess.begin() + k;
  return static_cast<double>(found) / static_cast<double>(top);
}

double BestOfRatio(std::span<const double> predicted, std::span<const double> measured, int k) {
  if (measured.empty()) return 1;
  const std::vector<std::size_t> guess = Order(predicted);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < guess.size() && i < static_cast<std::size_t>(std::max(1, k)); ++i)
    best = std::min(best, measured[guess[i]]);
  const double fastest = *std::min_element(measured.begin(), measured.end());
  return std::isfinite(best) ? fastest / best : 0;
}

double RankCorrelation(std::span<const double> predicted, std::span<const double> measured) {
  const std::vector<double> a = Ranks(predicted), b = Ranks(measured);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace kindred
