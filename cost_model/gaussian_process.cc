#include "cost_model/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kindred {
namespace {

constexpr double kUsualLogLength = -0.4, kLogLengthSpread = 1.0;
constexpr double kUsualRelevance = 0.0, kRelevanceSpread = 1.5;
constexpr double kUsualLogNoise = -6, kLogNoiseSpread = 2;
constexpr std::size_t kBlock = 256;  // rows predicted together

double Normal(Random& random) {
  const double u = 1 - random.Uniform(), v = random.Uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
}

double Matern(double distance) {
  const double scaled = std::sqrt(3.0) * distance;
  return (1 + scaled) * std::exp(-scaled);
}

double Square(double x) { return x * x; }

// In place: the lower triangle of `matrix` (row by row, full rows of n) becomes its factor. False:
// not positive definite.
bool Factor(std::vector<float>& matrix, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    float* const row = &matrix[i * n];
    for (std::size_t j = 0; j <= i; ++j) {
      const float* const other = &matrix[j * n];
      float parts[8] = {};
      std::size_t k = 0;
      for (; k + 8 <= j; k += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) parts[lane] += row[k + lane] * other[k + lane];
      double sum = 0;
      for (const float part : parts) sum += static_cast<double>(part);
      for (; k < j; ++k) sum += static_cast<double>(row[k]) * static_cast<double>(other[k]);
      const double rest = static_cast<double>(row[j]) - sum;
      if (j < i) {
        row[j] = static_cast<float>(rest / static_cast<double>(other[j]));
      } else {
        if (!(rest > 1e-7)) return false;
        row[j] = static_cast<float>(std::sqrt(rest));
      }
    }
  }
  return true;
}

}  // namespace

GaussianProcess::GaussianProcess(std::span<const GpColumn> columns, int chains, std::uint64_t seed)
    : columns_(columns), random_(DeriveSeed(seed, "gaussian process")) {
  for (int i = 0; i < chains; ++i) {
    Parameters parameters;
    parameters.log_length.assign(columns.size(), kUsualLogLength);
    parameters.relevance.assign(columns.size(), kUsualRelevance);
    parameters.log_noise = kUsualLogNoise;
    chains_.emplace_back().parameters = std::move(parameters);
  }
}

std::vector<std::vector<float>> GaussianProcess::Tables(const Parameters& parameters) const {
  std::vector<std::vector<float>> tables;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto& positions = columns_[c].positions;
    const double length = std::exp(parameters.log_length[c]);
    const double relevance = 1 / (1 + std::exp(-parameters.relevance[c]));
    std::vector<float>& table = tables.emplace_back(positions.size() * positions.size());
    for (std::size_t a = 0; a < positions.size(); ++a)
      for (std::size_t b = 0; b < positions.size(); ++b) {
        const double distance = columns_[c].unordered
                                    ? (a == b ? 0 : 1)
                                    : std::fabs(static_cast<double>(positions[a] - positions[b]));
        table[a * positions.size() + b] =
            static_cast<float>(1 - relevance + relevance * Matern(distance / length));
      }
  }
  return tables;
}

double GaussianProcess::Evaluate(const Parameters& parameters, Chain& chain) const {
  const std::size_t n = rows_.size();
  chain.parameters = parameters;
  chain.tables = Tables(parameters);
  chain.factor.assign(n * n, 1.0f);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::size_t levels = columns_[c].positions.size();
    for (std::size_t i = 0; i < n; ++i) {
      const float* const table = &chain.tables[c][columns_[c].levels[rows_[i]] * levels];
      float* const row = &chain.factor[i * n];
      for (std::size_t j = 0; j <= i; ++j) row[j] *= table[columns_[c].levels[rows_[j]]];
    }
  }
  const auto noise = static_cast<float>(std::exp(parameters.log_noise) + 1e-5);
  for (std::size_t i = 0; i < n; ++i) chain.factor[i * n + i] += noise;
  chain.objective = std::numeric_limits<double>::infinity();
  if (!Factor(chain.factor, n)) return chain.objective;
  chain.alpha.resize(n);
  double squares = 0, log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double rest = values_[i] - mean_;
    for (std::size_t j = 0; j < i; ++j)
      rest -= static_cast<double>(chain.factor[i * n + j]) * static_cast<double>(chain.alpha[j]);
    const double diagonal = static_cast<double>(chain.factor[i * n + i]);
    chain.alpha[i] = static_cast<float>(rest / diagonal);
    squares += Square(static_cast<double>(chain.alpha[i]));
    log_determinant += 2 * std::log(diagonal);
  }
  chain.variance = std::max(squares / static_cast<double>(n), 1e-12);
  double penalty = Square((parameters.log_noise - kUsualLogNoise) / kLogNoiseSpread);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    penalty += Square((parameters.log_length[c] - kUsualLogLength) / kLogLengthSpread) +
               Square((parameters.relevance[c] - kUsualRelevance) / kRelevanceSpread);
  chain.objective = static_cast<double>(n) * std::log(chain.variance) + log_determinant + penalty;
  return chain.objective;
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
  rows_.assign(rows.begin(), rows.end());
  values_.assign(values.begin(), values.end());
  mean_ = 0;
  for (const double value : values_) mean_ += value / static_cast<double>(values_.size());
  const auto n = static_cast<double>(rows_.size());
  const double each = n * n * n / 6 + n * n * static_cast<double>(columns_.size());
  const int tries =
      static_cast<int>(std::min(200.0, work / each / static_cast<double>(chains_.size())));
  Chain attempt;
  for (Chain& chain : chains_) {
    Evaluate(Parameters(chain.parameters), chain);
    for (int i = 0; i < tries; ++i) {
      const Parameters changed = Perturbed(chain.parameters);
      const double objective = Evaluate(changed, attempt);
      // Draws from the posterior, not its peak: half the objective is its negative logarithm.
      if (objective < chain.objective ||
          random_.Uniform() < std::exp((chain.objective - objective) / 2))
        std::swap(chain, attempt);
    }
  }
}

std::vector<std::vector<GaussianProcess::Belief>> GaussianProcess::Predict(
    std::span<const std::size_t> rows) const {
  const std::size_t n = rows_.size();
  std::vector<std::vector<Belief>> beliefs(chains_.size(), std::vector<Belief>(rows.size()));
  std::vector<float> solved(n * kBlock);
  for (std::size_t which = 0; which < chains_.size(); ++which) {
    const Chain& chain = chains_[which];
    for (std::size_t first = 0; first < rows.size(); first += kBlock) {
      const std::size_t count = std::min(kBlock, rows.size() - first);
      std::fill(solved.begin(), solved.end(), 1.0f);
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const auto& levels = columns_[c].levels;
        const std::size_t width = columns_[c].positions.size();
        for (std::size_t i = 0; i < n; ++i) {
          const float* const table = &chain.tables[c][levels[rows_[i]] * width];
          for (std::size_t r = 0; r < count; ++r)
            solved[i * kBlock + r] *= table[levels[rows[first + r]]];
        }
      }
      float mean[kBlock] = {}, explained[kBlock] = {};
      for (std::size_t i = 0; i < n; ++i) {
        float* const row = &solved[i * kBlock];
        for (std::size_t j = 0; j < i; ++j) {
          const float weight = chain.factor[i * n + j];
          const float* const other = &solved[j * kBlock];
          for (std::size_t r = 0; r < kBlock; ++r) row[r] -= weight * other[r];
        }
        const float scale = 1 / chain.factor[i * n + i];
        for (std::size_t r = 0; r < kBlock; ++r) {
          row[r] *= scale;
          mean[r] += row[r] * chain.alpha[i];
          explained[r] += row[r] * row[r];
        }
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
