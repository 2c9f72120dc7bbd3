#include "tuner/final_race.h"

#include <gtest/gtest.h>

namespace kindred {
namespace {

// Ten samples around a median, 1% apart at most.
std::vector<double> Around(double median) {
  std::vector<double> samples;
  for (int i = 0; i < 5; ++i) {
    samples.push_back(median * (1 + 0.001 * i));
    samples.push_back(median * (1 - 0.001 * i));
  }
  return samples;
}

TEST(FinalRace, TheWinnerHasTheLeastPooledMedian) {
  FinalRace race;
  const std::size_t a = race.Enter(), b = race.Enter();
  race.Add(a, 0, {100, 101, 102});
  race.Add(b, 0, {90, 91, 120});  // lucky at first
  EXPECT_EQ(race.Winner(), b);
  race.Add(a, 1, {100, 101, 102});
  race.Add(b, 1, {120, 121, 122});
  EXPECT_EQ(race.Winner(), a);
  EXPECT_EQ(race.samples(b).size(), 6u);
  EXPECT_EQ(race.MedianNs(b), 120);
  EXPECT_EQ(race.passes(b), 2);
}

TEST(FinalRace, OnePassSettlesNothing) {
  FinalRace race;
  race.Add(race.Enter(), 0, Around(100));
  EXPECT_TRUE(race.Settled()) << "there is only one";
  race.Add(race.Enter(), 0, Around(200));
  EXPECT_FALSE(race.Settled());
}

TEST(FinalRace, WhatMeetsAllAlikeDoesNotCount) {
  FinalRace race;
  const std::size_t a = race.Enter(), b = race.Enter();
  int pass = 0;
  for (const double machine : {1.0, 1.4, 0.9}) {  // far more than what lies between them
    race.Add(a, pass, Around(100 * machine));
    race.Add(b, pass++, Around(103 * machine));
  }
  EXPECT_TRUE(race.Settled());
  EXPECT_EQ(race.Winner(), a);
}

TEST(FinalRace, WhatChangesPlacesStaysOpen) {
  FinalRace race;
  const std::size_t a = race.Enter(), b = race.Enter();
  int pass = 0;
  for (const double ratio : {1.05, 0.97, 1.04, 0.96}) {
    race.Add(a, pass, Around(100));
    race.Add(b, pass++, Around(100 * ratio));
    EXPECT_FALSE(race.Settled()) << pass;
  }
}

TEST(FinalRace, EqualsAreSettled) {
  FinalRace race;
  const std::size_t a = race.Enter(), b = race.Enter();
  int pass = 0;
  while (pass < 6) {
    race.Add(a, pass, Around(100));
    race.Add(b, pass++, Around(100.01));
  }
  EXPECT_TRUE(race.Settled());
}

TEST(FinalRace, WhoFailsCannotWin) {
  FinalRace race;
  const std::size_t a = race.Enter(), b = race.Enter();
  race.Add(a, 0, Around(50));
  race.Add(b, 0, Around(100));
  race.Fail(a);
  EXPECT_TRUE(race.Settled());
  EXPECT_EQ(race.Winner(), b);
  EXPECT_EQ(race.Running(), std::vector<std::size_t>{b});
  race.Fail(b);
  EXPECT_TRUE(race.Running().empty());
}

// Who comes late is compared in the passes that both had.
TEST(FinalRace, LateContendersCount) {
  FinalRace race;
  const std::size_t a = race.Enter(), b = race.Enter();
  race.Add(a, 0, Around(100));
  race.Add(b, 0, Around(110));
  race.Add(a, 1, Around(100));
  race.Add(b, 1, Around(110));
  EXPECT_TRUE(race.Settled());
  const std::size_t c = race.Enter();
  EXPECT_FALSE(race.Settled());
  for (const int pass : {2, 3}) {
    race.Add(a, pass, Around(100));
    race.Add(c, pass, Around(80));
  }
  EXPECT_EQ(race.Winner(), c);
  EXPECT_FALSE(race.Settled()) << "c and b never ran side by side";
}

}  // namespace
}  // namespace kindred
