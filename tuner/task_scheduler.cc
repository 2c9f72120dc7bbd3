#include "tuner/task_scheduler.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kindred {
namespace {

// Expected relative improvement of a trial, by how many there were: tuning runs over recordings of
// real schedules (tests/bench/ablation) fall about so.
constexpr double kOptimism = 0.1, kDecay = 1.2;
constexpr double kSmoothing = 0.5;  // share of the newest round in the record

class GainScheduler final : public TaskScheduler {
 public:
  explicit GainScheduler(const GainOptions& options) : options_(options) {}

 private:
  double OwnGain(const Task& task) const {
    const double explore =
        options_.exploration / kFullRound *
        std::sqrt(std::log(1 + total_trials() / kFullRound) / (task.trials / kFullRound));
    return task.cost() * (task.ExpectedImprovement() + explore);
  }

  double Value(const Task& task) const override {
    double family_trials = 0, siblings = 0;
    for (const Task& other : tasks()) {
      if (other.family != task.family) continue;
      family_trials += other.trials;
      if (&other != &task && !other.closed && other.rounds() > 0) siblings += OwnGain(other);
    }
    double gain =
        OwnGain(task) + options_.family_share * siblings / (1 + family_trials / kFullRound);
    const auto error = error_of_family_.find(task.family);
    if (error != error_of_family_.end() && errors_.Above(error->second))
      gain *= 1 + options_.undertrained;
    return gain / std::max(1e-4, task.seconds / task.trials);
  }

  void Learn(const Task& task, const RoundResult& round) override {
    if (round.model_error < 0) return;
    errors_.Add(round.model_error);
    error_of_family_[task.family] = round.model_error;
  }

  const GainOptions options_;
  ControlChart errors_;                    // of all rounds
  std::map<int, double> error_of_family_;  // of its latest round
};

// Ansor, section 6: the gradient of the inputs' time over a task's rounds, from its last rounds and
// from two guesses of what it may yet reach (a time that falls with the rounds; the best rate of
// its family).
class AnsorScheduler final : public TaskScheduler {
  static constexpr double kAlpha = 0.2, kBeta = 2;
  static constexpr int kWindow = 3;

  double Value(const Task& task) const override {
    const double now = task.best();
    const int rounds = task.rounds();
    double backward = 0;
    if (rounds > kWindow)
      backward =
          (now - task.best_ns[static_cast<std::size_t>(rounds - 1 - kWindow)]) / double{kWindow};
    double next = now - now / rounds;
    double rate = 0;  // best of the family, flop in a nanosecond
    int members = 0;
    for (const Task& other : tasks()) {
      if (other.family != task.family || other.rounds() == 0) continue;
      ++members;
      rate = std::max(rate, other.flop / other.best());
    }
    if (members > 1 && rate > 0 && task.flop > 0) next = std::min(next, kBeta * task.flop / rate);
    return -task.weight * (kAlpha * backward + (1 - kAlpha) * (next - now));
  }
};

class RoundRobinScheduler final : public TaskScheduler {
  double Value(const Task& task) const override { return 1.0 / task.rounds(); }
};

}  // namespace

double TaskScheduler::Task::ExpectedImprovement() const {
  return std::max(improvement / 2, kOptimism * std::pow(trials, -kDecay));
}

int TaskScheduler::AddTask(const ScheduledTask& task) {
  static_cast<ScheduledTask&>(tasks_.emplace_back()) = task;
  return static_cast<int>(tasks_.size()) - 1;
}

std::optional<int> TaskScheduler::Pick() const {
  std::optional<int> best;
  double best_value = 0;
  bool best_fresh = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    if (task.closed) continue;
    const bool fresh = task.rounds() == 0;
    const double value = fresh ? task.cost() : Value(task);
    if (!best || (fresh && !best_fresh) || (fresh == best_fresh && value > best_value)) {
      best = static_cast<int>(i);
      best_value = value;
      best_fresh = fresh;
    }
  }
  return best;
}

void TaskScheduler::Update(int index, const RoundResult& round) {
  Task& task = tasks_[static_cast<std::size_t>(index)];
  total_trials_ += round.trials;
  task.trials += round.trials;
  task.seconds += round.seconds;
  const double before = task.best();
  double best = before;
  if (round.best_ns > 0) {
    // The first round's step from the untuned program says nothing about what is left to gain.
    best = task.rounds() == 0 ? round.best_ns : std::min(round.best_ns, before);
    if (task.rounds() > 0)
      task.improvement += kSmoothing * ((1 - best / before) / round.trials - task.improvement);
  }
  task.best_ns.push_back(best);
  Learn(task, round);
}

void TaskScheduler::Close(int task) { tasks_[static_cast<std::size_t>(task)].closed = true; }

double TaskScheduler::ExpectedShare() const {
  double total = 0, gain = 0;
  for (const Task& task : tasks_) {
    if (task.rounds() == 0) {
      if (!task.closed) return 1;
      continue;
    }
    total += task.cost();
    if (!task.closed) gain += task.cost() * kFullRound * task.ExpectedImprovement();
  }
  return total > 0 ? gain / total : 0;
}

Result<std::unique_ptr<TaskScheduler>> MakeTaskScheduler(const std::string& name,
                                                         const GainOptions& options) {
  std::unique_ptr<TaskScheduler> scheduler;
  if (name == "gain") scheduler = std::make_unique<GainScheduler>(options);
  if (name == "ansor") scheduler = std::make_unique<AnsorScheduler>();
  if (name == "round-robin") scheduler = std::make_unique<RoundRobinScheduler>();
  if (!scheduler)
    return BadInput("unknown task scheduler '" + name + "'; there are gain, ansor, round-robin");
  return scheduler;
}

}  // namespace kindred
