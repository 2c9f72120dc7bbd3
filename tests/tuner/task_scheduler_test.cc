#include "tuner/task_scheduler.h"

#include <vector>

#include <gtest/gtest.h>

namespace kindred {
namespace {

TEST(TaskScheduler, EachTaskGetsARoundFirstHeaviestFirst) {
  TaskScheduler scheduler;
  scheduler.AddTask(1, 100, 0);
  scheduler.AddTask(1, 900, 1);
  scheduler.AddTask(5, 100, 2);
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*scheduler.Pick());
    scheduler.Update(order.back(), 50, 1);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2, 0}));
}

TEST(TaskScheduler, SpendsMostWhereTimeIsAndGainsAre) {
  TaskScheduler scheduler;
  scheduler.AddTask(1, 1e6, 0);  // heavy, keeps improving
  scheduler.AddTask(1, 1e6, 1);  // heavy, does not
  scheduler.AddTask(1, 1e3, 2);  // light, keeps improving
  std::vector<double> best = {1e6, 1e6, 1e3};
  std::vector<int> rounds(3);
  for (int i = 0; i < 60; ++i) {
    const int task = *scheduler.Pick();
    const auto t = static_cast<std::size_t>(task);
    ++rounds[t];
    if (task != 1) best[t] *= 0.97;
    scheduler.Update(task, best[t], 1);
  }
  EXPECT_GT(rounds[0], rounds[1]);
  EXPECT_GT(rounds[1], rounds[2]);
  EXPECT_GE(rounds[2], 1);
}

TEST(TaskScheduler, CheapRoundsArePreferredAtEqualGain) {
  TaskScheduler scheduler;
  scheduler.AddTask(1, 1e6, 0);
  scheduler.AddTask(1, 1e6, 1);
  std::vector<int> rounds(2);
  for (int i = 0; i < 40; ++i) {
    const int task = *scheduler.Pick();
    ++rounds[static_cast<std::size_t>(task)];
    scheduler.Update(task, 5e5, task == 0 ? 1 : 10);
  }
  EXPECT_GT(rounds[0], rounds[1]);
}

TEST(TaskScheduler, ExpectsLessTheLessItGained) {
  TaskScheduler scheduler;
  scheduler.AddTask(2, 1000, 0);
  scheduler.AddTask(1, 1000, 1);
  scheduler.Update(0, 1000, 1);
  EXPECT_EQ(scheduler.ExpectedShare(), 1) << "a task had no round";
  scheduler.Update(1, 1000, 1);
  double last = scheduler.ExpectedShare();
  EXPECT_LT(last, 1);
  for (int round = 2; round < 8; ++round) {
    scheduler.Update(0, 1000, 1);
    scheduler.Update(1, 1000, 1);
    EXPECT_LT(scheduler.ExpectedShare(), last);
    last = scheduler.ExpectedShare();
  }
  EXPECT_LT(last, 0.01);
  scheduler.Update(0, 800, 1);
  EXPECT_GT(scheduler.ExpectedShare(), 0.02) << "it gained again";
  scheduler.Close(0);
  EXPECT_LT(scheduler.ExpectedShare(), 0.01) << "what is closed gains nothing";
  scheduler.Close(1);
  EXPECT_EQ(scheduler.ExpectedShare(), 0);
}

TEST(TaskScheduler, ClosedTasksAreNotPicked) {
  TaskScheduler scheduler;
  scheduler.AddTask(1, 100, 0);
  scheduler.AddTask(1, 10, 0);
  scheduler.Close(0);
  EXPECT_EQ(scheduler.Pick(), 1);
  scheduler.Close(1);
  EXPECT_EQ(scheduler.Pick(), std::nullopt);
}

}  // namespace
}  // namespace kindred
