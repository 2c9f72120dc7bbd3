#include "cost_model/evaluate.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kindred {
namespace {

TEST(Evaluate, PerfectAndReversed) {
  const std::vector<double> times = {5, 1, 4, 2, 3}, reversed = {1, 5, 2, 4, 3};
  EXPECT_EQ(TopRecall(times, times, 2), 1);
  EXPECT_EQ(BestOfRatio(times, times, 1), 1);
  EXPECT_DOUBLE_EQ(RankCorrelation(times, times), 1);
  EXPECT_EQ(TopRecall(reversed, times, 2), 0);
  EXPECT_EQ(BestOfRatio(reversed, times, 1), 0.2);
  EXPECT_EQ(BestOfRatio(reversed, times, 5), 1);
  EXPECT_DOUBLE_EQ(RankCorrelation(reversed, times), -1);
}

TEST(Evaluate, FailuresTiesAndFewCandidates) {
  const double failed = std::numeric_limits<double>::infinity();
  EXPECT_EQ(BestOfRatio(std::vector<double>{1, 2}, std::vector<double>{failed, 4}, 1), 0);
  EXPECT_EQ(BestOfRatio(std::vector<double>{1, 2}, std::vector<double>{failed, 4}, 2), 1);
  EXPECT_EQ(TopRecall(std::vector<double>{1, 2}, std::vector<double>{1, 2}, 8), 1);
  EXPECT_EQ(RankCorrelation(std::vector<double>{7, 7, 7}, std::vector<double>{1, 2, 3}), 0);
}

}  // namespace
}  // namespace kindred
