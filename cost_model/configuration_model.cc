#include "cost_model/configuration_model.h"

#include <algorithm>
#include <cmath>

#include "cost_model/internal/trends.h"

namespace kindred {
namespace {

constexpr int kChains = 3;
constexpr double kWork = 2e7;            // multiplications per training
constexpr std::size_t kMostRows = 400;   // half the fastest, half the latest: training is cubic
constexpr std::size_t kTrendTrial = 20;  // measurements by which trends must have helped
constexpr double kUnknownNs = 1e6;       // before there is anything to learn from

}  // namespace

ConfigurationModel::ConfigurationModel(const ParameterSpace& space, std::uint64_t seed,
                                       const std::vector<std::vector<double>>& elsewhere)
    : space_(space),
      columns_(ConfigurationColumns(space)),
      trends_(internal::MakeTrends(space, elsewhere)),
      promising_(internal::MostPromising(trends_)),
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
  if (!promising_.empty() && rows_.size() >= kTrendTrial && process_.TrendEvidence() < 0) {
    process_.DropTrends();
    promising_.clear();
    process_.Fit(configurations, logs, kWork);
  }
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
