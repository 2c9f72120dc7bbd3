#include "tuner/task_scheduler.h"

#include <vector>

#include <gtest/gtest.h>

namespace kindred {
namespace {

TEST(TaskScheduler, EachTaskGetsARoundFirstHeaviestFirst) {
  const auto scheduler = *MakeTaskScheduler("gain");
  scheduler->AddTask({1, 100, 0});
  scheduler->AddTask({1, 900, 1});
  scheduler->AddTask({5, 100, 2});
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*scheduler->Pick());
    scheduler->Update(order.back(), {50, 1});
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2, 0}));
}

TEST(TaskScheduler, SpendsMostWhereTimeIsAndGainsAre) {
  const auto scheduler = *MakeTaskScheduler("gain");
  scheduler->AddTask({1, 1e6, 0});  // heavy, keeps improving
  scheduler->AddTask({1, 1e6, 1});  // heavy, does not
  scheduler->AddTask({1, 1e3, 2});  // light, keeps improving
  std::vector<double> best = {1e6, 1e6, 1e3};
  std::vector<int> rounds(3);
  for (int i = 0; i < 60; ++i) {
    const int task = *scheduler->Pick();
    const auto t = static_cast<std::size_t>(task);
    ++rounds[t];
    if (task != 1) best[t] *= 0.97;
    scheduler->Update(task, {best[t], 1});
  }
  EXPECT_GT(rounds[0], rounds[1]);
  EXPECT_GT(rounds[1], rounds[2]);
  EXPECT_GE(rounds[2], 1);
}

TEST(TaskScheduler, CheapRoundsArePreferredAtEqualGain) {
  const auto scheduler = *MakeTaskScheduler("gain");
  scheduler->AddTask({1, 1e6, 0});
  scheduler->AddTask({1, 1e6, 1});
  std::vector<int> rounds(2);
  for (int i = 0; i < 40; ++i) {
    const int task = *scheduler->Pick();
    ++rounds[static_cast<std::size_t>(task)];
    scheduler->Update(task, {5e5, task == 0 ? 1.0 : 10.0});
  }
  EXPECT_GT(rounds[0], rounds[1]);
}

TEST(TaskScheduler, ExpectsLessTheLessItGained) {
  const auto scheduler = *MakeTaskScheduler("gain");
  scheduler->AddTask({2, 1000, 0});
  scheduler->AddTask({1, 1000, 1});
  scheduler->Update(0, {1000, 1});
  EXPECT_EQ(scheduler->ExpectedShare(), 1) << "a task had no round";
  scheduler->Update(1, {1000, 1});
  double last = scheduler->ExpectedShare();
  EXPECT_LT(last, 1);
  for (int round = 2; round < 8; ++round) {
    scheduler->Update(0, {1000, 1});
    scheduler->Update(1, {1000, 1});
    EXPECT_LT(scheduler->ExpectedShare(), last);
    last = scheduler->ExpectedShare();
  }
  EXPECT_LT(last, 0.01);
  scheduler->Update(0, {800, 1});
  EXPECT_GT(scheduler->ExpectedShare(), 0.02) << "it gained again";
  scheduler->Close(0);
  EXPECT_LT(scheduler->ExpectedShare(), 0.01) << "what is closed gains nothing";
  scheduler->Close(1);
  EXPECT_EQ(scheduler->ExpectedShare(), 0);
}

TEST(TaskScheduler, ClosedTasksAreNotPicked) {
  const auto scheduler = *MakeTaskScheduler("gain");
  scheduler->AddTask({1, 100, 0});
  scheduler->AddTask({1, 10, 0});
  scheduler->Close(0);
  EXPECT_EQ(scheduler->Pick(), 1);
  scheduler->Close(1);
  EXPECT_EQ(scheduler->Pick(), std::nullopt);
}

TEST(TaskScheduler, AnUnderTrainedFamilyCountsMore) {
  for (const double undertrained : {0.0, 0.5}) {
    GainOptions options;
    options.undertrained = undertrained;
    const auto scheduler = *MakeTaskScheduler("gain", options);
    scheduler->AddTask({1, 1000, 0});
    scheduler->AddTask({1, 1000, 1});
    std::vector<int> rounds(2);
    for (int i = 0; i < 30; ++i) {
      const int task = *scheduler->Pick();
      if (i >= 20) ++rounds[static_cast<std::size_t>(task)];
      scheduler->Update(task, {500, 1, task == 1 && i >= 20 ? 3.0 : 0.2});
    }
    if (undertrained > 0)
      EXPECT_GT(rounds[1], rounds[0]);
    else
      EXPECT_EQ(rounds[1], rounds[0]);
  }
}

TEST(TaskScheduler, RoundRobinTakesTurns) {
  const auto scheduler = *MakeTaskScheduler("round-robin");
  for (const double start : {100.0, 1e6, 1000.0}) scheduler->AddTask({1, start, 0});
  std::vector<int> rounds(3);
  for (int i = 0; i < 30; ++i) {
    const int task = *scheduler->Pick();
    ++rounds[static_cast<std::size_t>(task)];
    scheduler->Update(task, {10, 1});
  }
  EXPECT_EQ(rounds, std::vector<int>({10, 10, 10}));
}

// Values worked out by hand from the rule.
TEST(TaskScheduler, AnsorFollowsTheGradient) {
  const auto scheduler = *MakeTaskScheduler("ansor");
  scheduler->AddTask({1, 1000, 0});
  scheduler->AddTask({2, 1000, 1});
  for (const double best : {800.0, 600.0, 500.0, 400.0}) scheduler->Update(0, {best, 1});
  // -(0.2 * (400 - 800) / 3 - 0.8 * 400 / 4) = 106.7
  scheduler->Update(1, {100, 1});
  // 2 * 0.8 * 100 / 1 = 160
  EXPECT_EQ(scheduler->Pick(), 1);
  scheduler->Update(1, {100, 1});  // 2 * 0.8 * 100 / 2 = 80
  EXPECT_EQ(scheduler->Pick(), 0);
}

// Alone, task 0 falls from 100 to 90 in a round; with a sibling that needs 40 for the same work, to
// 80. Task 1: 3 * (0.2 * 0 + 0.8 * 40 / 10) = 9.6.
TEST(TaskScheduler, AnsorExpectsTheBestRateOfTheFamily) {
  for (const bool siblings : {false, true}) {
    const auto scheduler = *MakeTaskScheduler("ansor");
    scheduler->AddTask({1, 1000, 0, 1e3});
    scheduler->AddTask({3, 1000, siblings ? 0 : 1, 1e3});
    for (int i = 0; i < 10; ++i) {
      scheduler->Update(0, {100, 1});
      scheduler->Update(1, {40, 1});
    }
    EXPECT_EQ(scheduler->Pick(), siblings ? 0 : 1);  // 0.8 * 20 = 16, or 0.8 * 10 = 8
  }
}

TEST(TaskScheduler, OthersAreUnknown) {
  const auto made = MakeTaskScheduler("oracle");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::kBadInput);
}

TEST(ControlChart, IsSilentUntilItKnowsEnough) {
  ControlChart chart;
  for (std::size_t i = 0; i < ControlChart::kLeast; ++i) {
    EXPECT_FALSE(chart.Above(1e9));
    chart.Add(i % 2 == 0 ? 1 : 3);  // mean 2, deviation 1
  }
  EXPECT_FALSE(chart.Above(3.9));
  EXPECT_TRUE(chart.Above(4.1));
  for (std::size_t i = 0; i < ControlChart::kWindow; ++i) chart.Add(i % 2 == 0 ? 11 : 13);
  EXPECT_FALSE(chart.Above(13.9)) << "what is long past is forgotten";
}

}  // namespace
}  // namespace kindred
