#include "tests/bench/scheduler/simulated_curves.h"

#include <algorithm>
#include <cmath>

namespace kindred::bench {
namespace {

constexpr double kOwnTraining = 0.5, kFamilyTraining = 0.1;

}  // namespace

SimulatedCurves::SimulatedCurves(int tasks, std::uint64_t seed) : random_(seed) {
  const auto log_uniform = [&](double low, double high) {
    return low * std::exp2(std::uniform_real_distribution<>(0, std::log2(high / low))(random_));
  };
  int family = -1;
  for (int left = 0; static_cast<int>(tasks_.size()) < tasks; --left) {
    if (left == 0) {
      ++family;
      left = static_cast<int>(log_uniform(1, 8));
    }
    CurveTask one;
    one.limit_ns = log_uniform(1e4, 1e7);
    one.difficulty = log_uniform(0.5, 4);
    one.trial_s = log_uniform(0.1, 1);
    one.task = {std::floor(log_uniform(1, 16)), one.limit_ns * log_uniform(4, 64), family,
                one.limit_ns * log_uniform(10, 40)};
    tasks_.push_back(one);
  }
}

RoundResult SimulatedCurves::Round(int index, int trials) {
  CurveTask& task = tasks_[static_cast<std::size_t>(index)];
  double family_rounds = 0;
  for (const CurveTask& other : tasks_)
    if (other.task.family == task.task.family) family_rounds += other.rounds;
  const double spread = task.difficulty / (1 + kOwnTraining * task.rounds +
                                           kFamilyTraining * (family_rounds - task.rounds));
  std::normal_distribution<> normal;
  double error = 0;
  for (int i = 0; i < trials; ++i) {
    const double off = std::abs(spread * normal(random_));
    const double ns = task.limit_ns * std::exp2(off);
    if (task.best_ns == 0 || ns < task.best_ns) task.best_ns = ns;
    error += off / trials;
  }
  ++task.rounds;
  return {task.best_ns, task.trial_s * trials, error, static_cast<double>(trials)};
}

double SimulatedCurves::BestTotalNs() const {
  double sum = 0;
  for (const CurveTask& one : tasks_) sum += one.task.weight * one.limit_ns;
  return sum;
}

double SimulatedCurves::TotalNs() const {
  double sum = 0;
  for (const CurveTask& one : tasks_)
    sum += one.task.weight * (one.best_ns > 0 ? one.best_ns : one.task.start_ns);
  return sum;
}

}  // namespace kindred::bench
