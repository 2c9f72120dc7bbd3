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

constexpr double kLeastVariance = 1e-12;
constexpr double kWeightSpread = 0.3;
constexpr int kWeightRounds = 2;
// What it costs (as twice a logarithm of a likelihood) to follow one trend only, or none.
constexpr double kOneTrendPenalty = 1, kNoTrendPenalty = 3;
// ... and those that together rank the other way round.
constexpr double kMisleadingPenalty = 1e6;

// In place: `vector` becomes the solution of a symmetric, positive definite system.
void SolveSymmetric(std::vector<double>& matrix, std::vector<double>& vector) {
  const std::size_t n = vector.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
      vector[i] -= factor * vector[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) vector[k] -= matrix[k * n + j] * vector[j];
    vector[k] /= matrix[k * n + k];
  }
}

double Normal(Random& random) {
  const double u = 1 - random.Uniform(), v = random.Uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
}

double Matern(double distance) {
  const double scaled = std::sqrt(3.0) * distance;
  return (1 + scaled) * std::exp(-scaled);
}

double Square(double x) { return x * x; }

// The covariance of two levels of a column.
class LevelCovariance {
 public:
  LevelCovariance(const GpColumn& column, const GaussianProcess::Parameters& parameters,
                  std::size_t index)
      : column_(column),
        length_(std::exp(parameters.log_length[index])),
        relevance_(1 / (1 + std::exp(-parameters.relevance[index]))) {}

  float operator()(std::size_t a, std::size_t b) const {
    const double distance =
        column_.unordered
            ? (a == b ? 0 : 1)
            : std::fabs(static_cast<double>(column_.positions[a] - column_.positions[b]));
    return static_cast<float>(1 - relevance_ + relevance_ * Matern(distance / length_));
  }

 private:
  const GpColumn& column_;
  double length_, relevance_;
};

}  // namespace

GaussianProcess::GaussianProcess(std::span<const GpColumn> columns, int chains, std::uint64_t seed,
                                 std::span<const std::vector<float>> trends)
    : columns_(columns),
      random_(DeriveSeed(seed, "gaussian process")),
      slots_(columns.size()),
      trends_(trends),
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

void GaussianProcess::Expand(const Parameters& parameters, std::size_t column,
                             std::size_t first_row, ColumnKernel& kernel) const {
  const Slots& slots = slots_[column];
  const std::size_t count = slots.levels.size();
  if (first_row == 0) {
    const LevelCovariance covariance(columns_[column], parameters, column);
    kernel.slots.resize(count * count);
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        kernel.slots[a * count + b] = kernel.slots[b * count + a] =
            covariance(slots.levels[a], slots.levels[b]);
  }
  kernel.expanded.resize(count * stride_, 1.0f);
  for (std::size_t slot = 0; slot < count; ++slot) {
    const float* const of_slot = &kernel.slots[slot * count];
    float* const expanded = &kernel.expanded[slot * stride_];
    for (std::size_t i = first_row; i < rows_.size(); ++i) expanded[i] = of_slot[slots.of_row[i]];
  }
}

void GaussianProcess::CompleteTables(Chain& chain) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::vector<float>& table = chain.kernels[c]->table;
    const std::size_t levels = columns_[c].positions.size();
    const LevelCovariance covariance(columns_[c], chain.parameters, c);
    for (std::size_t slot = table.size() / levels; slot < slots_[c].levels.size(); ++slot)
      for (std::size_t level = 0; level < levels; ++level)
        table.push_back(covariance(slots_[c].levels[slot], level));
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

double GaussianProcess::FitWeights(Chain& chain) const {
  const std::size_t n = rows_.size(), count = trends_.size();
  std::vector<std::vector<float>> solved(count, std::vector<float>(Padded(n)));
  for (std::size_t t = 0; t < count; ++t) chain.factor.Solve(trend_values_[t], solved[t]);
  const auto product = [n](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
  };
  std::vector<double> products(count * count), along(count);
  for (std::size_t a = 0; a < count; ++a) {
    along[a] = product(solved[a], chain.alpha);
    for (std::size_t b = 0; b < count; ++b) products[a * count + b] = product(solved[a], solved[b]);
  }
  const double squares = product(chain.alpha, chain.alpha), rows = static_cast<double>(n);

  // What a choice of trends leaves; `weights` is set.
  struct Fit {
    std::vector<double> weights;  // of all trends
    double variance = 0, penalty = 0;
  };
  const auto fit_of = [&](const std::vector<std::size_t>& chosen, double penalty) {
    Fit fit{std::vector<double>(count, 0), squares / rows, penalty};
    const double usual = chosen.empty() ? 0 : 1 / static_cast<double>(chosen.size());
    const auto left_by = [&](const std::vector<double>& weights) {
      double left = squares;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        left -= 2 * weights[i] * along[chosen[i]];
        for (std::size_t j = 0; j < chosen.size(); ++j)
          left += weights[i] * weights[j] * products[chosen[i] * count + chosen[j]];
      }
      return std::max(left / rows, kLeastVariance);
    };
    std::vector<double> weights(chosen.size(), usual);
    // Ridge regression; how much the weights are held depends on the variance that is left.
    for (int round = 0; round < kWeightRounds && !chosen.empty(); ++round) {
      const double hold = left_by(weights) / Square(kWeightSpread);
      std::vector<double> matrix;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        for (std::size_t j = 0; j < chosen.size(); ++j)
          matrix.push_back(products[chosen[i] * count + chosen[j]] + (i == j ? hold : 0));
        weights[i] = along[chosen[i]] + hold * usual;
      }
      SolveSymmetric(matrix, weights);
    }
    fit.variance = left_by(weights);
    double together = 0;
    for (const double weight : weights) together += weight;
    if (!chosen.empty() && together < 0) fit.penalty = kMisleadingPenalty;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      fit.weights[chosen[i]] = weights[i];
      fit.penalty += Square((weights[i] - usual) / kWeightSpread);
    }
    return fit;
  };
  std::vector<std::size_t> all(count);
  for (std::size_t t = 0; t < count; ++t) all[t] = t;
  Fit best = fit_of(all, 0);
  const auto consider = [&](Fit fit) {
    if (rows * std::log(fit.variance) + fit.penalty < rows * std::log(best.variance) + best.penalty)
      best = std::move(fit);
  };
  for (std::size_t t = 0; t < count && count > 1; ++t) consider(fit_of({t}, kOneTrendPenalty));
  consider(fit_of({}, kNoTrendPenalty));

  chain.evidence =
      rows * std::log(std::max(squares / rows, kLeastVariance) / best.variance) - best.penalty;
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t i = 0; i < n; ++i)
      chain.alpha[i] -= static_cast<float>(best.weights[t]) * solved[t][i];
  chain.weights = std::move(best.weights);
  chain.variance = best.variance;
  return best.penalty;
}

double GaussianProcess::TrendEvidence() const {
  double sum = 0;
  for (const Chain& chain : chains_) sum += chain.evidence;
  return sum / static_cast<double>(chains_.size());
}

void GaussianProcess::DropTrends() {
  trends_ = {};
  for (Chain& chain : chains_) chain.weights.clear();
}

bool GaussianProcess::FollowsTrends() const {
  for (const Chain& chain : chains_)
    for (const double weight : chain.weights)
      if (weight != 0) return true;
  return false;
}

void GaussianProcess::TakeValues(std::span<const double> values) {
  const std::size_t n = values.size();
  const auto centre = [n](auto value_of, std::vector<float>& centred) {
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += value_of(i) / static_cast<double>(n);
    centred.assign(Padded(n), 0.0f);
    for (std::size_t i = 0; i < n; ++i) centred[i] = static_cast<float>(value_of(i) - mean);
    return mean;
  };
  mean_ = centre([&](std::size_t i) { return values[i]; }, values_);
  trend_values_.resize(trends_.size());
  trend_means_.clear();
  for (std::size_t t = 0; t < trends_.size(); ++t)
    trend_means_.push_back(
        centre([&](std::size_t i) { return static_cast<double>(trends_[t][rows_[i]]); },
               trend_values_[t]));
}

void GaussianProcess::Judge(Chain& chain) const {
  const std::size_t n = rows_.size();
  chain.alpha.resize(Padded(n));
  const double squares = chain.factor.Solve(values_, chain.alpha);
  chain.variance = std::max(squares / static_cast<double>(n), 1e-12);
  const Parameters& p = chain.parameters;
  double penalty = (trends_.empty() ? 0 : FitWeights(chain)) +
                   Square((p.log_noise - kUsualLogNoise) / kLogNoiseSpread);
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
    const bool same_slots = kept > 0 && slots_before[c] == slots_[c].levels.size();
    if (kept == 0) chain.kernels[c]->table.clear();
    Expand(chain.parameters, c, same_slots ? kept : 0, *chain.kernels[c]);
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
  TakeValues(values);
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
        Expand(attempt.parameters, c, 0, *attempt.kernels[c]);
      }
      if (!FactorAnew(attempt)) continue;
      Judge(attempt);
      // Draws from the posterior, not its peak: half the objective is its negative logarithm.
      if (attempt.objective < chain.objective ||
          random_.Uniform() < std::exp((chain.objective - attempt.objective) / 2))
        std::swap(chain, attempt);
    }
    CompleteTables(chain);
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
          const float* const table = &chain.kernels[c]->table[slot * width];
          for (std::size_t r = 0; r < kSideRows; ++r)
            shares[slot * kSideRows + r] = table[levels[c * kSideRows + r]];
        }
        internal::MultiplyRows(sides.data(), shares.data(), slots.of_row);
      }
      float mean[kSideRows] = {}, explained[kSideRows] = {};
      chain.factor.SolveSides(sides.data(), chain.alpha.data(), mean, explained);
      for (std::size_t t = 0; t < trends_.size(); ++t)
        for (std::size_t r = 0; r < count; ++r) {
          const double trend = static_cast<double>(trends_[t][rows[first + r]]);
          mean[r] += static_cast<float>(chain.weights[t] * (trend - trend_means_[t]));
        }
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
