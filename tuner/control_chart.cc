#include "tuner/control_chart.h"

#include <cmath>

namespace kindred {

void ControlChart::Add(double value) {
  recent_.push_back(value);
  if (recent_.size() > kWindow) recent_.pop_front();
}

bool ControlChart::Above(double value) const {
  if (recent_.size() < kLeast) return false;
  const auto count = static_cast<double>(recent_.size());
  double mean = 0, variance = 0;
  for (const double one : recent_) mean += one / count;
  for (const double one : recent_) variance += (one - mean) * (one - mean) / count;
  return value > mean + kDeviations * std::sqrt(variance);
}

}  // namespace kindred
