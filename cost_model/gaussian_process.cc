#include "cost_model/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kindred {
namespace {

using internal::kLanes;
using internal::kSideRows;
using internal::Padded;

constexpr double kUsualLogLength = -0.4, kLogLengthSpread = 1.0;
constexpr double kUsualRelevance = 0.0, kRelevanceSpread = 1.5;
constexpr double kUsualLogNoise = -6, kLogNoiseSpread = 2;
constexpr double kMostLogNoise = -1;  // where smaller ones leave nothing positive definite

double Normal(Random& random) {
  const double u = 1 - random.Uniform(), v = random.Uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
}

double Matern(double distance) {
  const double scaled = std::sqrt(3.0) * distance;
  return (1 + scaled) * std::exp(-scaled);
}

double Square(double x) { return x * x; }

}  // namespace

GaussianProcess::GaussianProcess(std::span<const GpColumn> columns, int chains, std::uint64_t seed)
    : columns_(columns),
      random_(DeriveSeed(seed, "gaussian process")),
      slots_(columns.size()),
      lists_(columns.size()) {
  for (int i = 0; i < chains; ++i) {
    Parameters parameters;
    parameters.log_length.assign(columns.size(), kUsualLogLength);
    parameters.relevance.assign(columns.size(), kUsualRelevance);
    parameters.log_noise = kUsualLogNoise;
    chains_.emplace_back().parameters = std::move(parameters);
    for (std::size_t c = 0; c < columns.size(); ++c)
      chains_.back().kernels.push_back(std::make_shared<ColumnKernel>());
  }
}

std::vector<float> GaussianProcess::Table(const Parameters& parameters, std::size_t column) const {
  const auto& positions = columns_[column].positions;
  const double length = std::exp(parameters.log_length[column]);
  const double relevance = 1 / (1 + std::exp(-parameters.relevance[column]));
  const std::size_t levels = positions.size();
  std::vector<float> table(levels * levels);
  for (std::size_t a = 0; a < levels; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const double distance = columns_[column].unordered
                                  ? (a == b ? 0 : 1)
                                  : std::fabs(static_cast<double>(positions[a] - positions[b]));
      table[a * levels + b] = table[b * levels + a] =
          static_cast<float>(1 - relevance + relevance * Matern(distance / length));
    }
  return table;
}

void GaussianProcess::Expand(std::size_t column, std::size_t first_slot, std::size_t first_row,
                             ColumnKernel& kernel) const {
  const Slots& slots = slots_[column];
  const std::size_t levels = columns_[column].positions.size();
  kernel.expanded.resize(slots.levels.size() * stride_, 1.0f);
  for (std::size_t slot = first_slot; slot < slots.levels.size(); ++slot) {
    const float* const table = &kernel.table[slots.levels[slot] * levels];
    float* const expanded = &kernel.expanded[slot * stride_];
    for (std::size_t i = first_row; i < rows_.size(); ++i)
      expanded[i] = table[slots.levels[slots.of_row[i]]];
  }
}

void GaussianProcess::Covariances(const Chain& chain, std::size_t row, std::size_t first,
                                  std::size_t n, float* covariances) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    lists_[c] = &chain.kernels[c]->expanded[slots_[c].of_row[row] * stride_ + first];
  internal::ElementProducts(lists_, Padded(n) - first, covariances + first);
}

bool GaussianProcess::FactorAnew(Chain& chain) const {
  const std::size_t n = rows_.size();
  const auto noise = static_cast<float>(std::exp(chain.parameters.log_noise) + 1e-5);
  return chain.factor.Factor(n, [&](std::size_t j, std::size_t first, float* column) {
    Covariances(chain, j, first, n, column);
    column[j] += noise;
  });
}

void GaussianProcess::Judge(Chain& chain) const {
  const std::size_t n = rows_.size();
  chain.alpha.resize(Padded(n));
  const double squares = chain.factor.Solve(values_, chain.alpha);
  chain.variance = std::max(squares / static_cast<double>(n), 1e-12);
  const Parameters& p = chain.parameters;
  double penalty = Square((p.log_noise - kUsualLogNoise) / kLogNoiseSpread);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    penalty += Square((p.log_length[c] - kUsualLogLength) / kLogLengthSpread) +
               Square((p.relevance[c] - kUsualRelevance) / kRelevanceSpread);
  chain.objective =
      static_cast<double>(n) * std::log(chain.variance) + chain.factor.LogDeterminant() + penalty;
}

std::size_t GaussianProcess::TakeRows(std::span<const std::size_t> rows) {
  std::size_t kept = 0;
  while (kept < rows.size() && kept < rows_.size() && rows[kept] == rows_[kept]) ++kept;
  if (rows.size() > stride_) {
    stride_ = Padded(rows.size() + rows.size() / 2 + kLanes);
    kept = 0;
  }
  rows_.assign(rows.begin(), rows.end());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Slots& slots = slots_[c];
    if (kept == 0) slots.levels.clear();
    if (kept == 0) slots.slot_of_level.assign(columns_[c].positions.size(), -1);
    slots.of_row.resize(kept);
    for (std::size_t i = kept; i < rows_.size(); ++i) {
      const std::uint16_t level = columns_[c].levels[rows_[i]];
      std::int32_t& slot = slots.slot_of_level[level];
      if (slot < 0) {
        slot = static_cast<std::int32_t>(slots.levels.size());
        slots.levels.push_back(level);
      }
      slots.of_row.push_back(static_cast<std::uint16_t>(slot));
    }
  }
  return kept;
}

void GaussianProcess::Extend(Chain& chain, std::size_t kept,
                             std::span<const std::size_t> slots_before) {
  const std::size_t n = rows_.size();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    ColumnKernel& kernel = *chain.kernels[c];
    if (kernel.table.empty()) kernel.table = Table(chain.parameters, c);
    if (kept == 0) kernel.expanded.clear();
    Expand(c, kept == 0 ? 0 : slots_before[c], 0, kernel);
    if (kept > 0) Expand(c, 0, kept, kernel);
  }
  const auto noise = static_cast<float>(std::exp(chain.parameters.log_noise) + 1e-5);
  chain.factor.Truncate(std::min(kept, chain.factor.size()));
  std::vector<float> row(Padded(n) + kLanes);
  bool appended = n - chain.factor.size() <= n / 4;  // more are quicker all at once
  while (appended && chain.factor.size() < n) {
    const std::size_t i = chain.factor.size();
    Covariances(chain, i, 0, i + 1, row.data());
    appended = chain.factor.Append(std::span(row).first(Padded(i)), row[i] + noise);
  }
  while (!appended && !FactorAnew(chain) && chain.parameters.log_noise < kMostLogNoise)
    chain.parameters.log_noise += 1;
  Judge(chain);
}

GaussianProcess::Parameters GaussianProcess::Perturbed(const Parameters& parameters) {
  Parameters changed = parameters;
  const double share = std::min(1.0, 2.0 / static_cast<double>(columns_.size()));
  const double step = random_.Uniform() < 0.5 ? 0.8 : 0.25;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (random_.Uniform() < share) changed.log_length[c] += step * Normal(random_);
    if (random_.Uniform() < share) changed.relevance[c] += 1.5 * step * Normal(random_);
  }
  if (random_.Uniform() < 0.3) changed.log_noise += 2 * step * Normal(random_);
  return changed;
}

void GaussianProcess::Fit(std::span<const std::size_t> rows, std::span<const double> values,
                          double work) {
  std::vector<std::size_t> slots_before;
  for (const Slots& slots : slots_) slots_before.push_back(slots.levels.size());
  const std::size_t kept = TakeRows(rows);
  mean_ = 0;
  for (const double value : values) mean_ += value / static_cast<double>(values.size());
  values_.assign(Padded(values.size()), 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i)
    values_[i] = static_cast<float>(values[i] - mean_);
  const auto n = static_cast<double>(rows_.size());
  const double each = n * n * n / 6 + n * n * static_cast<double>(columns_.size());
  const int tries =
      static_cast<int>(std::min(200.0, work / each / static_cast<double>(chains_.size())));
  for (Chain& chain : chains_) {
    Extend(chain, kept, slots_before);
    Chain attempt;
    for (int i = 0; i < tries; ++i) {
      attempt.parameters = Perturbed(chain.parameters);
      attempt.kernels = chain.kernels;
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (attempt.parameters.log_length[c] == chain.parameters.log_length[c] &&
            attempt.parameters.relevance[c] == chain.parameters.relevance[c])
          continue;
        attempt.kernels[c] = std::make_shared<ColumnKernel>();
        attempt.kernels[c]->table = Table(attempt.parameters, c);
        Expand(c, 0, 0, *attempt.kernels[c]);
      }
      if (!FactorAnew(attempt)) continue;
      Judge(attempt);
      // Draws from the posterior, not its peak: half the objective is its negative logarithm.
      if (attempt.objective < chain.objective ||
          random_.Uniform() < std::exp((chain.objective - attempt.objective) / 2))
        std::swap(chain, attempt);
    }
  }
}

std::vector<std::vector<GaussianProcess::Belief>> GaussianProcess::Predict(
    std::span<const std::size_t> rows) const {
  const std::size_t n = rows_.size();
  std::vector<std::vector<Belief>> beliefs(chains_.size(), std::vector<Belief>(rows.size()));
  std::vector<float> sides(n * kSideRows), shares;
  std::vector<std::uint16_t> levels(columns_.size() * kSideRows);
  for (std::size_t first = 0; first < rows.size(); first += kSideRows) {
    const std::size_t count = std::min(kSideRows, rows.size() - first);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      for (std::size_t r = 0; r < kSideRows; ++r)
        levels[c * kSideRows + r] = columns_[c].levels[rows[first + std::min(r, count - 1)]];
    for (std::size_t which = 0; which < chains_.size(); ++which) {
      const Chain& chain = chains_[which];
      std::fill(sides.begin(), sides.end(), 1.0f);
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const Slots& slots = slots_[c];
        const std::size_t width = columns_[c].positions.size();
        shares.resize(slots.levels.size() * kSideRows);
        for (std::size_t slot = 0; slot < slots.levels.size(); ++slot) {
          const float* const table = &chain.kernels[c]->table[slots.levels[slot] * width];
          for (std::size_t r = 0; r < kSideRows; ++r)
            shares[slot * kSideRows + r] = table[levels[c * kSideRows + r]];
        }
        internal::MultiplyRows(sides.data(), shares.data(), slots.of_row);
      }
      float mean[kSideRows] = {}, explained[kSideRows] = {};
      chain.factor.SolveSides(sides.data(), chain.alpha.data(), mean, explained);
      for (std::size_t r = 0; r < count; ++r)
        beliefs[which][first + r] = {
            static_cast<float>(mean_) + mean[r],
            static_cast<float>(
                std::sqrt(chain.variance * std::max(1e-8, 1 - static_cast<double>(explained[r]))))};
    }
  }
  return beliefs;
}

}  // namespace kindred
