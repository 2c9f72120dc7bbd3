#include "cost_model/internal/trends.h"

#include <algorithm>
#include <cmath>

namespace kindred::internal {
namespace {

constexpr std::size_t kPromising = 300;
constexpr std::size_t kNoiseSample = 1000;
constexpr std::size_t kFewest = 100;           // configurations with neighbours that tell noise
constexpr double kNoiseCorrelation = 0.1;      // of real recordings it is above 0.4
constexpr double kNoiseCorrelationSigmas = 3;  // of that of noise, where configurations are few

// By configuration, from 0 to 1; equal times share a rank; NaN where the time is not known.
std::vector<double> Ranks(const std::vector<double>& times) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (!std::isnan(times[i])) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  std::vector<double> ranks(times.size(), std::nan(""));
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && times[order[last]] == times[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i)
      ranks[order[i]] = static_cast<double>(first + last) / 2 / static_cast<double>(order.size());
  }
  return ranks;
}

// The mean rank of the configurations that differ in one parameter; NaN: none is known.
double NeighboursRank(const ParameterSpace& space, const std::vector<double>& ranks,
                      std::size_t configuration) {
  const auto values = space.Configuration(configuration);
  std::vector<std::uint16_t> changed(values.begin(), values.end());
  double sum = 0;
  int count = 0;
  for (std::size_t p = 0; p < changed.size(); ++p) {
    for (std::size_t v = 0; v < space.parameters()[p].values.size(); ++v) {
      if (v == values[p]) continue;
      changed[p] = static_cast<std::uint16_t>(v);
      const auto neighbour = space.Find(changed);
      if (!neighbour || std::isnan(ranks[*neighbour])) continue;
      sum += ranks[*neighbour];
      ++count;
    }
    changed[p] = values[p];
  }
  return count > 0 ? sum / count : std::nan("");
}

}  // namespace

bool IsNoise(const ParameterSpace& space, const std::vector<double>& times) {
  const std::vector<double> ranks = Ranks(times);
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (!std::isnan(ranks[i])) known.push_back(i);
  const std::size_t sample = std::min(known.size(), kNoiseSample);
  std::vector<double> own, neighbours;
  for (std::size_t i = 0; i < sample; ++i) {
    const std::size_t configuration = known[i * known.size() / sample];
    const double rank = NeighboursRank(space, ranks, configuration);
    if (std::isnan(rank)) continue;
    own.push_back(ranks[configuration]);
    neighbours.push_back(rank);
  }
  if (own.size() < kFewest) return false;
  const auto n = static_cast<double>(own.size());
  double own_mean = 0, mean = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    own_mean += own[i] / n;
    mean += neighbours[i] / n;
  }
  double both = 0, own_squares = 0, squares = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double a = own[i] - own_mean, b = neighbours[i] - mean;
    both += a * b;
    own_squares += a * a;
    squares += b * b;
  }
  const double least = std::max(kNoiseCorrelation, kNoiseCorrelationSigmas / std::sqrt(n));
  return both < least * std::sqrt(own_squares * squares);
}

std::vector<std::vector<float>> MakeTrends(const ParameterSpace& space,
                                           const std::vector<std::vector<double>>& elsewhere) {
  std::vector<std::vector<float>> trends;
  for (const auto& device : elsewhere) {
    if (IsNoise(space, device)) continue;
    double sum = 0, known = 0;
    for (const double value : device) {
      if (std::isnan(value)) continue;
      sum += value;
      ++known;
    }
    std::vector<float>& trend = trends.emplace_back();
    for (const double value : device)
      trend.push_back(std::isnan(value) ? 0.0f : static_cast<float>(value - sum / known));
  }
  return trends;
}

std::vector<std::size_t> MostPromising(const std::vector<std::vector<float>>& trends) {
  std::vector<std::size_t> promising;
  if (trends.empty()) return promising;
  const std::size_t size = trends[0].size();
  std::vector<bool> taken(size, false);
  const auto take = [&](const std::vector<float>& order, std::size_t count) {
    std::vector<std::size_t> fastest(size);
    for (std::size_t i = 0; i < size; ++i) fastest[i] = i;
    count = std::min(count, size);
    std::partial_sort(fastest.begin(), fastest.begin() + static_cast<std::ptrdiff_t>(count),
                      fastest.end(), [&](std::size_t a, std::size_t b) {
                        return order[a] != order[b] ? order[a] < order[b] : a < b;
                      });
    for (std::size_t i = 0; i < count; ++i) {
      if (!taken[fastest[i]]) promising.push_back(fastest[i]);
      taken[fastest[i]] = true;
    }
  };
  std::vector<float> sums(size, 0.0f);
  for (const auto& trend : trends)
    for (std::size_t i = 0; i < size; ++i) sums[i] += trend[i];
  take(sums, kPromising);
  for (const auto& trend : trends) take(trend, kPromising / trends.size());
  return promising;
}

}  // namespace kindred::internal
