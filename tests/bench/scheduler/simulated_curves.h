// Learning curves that are made up: what a round of a task brings, without a search.
//
// A task's schedules have times limit * 2^|N(0, s)|; s, how far the search is off, shrinks with the
// task's own rounds and, more slowly, with those of its family. Limits, weights, costs of trials
// and sizes of families are log-uniform. All from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tuner/task_scheduler.h"

namespace kindred::bench {

struct CurveTask {
  ScheduledTask task;
  double limit_ns = 0;    // no schedule is faster
  double difficulty = 0;  // s before the first round
  double trial_s = 0;     // cost of a trial
  double best_ns = 0;     // so far; 0: none
  int rounds = 0;
};

class SimulatedCurves {
 public:
  SimulatedCurves(int tasks, std::uint64_t seed);

  const std::vector<CurveTask>& tasks() const { return tasks_; }
  // One round of `trials` trials; what it brought.
  RoundResult Round(int task, int trials);
  double BestTotalNs() const;  // weighted limits
  double TotalNs() const;      // weighted; tasks without a schedule count untuned

 private:
  std::vector<CurveTask> tasks_;
  std::mt19937_64 random_;
};

}  // namespace kindred::bench
