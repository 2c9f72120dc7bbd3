// Task scheduler: which task gets the next round of trials.
//
// Tasks that have no round yet come first, heaviest first. Then:
//   gain         a bandit over tasks by expected end-to-end gain per second (GainOptions)
//   ansor        the gradient rule of Ansor: the baseline
//   round-robin  the task with the fewest rounds
// All keep the same record of what rounds gained, by which ExpectedShare() says when to end.
// Deterministic in trials: seconds enter only as the cost of *trials* recorded in the log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedules/base/result.h"
#include "tuner/control_chart.h"

namespace kindred {

struct ScheduledTask {
  double weight = 1;    // how often the inputs run it
  double start_ns = 0;  // untuned
  int family = 0;       // equal numbers are siblings
  double flop = 0;
};

// Trials of a full round; the first rounds of a task may have fewer.
inline constexpr double kFullRound = 8;

struct RoundResult {
  double best_ns = 0;  // of the task so far; 0: none yet
  double seconds = 0;  // that the round's trials took
  // Mean |log2(measured / predicted)| of the round's timed candidates; negative: not known.
  double model_error = -1;
  double trials = kFullRound;
};

// A task's value to the gain scheduler is
//   weight * best_ns * (expected relative improvement + exploration) / seconds,
// all of a trial, the expected improvement being a smoothed record of its own rounds, with an
// optimistic start that decays with the trials spent. A share of what a family's other members may
// gain from what is learned can count too, shrinking as the family is trained. A family whose
// latest round was mispredicted beyond the control limit is under-trained: its rounds count more.
struct GainOptions {
  // Relative improvement of a full round granted per sqrt(log(rounds) / own rounds), in full
  // rounds.
  double exploration = 0.01;
  double family_share = 0;    // did not pay (docs/benchmarks/README.md)
  double undertrained = 0.5;  // what a round of an under-trained family counts more
};

class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;

  // The task's number, from 0.
  int AddTask(const ScheduledTask& task);

  // The task to go on with; nullopt when all are closed.
  std::optional<int> Pick() const;

  void Update(int task, const RoundResult& round);
  // The task takes no more rounds (budget reached or space exhausted).
  void Close(int task);

  // What another full round of every open task is expected to gain, as a share of the time of all
  // tasks that had a round (exploration is no gain). 1 while an open task had none; 0 when all are
  // closed.
  double ExpectedShare() const;

 protected:
  struct Task : ScheduledTask {
    bool closed = false;
    double improvement = 0;       // of a trial: smoothed, relative
    double seconds = 0;           // total
    double trials = 0;            // total
    std::vector<double> best_ns;  // after each round; before the first valid schedule start_ns

    int rounds() const { return static_cast<int>(best_ns.size()); }
    double best() const { return best_ns.empty() ? start_ns : best_ns.back(); }
    double cost() const { return weight * best(); }
    double ExpectedImprovement() const;  // of the next trial, relative
  };
  // Of a task that had a round; the open task with the highest value goes on.
  virtual double Value(const Task& task) const = 0;
  virtual void Learn(const Task& /*task*/, const RoundResult& /*round*/) {}

  const std::vector<Task>& tasks() const { return tasks_; }
  double total_trials() const { return total_trials_; }

 private:
  std::vector<Task> tasks_;
  double total_trials_ = 0;
};

// Error kBadInput: no such scheduler.
Result<std::unique_ptr<TaskScheduler>> MakeTaskScheduler(const std::string& name,
                                                         const GainOptions& options = {});

}  // namespace kindred
