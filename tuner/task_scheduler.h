// Task scheduler: which task gets the next round of trials.
//
// A bandit over tasks by expected end-to-end gain per second. A task's value is
//   weight * best_ns * (expected relative improvement + exploration) / seconds per round,
// the expected improvement being a smoothed record of its own rounds, with an optimistic start that
// decays with the rounds spent; half of what a family's other members may gain from what is learned
// counts too, shrinking as the family is trained. Tasks that have no round yet come first, heaviest
// first. Deterministic in trials: measured seconds enter only as the cost of a *trial* recorded in
// the log.
#pragma once

#include <optional>
#include <vector>

namespace kindred {

class TaskScheduler {
 public:
  struct Options {
    double optimism = 0.3;      // expected relative improvement of a second round
    double smoothing = 0.5;     // share of the newest round in the record
    double exploration = 0.01;  // relative improvement granted per sqrt(log(rounds) / own rounds)
    double family_share = 0.5;
  };

  // `weight`: how often the inputs run the task; `start_ns`: its untuned time; `family`: equal
  // numbers are siblings.
  int AddTask(double weight, double start_ns, int family);

  // The task to go on with; nullopt when all are closed.
  std::optional<int> Pick() const;

  // After a round of `task`: its best so far (0: none yet), and the seconds its trials took.
  void Update(int task, double best_ns, double seconds);
  // The task takes no more rounds (budget reached or space exhausted).
  void Close(int task);

  // What another round of every open task is expected to gain, as a share of the time of all tasks
  // that had a round (exploration is no gain). 1 while an open task had none; 0 when all are
  // closed.
  double ExpectedShare() const;

  TaskScheduler() = default;
  explicit TaskScheduler(const Options& options) : options_(options) {}

 private:
  struct Task {
    double weight, best_ns;
    int family;
    bool closed = false;
    int rounds = 0;
    double improvement = 0;  // smoothed, relative
    double seconds = 0;      // total
  };
  double Value(const Task& task) const;
  double OwnGain(const Task& task) const;              // exploration included
  double ExpectedImprovement(const Task& task) const;  // of its next round, relative

  Options options_;
  std::vector<Task> tasks_;
  int total_rounds_ = 0;
};

}  // namespace kindred
