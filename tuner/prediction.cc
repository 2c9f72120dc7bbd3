#include "tuner/prediction.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace kindred {
namespace {

constexpr double kQuantile95 = 1.645;  // of the normal distribution

}  // namespace

Result<LatencyEstimate> EstimateLatency(const TuningLog* log, const KernelQuery& query) {
  KINDRED_TRY(const KernelPackage package, AnswerQuery(log, query));
  LatencyEstimate estimate;
  estimate.key = package.key;
  estimate.match = package.match;
  if (estimate.measured()) {
    estimate.ns = package.statistics.at("median_ns");
    std::tie(estimate.low_ns, estimate.high_ns) =
        MedianBounds(package.statistics.at("samples_ns"), estimate.ns);
  } else {
    estimate.ns = package.statistics.at("predicted_ns");
    const double reach = std::exp2(kQuantile95 * package.statistics.at("sigma_log2").get<double>());
    estimate.low_ns = estimate.ns / reach;
    estimate.high_ns = estimate.ns * reach;
  }
  estimate.gflops = static_cast<double>(Flop(Canonicalize(query.workload).workload)) / estimate.ns;
  return estimate;
}

std::pair<double, double> MedianBounds(std::vector<double> samples, double median) {
  if (samples.size() < 6) return {median, median};
  std::sort(samples.begin(), samples.end());
  const double n = static_cast<double>(samples.size());
  const double reach = 0.98 * std::sqrt(n);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high =
      std::min(samples.size() - 1, static_cast<std::size_t>(std::ceil(n / 2 + reach)));
  return {samples[low], samples[high]};
}

std::vector<std::int64_t> SpreadOver(std::span<const std::int64_t> values, int count) {
  const std::size_t n = values.size();
  const auto wanted = static_cast<std::size_t>(std::max(count, 0));
  if (wanted >= n) return {values.begin(), values.end()};
  if (wanted == 1) return {values[n / 2]};
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(values[(i * (n - 1) + (wanted - 1) / 2) / (wanted - 1)]);
  return chosen;
}

}  // namespace kindred
