#include "cost_model/booster.h"

#include <gtest/gtest.h>

#include <cmath>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

// y = step function of two features, over a margin of the third.
TrainingRows Rows(std::size_t count, std::uint64_t seed) {
  TrainingRows rows;
  rows.columns = 3;
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const double a = random.Uniform(), b = random.Uniform(), margin = 10 * random.Uniform();
    rows.features.insert(rows.features.end(), {static_cast<float>(a), static_cast<float>(b),
                                               static_cast<float>(margin)});
    rows.margins.push_back(static_cast<float>(margin));
    rows.labels.push_back(static_cast<float>(margin + (a > 0.5 ? 2 : 0) + (b > 0.3 ? -1 : 0)));
  }
  return rows;
}

double MeanError(const Booster& booster, const TrainingRows& rows) {
  std::vector<double> margins(rows.margins.begin(), rows.margins.end());
  EXPECT_TRUE(booster.AddTo(rows.features, rows.columns, margins));
  double error = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i)
    error += std::abs(margins[i] - static_cast<double>(rows.labels[i]));
  return error / static_cast<double>(rows.rows());
}

TEST(Booster, LearnsWhatTheMarginLacks) {
  Booster booster;
  const TrainingRows test = Rows(200, 2);
  EXPECT_GT(MeanError(booster, test), 0.7);  // empty: the margin alone
  ASSERT_TRUE(booster.Train(Rows(500, 1), {}));
  EXPECT_LT(MeanError(booster, test), 0.15);
}

TEST(Booster, SameRowsAndSeedSameModel) {
  Booster first, second, third;
  ASSERT_TRUE(first.Train(Rows(300, 1), {}));
  ASSERT_TRUE(second.Train(Rows(300, 1), {}));
  ASSERT_TRUE(third.Train(Rows(300, 1), {.seed = 9}));
  EXPECT_EQ(*first.Save(), *second.Save());
  EXPECT_NE(*first.Save(), *third.Save());
}

TEST(Booster, SavesAndLoads) {
  Booster booster;
  ASSERT_TRUE(booster.Train(Rows(300, 1), {}));
  const Result<std::string> blob = booster.Save();
  ASSERT_TRUE(blob);
  Result<Booster> loaded = Booster::Load(*blob);
  ASSERT_TRUE(loaded);
  const TrainingRows test = Rows(100, 3);
  std::vector<double> a(100, 0), b(100, 0);
  ASSERT_TRUE(booster.AddTo(test.features, 3, a));
  ASSERT_TRUE(loaded->AddTo(test.features, 3, b));
  EXPECT_EQ(a, b);
  EXPECT_TRUE(Booster::Load("")->empty());
}

// Bit by bit, also where features are missing.
TEST(Booster, SaysWhatXgboostsPredictorSays) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Booster booster;
    ASSERT_TRUE(booster.Train(Rows(400, seed), {.seed = seed}));
    ASSERT_TRUE(FlatTrees::FromUbjson(*booster.Save()));
    TrainingRows test = Rows(101, seed + 10);
    for (const bool holes : {false, true}) {
      if (holes)
        for (std::size_t i = 0; i < test.features.size(); i += 7)
          test.features[i] = i % 2 == 0 ? -1e30f : std::nanf("");
      std::vector<double> ours(101, 0.25), theirs(101, 0.25);
      ASSERT_TRUE(booster.AddTo(test.features, 3, ours));
      ASSERT_TRUE(booster.AddToByXgboost(test.features, 3, theirs));
      EXPECT_EQ(ours, theirs);
      EXPECT_NE(ours[5], 0.25);
    }
  }
}

TEST(Booster, RefusesBadRowsWithXgboostsMessage) {
  Booster booster;
  TrainingRows rows = Rows(100, 1);
  rows.labels.pop_back();  // fewer labels than margins
  const Result<void> result = booster.Train(rows, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(result.error().message.find("XGBoost"), std::string::npos);
  EXPECT_TRUE(booster.empty());
}

TEST(Booster, ManyRowsInOneCallEqualOneByOne) {
  Booster booster;
  ASSERT_TRUE(booster.Train(Rows(300, 1), {}));
  const TrainingRows test = Rows(50, 4);
  std::vector<double> all(50, 0);
  ASSERT_TRUE(booster.AddTo(test.features, 3, all));
  for (std::size_t i = 0; i < 50; ++i) {
    double one = 0;
    ASSERT_TRUE(booster.AddTo(std::span(test.features).subspan(3 * i, 3), 3, {&one, 1}));
    EXPECT_EQ(one, all[i]);
  }
}

}  // namespace
}  // namespace kindred
