#include "tuner/task_scheduler.h"

#include <algorithm>
#include <cmath>

namespace kindred {

int TaskScheduler::AddTask(double weight, double start_ns, int family) {
  tasks_.push_back({.weight = weight, .best_ns = start_ns, .family = family});
  return static_cast<int>(tasks_.size()) - 1;
}

double TaskScheduler::ExpectedImprovement(const Task& task) const {
  const double rounds = task.rounds;
  return std::max(task.improvement / 2, options_.optimism / (rounds * rounds));
}

double TaskScheduler::OwnGain(const Task& task) const {
  const double explore =
      options_.exploration * std::sqrt(std::log(1.0 + total_rounds_) / task.rounds);
  return task.weight * task.best_ns * (ExpectedImprovement(task) + explore);
}

double TaskScheduler::ExpectedShare() const {
  double total = 0, gain = 0;
  for (const Task& task : tasks_) {
    if (task.rounds == 0) {
      if (!task.closed) return 1;
      continue;
    }
    total += task.weight * task.best_ns;
    if (!task.closed) gain += task.weight * task.best_ns * ExpectedImprovement(task);
  }
  return total > 0 ? gain / total : 0;
}

double TaskScheduler::Value(const Task& task) const {
  double gain = OwnGain(task);
  int family_rounds = 0;
  double siblings = 0;
  for (const Task& other : tasks_) {
    if (other.family != task.family) continue;
    family_rounds += other.rounds;
    if (&other != &task && !other.closed && other.rounds > 0) siblings += OwnGain(other);
  }
  gain += options_.family_share * siblings / (1.0 + family_rounds);
  return gain / std::max(1e-3, task.seconds / task.rounds);
}

std::optional<int> TaskScheduler::Pick() const {
  std::optional<int> best;
  double best_value = -1;
  bool best_fresh = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    if (task.closed) continue;
    const bool fresh = task.rounds == 0;
    const double value = fresh ? task.weight * task.best_ns : Value(task);
    if (!best || (fresh && !best_fresh) || (fresh == best_fresh && value > best_value)) {
      best = static_cast<int>(i);
      best_value = value;
      best_fresh = fresh;
    }
  }
  return best;
}

void TaskScheduler::Update(int index, double best_ns, double seconds) {
  Task& task = tasks_[static_cast<std::size_t>(index)];
  ++total_rounds_;
  ++task.rounds;
  task.seconds += seconds;
  if (best_ns <= 0) return;
  // The first round's step from the untuned program says nothing about what is left to gain.
  if (task.rounds > 1) {
    const double gain = std::max(0.0, 1.0 - best_ns / task.best_ns);
    task.improvement += options_.smoothing * (gain - task.improvement);
  }
  task.best_ns = task.rounds == 1 ? best_ns : std::min(best_ns, task.best_ns);
}

void TaskScheduler::Close(int task) { tasks_[static_cast<std::size_t>(task)].closed = true; }

}  // namespace kindred
