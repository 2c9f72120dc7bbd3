// GaussianProcess: regression over rows of few, discrete columns, with an honest uncertainty.
//
// The covariance is a product over columns of (1 - r) + r * Matern-3/2(distance / length): each
// column matters as much as its relevance r says, alone and together with others. Lengths,
// relevances and noise are found by random ascent of the marginal likelihood with weak priors,
// several chains of it; what is predicted is of each chain. Deterministic for a seed and equal
// calls. Not thread-safe.
//
// Trends are known numbers by row that the values may go along with (Kennedy, O'Hagan, 2000): the
// mean is a sum of them, weighted. Weights are equal and add up to 1 where little is known; what is
// measured moves them, and leaves out all trends but one, or all, where that explains it better.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cost_model/internal/cholesky.h"
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
  // `trends`: each by row, in the unit of the values; they must outlive it too.
  GaussianProcess(std::span<const GpColumn> columns, int chains, std::uint64_t seed,
                  std::span<const std::vector<float>> trends = {});

  // Rows and what was measured of each. Improves the parameters by about `work` multiplications.
  // Rows that begin as those of the call before cost less.
  void Fit(std::span<const std::size_t> rows, std::span<const double> values, double work);

  // Of each row asked for, one vector per chain.
  std::vector<std::vector<Belief>> Predict(std::span<const std::size_t> rows) const;

  // Whether some chain takes the values to go along with a trend. After Fit.
  bool FollowsTrends() const;
  // Twice the logarithm of how much likelier the trends make the values, mean of the chains: below
  // 0 they do not help. After Fit.
  double TrendEvidence() const;
  // As if there were none, from the next Fit on; before it nothing may be asked.
  void DropTrends();

 private:
  // What the parameters make of one column.
  struct ColumnKernel {
    std::vector<float> slots;     // covariance by slot of a level, slot
    std::vector<float> expanded;  // by slot, row: what a row of that level has with each
    std::vector<float> table;     // covariance by slot, level: for what is predicted
  };
  struct Chain {
    Parameters parameters;
    double objective = 0, variance = 1;
    std::vector<std::shared_ptr<ColumnKernel>> kernels;  // by column
    internal::Cholesky factor;
    std::vector<float> alpha;     // factor \ (values less what the trends explain)
    std::vector<double> weights;  // of the trends
    double evidence = 0;          // for the trends
  };
  // Levels of a column that the rows have, numbered as they came.
  struct Slots {
    std::vector<std::uint16_t> levels;
    std::vector<std::int32_t> slot_of_level;
    std::vector<std::uint16_t> of_row;
  };

  // Fills a column's kernel but for its table, from `first_row` on; 0: all of it.
  void Expand(const Parameters& parameters, std::size_t column, std::size_t first_row,
              ColumnKernel& kernel) const;
  void CompleteTables(Chain& chain) const;
  // Covariances of row `row` with the rows from `first` on, a multiple of internal::kLanes.
  void Covariances(const Chain& chain, std::size_t row, std::size_t first, std::size_t n,
                   float* covariances) const;
  // Makes rows_ these; how many of the first ones stayed as they were.
  std::size_t TakeRows(std::span<const std::size_t> rows);
  // Brings a chain to the present rows, of which the first `kept` are those it knows.
  void Extend(Chain& chain, std::size_t kept, std::span<const std::size_t> slots_before);
  bool FactorAnew(Chain& chain) const;
  // The objective of a factored chain: less is better.
  void Judge(Chain& chain) const;
  // Weighs the trends and takes from alpha what they explain of it. The penalty of the weights.
  double FitWeights(Chain& chain) const;
  void TakeValues(std::span<const double> values);
  Parameters Perturbed(const Parameters& parameters);

  std::span<const GpColumn> columns_;
  std::vector<Chain> chains_;
  Random random_;
  std::vector<std::size_t> rows_;
  std::vector<Slots> slots_;
  std::size_t stride_ = 0;     // rows that expanded tables have room for
  std::vector<float> values_;  // less their mean; padded
  double mean_ = 0;
  std::span<const std::vector<float>> trends_;
  std::vector<std::vector<float>> trend_values_;  // of the rows, less their mean; padded
  std::vector<double> trend_means_;
  mutable std::vector<const float*> lists_;  // of Covariances
};

}  // namespace kindred
