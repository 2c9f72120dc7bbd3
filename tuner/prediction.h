// How long a workload takes, as far as the log and its models can tell: measured, or predicted with
// an error bar.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tuner/answer.h"

namespace kindred {

struct LatencyEstimate {
  std::string key;
  MatchLevel match = MatchLevel::kDefault;
  double ns = 0;  // median where measured, else the cost models' expectation
  // Measured: the median lies between them with 95% confidence (order statistics of the samples).
  // Predicted: the time does with 90%, if the models' errors in log2 are normal and as large as
  // they have been so far.
  double low_ns = 0, high_ns = 0;
  double gflops = 0;

  bool measured() const { return match == MatchLevel::kExact || match == MatchLevel::kDevice; }
};

// Of the kernel that AnswerQuery gives. Errors: its own.
Result<LatencyEstimate> EstimateLatency(const TuningLog* log, const KernelQuery& query);

// Ranks n/2 -+ 0.98 sqrt(n) of the samples (normal approximation of the binomial, 95%); the median
// itself where there are fewer than six.
std::pair<double, double> MedianBounds(std::vector<double> samples, double median);

// `count` of the values, evenly spread over their order, both ends included; all where there are
// not more.
std::vector<std::int64_t> SpreadOver(std::span<const std::int64_t> values, int count);

}  // namespace kindred
