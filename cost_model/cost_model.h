// CostModel: predicts how long candidates take, before they are built. The interface search sees.
#pragma once

#include <span>
#include <vector>

#include "schedules/space.h"

namespace kindred {

struct Prediction {
  double ns = 0;     // expected time of one run
  double sigma = 0;  // standard deviation of log2(time): how unsure the model is
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // One prediction per candidate, all of the model's one workload and target. Deterministic.
  virtual std::vector<Prediction> Predict(std::span<const Candidate* const> candidates) const = 0;
};

}  // namespace kindred
