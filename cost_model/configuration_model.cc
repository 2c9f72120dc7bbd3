#include "cost_model/configuration_model.h"

#include <algorithm>
#include <cmath>

namespace kindred {
namespace {

constexpr int kChains = 3;
constexpr double kWork = 2e7;           // multiplications per training
constexpr std::size_t kMostRows = 400;  // half the fastest, half the latest: training is cubic
constexpr double kUnknownNs = 1e6;      // before there is anything to learn from
constexpr std::size_t kPromising = 300;

// Each device's less its mean, which also stands for what is not known.
std::vector<std::vector<float>> Trends(const std::vector<std::vector<double>>& elsewhere) {
  std::vector<std::vector<float>> trends;
  for (const auto& device : elsewhere) {
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

}  // namespace

ConfigurationModel::ConfigurationModel(const ParameterSpace& space, std::uint64_t seed,
                                       const std::vector<std::vector<double>>& elsewhere)
    : space_(space),
      columns_(ConfigurationColumns(space)),
      trends_(Trends(elsewhere)),
      promising_(MostPromising(trends_)),
      process_(columns_, kChains, seed, trends_) {}

void ConfigurationModel::Add(std::size_t configuration, double ns) {
  rows_.push_back({configuration, ns > 0 ? std::log2(ns) : 0, !(ns > 0)});
  expected_.erase(configuration);
}

void ConfigurationModel::Expect(std::size_t configuration) {
  if (!trained_) return;
  const auto beliefs = process_.Predict(std::span(&configuration, 1));
  double mean = 0;
  for (const auto& chain : beliefs)
    mean += static_cast<double>(chain[0].mean) / static_cast<double>(beliefs.size());
  expected_[configuration] = mean;
}

std::vector<ConfigurationModel::Row> ConfigurationModel::TrainingRows() const {
  if (rows_.size() <= kMostRows) return rows_;
  std::vector<Row> kept(rows_.begin(), rows_.end() - kMostRows / 2);
  std::stable_sort(kept.begin(), kept.end(), [](const Row& a, const Row& b) {
    return a.failed != b.failed ? b.failed : a.log2_ns < b.log2_ns;
  });
  kept.resize(kMostRows / 2);
  kept.insert(kept.end(), rows_.end() - kMostRows / 2, rows_.end());
  return kept;
}

void ConfigurationModel::Train() {
  double worst = 0;
  int successes = 0;
  for (const Row& row : rows_) {
    if (row.failed) continue;
    best_ = successes == 0 ? row.log2_ns : std::min(best_, row.log2_ns);
    worst = successes == 0 ? row.log2_ns : std::max(worst, row.log2_ns);
    ++successes;
  }
  if (successes < 2 || columns_.empty()) return;
  std::vector<std::size_t> configurations;
  std::vector<double> logs;
  for (const Row& row : TrainingRows()) {
    configurations.push_back(row.configuration);
    logs.push_back(row.failed ? worst : row.log2_ns);
  }
  for (const auto& [configuration, log2_ns] : expected_) {
    configurations.push_back(configuration);
    logs.push_back(log2_ns);
  }
  process_.Fit(configurations, logs, kWork);
  trained_ = true;
}

std::vector<std::size_t> ConfigurationModel::Best(std::size_t count) const {
  std::vector<Row> rows;
  for (const Row& row : rows_)
    if (!row.failed) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.log2_ns < b.log2_ns; });
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < rows.size() && i < count; ++i) best.push_back(rows[i].configuration);
  return best;
}

std::vector<Prediction> ConfigurationModel::Predict(
    std::span<const Candidate* const> candidates) const {
  if (!trained_) return std::vector<Prediction>(candidates.size(), {kUnknownNs, 1});
  std::vector<std::size_t> configurations;
  for (const Candidate* candidate : candidates)
    configurations.push_back(space_.IndexOf(candidate->path).value_or(0));
  const auto beliefs = process_.Predict(configurations);
  const auto chains = static_cast<double>(beliefs.size());
  std::vector<Prediction> predictions;
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    double mean = 0, sigma = 0;
    for (const auto& chain : beliefs) {
      mean += static_cast<double>(chain[i].mean) / chains;
      sigma += static_cast<double>(chain[i].sigma) / chains;
    }
    predictions.push_back({std::exp2(mean), sigma});
  }
  return predictions;
}

double ConfigurationModel::Distance(std::size_t a, std::size_t b) const {
  double sum = 0;
  for (const GpColumn& column : columns_) {
    const std::uint16_t x = column.levels[a], y = column.levels[b];
    sum += column.unordered
               ? (x == y ? 0 : 1)
               : std::fabs(static_cast<double>(column.positions[x] - column.positions[y]));
  }
  return sum;
}

}  // namespace kindred
