// GaussianProcess: regression over rows of few, discrete columns, with an honest uncertainty.
//
// The covariance is a product over columns of (1 - r) + r * Matern-3/2(distance / length): each
// column matters as much as its relevance r says, alone and together with others. Lengths,
// relevances and noise are found by random ascent of the marginal likelihood with weak priors,
// several chains of it; what is predicted is of each chain. Deterministic for a seed and equal
// calls. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/base/seed.h"

namespace kindred {

// One column of a table: where each row stands on it.
struct GpColumn {
  std::vector<float> positions;       // by level; ascending is not needed
  std::vector<std::uint16_t> levels;  // by row
  bool unordered = false;             // levels are equal or not, nothing else
};

class GaussianProcess {
 public:
  struct Parameters {
    std::vector<double> log_length, relevance;  // relevance before the logistic function
    double log_noise = -5;                      // of the noise's share of the variance
  };
  struct Belief {
    float mean = 0, sigma = 0;
  };

  // `columns` must outlive it. `chains`: sets of parameters that are kept.
  GaussianProcess(std::span<const GpColumn> columns, int chains, std::uint64_t seed);

  // Rows and what was measured of each. Improves the parameters by about `work` multiplications.
  void Fit(std::span<const std::size_t> rows, std::span<const double> values, double work);

  // Of each row asked for, one vector per chain.
  std::vector<std::vector<Belief>> Predict(std::span<const std::size_t> rows) const;

 private:
  struct Chain {
    Parameters parameters;
    double objective = 0;
    std::vector<float> factor;  // lower triangle of the Cholesky factor, row by row
    std::vector<float> alpha;   // factor \ values
    double variance = 1;
    std::vector<std::vector<float>> tables;  // covariance by column, level, level
  };
  std::vector<std::vector<float>> Tables(const Parameters& parameters) const;
  // Less is better; infinite where the matrix is not positive definite.
  double Evaluate(const Parameters& parameters, Chain& chain) const;
  Parameters Perturbed(const Parameters& parameters);

  std::span<const GpColumn> columns_;
  std::vector<Chain> chains_;
  Random random_;
  std::vector<std::size_t> rows_;
  std::vector<double> values_;
  double mean_ = 0;
};

}  // namespace kindred
