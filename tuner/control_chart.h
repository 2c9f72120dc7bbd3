// ControlChart: is a number out of the ordinary, judged by those before it? (Shewhart's chart, as
// in inconsistent stochastic gradient descent, where it finds the batches that need more training.)
//
// The upper limit is the mean of the last kWindow numbers plus kDeviations times their standard
// deviation; there is none before kLeast numbers.
#pragma once

#include <deque>

namespace kindred {

class ControlChart {
 public:
  static constexpr std::size_t kWindow = 32, kLeast = 8;
  static constexpr double kDeviations = 2;

  void Add(double value);
  bool Above(double value) const;

 private:
  std::deque<double> recent_;
};

}  // namespace kindred
