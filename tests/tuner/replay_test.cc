// Searches over a recorded space: what they promise, and that they learn.
#include "tuner/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "search/configuration_searcher.h"

namespace kindred {
namespace {

using testing::HasSubstr;

// A made-up kernel: good where the block is wide and the tile fits, with one narrow best place and
// a broad second one; large blocks with large tiles fail.
Recording MadeUp(std::initializer_list<int> tiles) {
  Recording recording;
  recording.parameters = {{"block_x", {}}, {"block_y", {}}, {"tile", {}}, {"unroll", {}}};
  for (const int x : {16, 32, 48, 64, 96, 128, 192, 256})
    recording.parameters[0].values.emplace_back(x);
  for (const int y : {1, 2, 4, 8}) recording.parameters[1].values.emplace_back(y);
  for (const int tile : tiles) recording.parameters[2].values.emplace_back(tile);
  for (const int unroll : {0, 1}) recording.parameters[3].values.emplace_back(unroll);
  const auto sizes = [&](std::size_t p) {
    return static_cast<std::uint16_t>(recording.parameters[p].values.size());
  };
  for (std::uint16_t x = 0; x < sizes(0); ++x)
    for (std::uint16_t y = 0; y < sizes(1); ++y)
      for (std::uint16_t t = 0; t < sizes(2); ++t)
        for (std::uint16_t u = 0; u < sizes(3); ++u) {
          const double bx = recording.parameters[0].values[x].Number();
          const double by = recording.parameters[1].values[y].Number();
          const double tile = recording.parameters[2].values[t].Number();
          RecordedTrial& trial = recording.trials.emplace_back();
          trial.configuration = {x, y, t, u};
          const double threads = std::log2(bx * by / 256), work = std::log2(tile / 4);
          trial.ms = 1 + 0.2 * threads * threads + 0.3 * work * work + (u == 0 ? 0.15 : 0) +
                     (std::fmod(bx, 32) != 0 ? 0.4 : 0);
          if (bx == 64 && by == 8 && tile == 2 && u == 1) trial.ms = 0.9;
          if (bx * by * tile > 8192) {
            trial.ms = 0;
            trial.failure = "RuntimeFailedConfig";
          }
        }
  return recording;
}

RecordedSpace Made(const Recording& recording) {
  auto space = MakeRecordedSpace(recording, std::nullopt);
  EXPECT_TRUE(space);
  return std::move(*space);
}

class EveryReplay : public testing::TestWithParam<const char*> {};

TEST_P(EveryReplay, AsksNothingTwiceAndFindsTheOptimumOfASmallSpace) {
  const RecordedSpace recorded = Made(MadeUp({2}));
  ASSERT_EQ(recorded.space.size(), 64u);
  const auto searcher = MakeConfigurationSearcher(GetParam(), recorded.space, 3);
  ASSERT_TRUE(searcher);
  std::set<std::size_t> seen;
  for (;;) {
    const auto batch = (*searcher)->Propose(7);
    if (batch.empty()) break;
    std::vector<Outcome> outcomes(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto index = recorded.space.IndexOf(batch[i].path);
      ASSERT_TRUE(index);
      EXPECT_TRUE(seen.insert(*index).second);
      outcomes[i].median_ns = recorded.ms[*index] * 1e6;
      if (recorded.ms[*index] == 0) outcomes[i].status = Status::kCrash;
    }
    (*searcher)->Observe(batch, outcomes);
  }
  EXPECT_EQ(seen.size(), recorded.space.size());
  const auto run = Replay(recorded, {.searcher = GetParam(), .budget = 200}, 1);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ratio.size(), 64u);
  EXPECT_EQ(run->ratio.back(), 1);
}

TEST_P(EveryReplay, TheSameSeedDecidesTheSame) {
  const RecordedSpace recorded = Made(MadeUp({1, 2, 4, 8, 16, 32}));
  const auto once = Replay(recorded, {.searcher = GetParam(), .budget = 30}, 5),
             again = Replay(recorded, {.searcher = GetParam(), .budget = 30}, 5),
             other = Replay(recorded, {.searcher = GetParam(), .budget = 30}, 6);
  ASSERT_TRUE(once && again && other);
  EXPECT_EQ(once->ratio, again->ratio);
  EXPECT_NE(once->ratio, other->ratio);
}

TEST_P(EveryReplay, GoesOnWhereNothingButFailuresWasSeen) {
  Recording recording = MadeUp({1, 2, 4});
  for (RecordedTrial& trial : recording.trials)
    if (trial.configuration != std::vector<std::uint16_t>{4, 1, 1, 1}) trial.ms = 0;
  const auto run = Replay(Made(recording), {.searcher = GetParam(), .budget = 192}, 1);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->ratio.size(), 192u);
  EXPECT_EQ(run->ratio.front(), 0);
  EXPECT_EQ(run->ratio.back(), 1);
}

INSTANTIATE_TEST_SUITE_P(Searchers, EveryReplay,
                         testing::Values("surrogate", "mcts", "evolution", "random"));

TEST(ReplayTest, LearningNeedsFewerEvaluationsThanChance) {
  const RecordedSpace recorded = Made(MadeUp({1, 2, 3, 4, 5, 6, 7, 8}));
  const auto median = [&](const char* searcher) {
    std::vector<ReplayRun> runs;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      auto run = Replay(recorded, {.searcher = searcher, .budget = 50}, seed);
      EXPECT_TRUE(run);
      runs.push_back(std::move(*run));
    }
    return MedianRatio(runs, 50);
  };
  EXPECT_LT(median("surrogate") + 0.02, median("random"));
}

TEST(ReplayTest, UnknownSearchersAreNamed) {
  const auto run = Replay(Made(MadeUp({1})), {.searcher = "dowsing", .budget = 10}, 1);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, testing::AllOf(HasSubstr("dowsing"), HasSubstr("surrogate")));
}

TEST(ReplayTest, WithADescriptionItsConfigurationsAreLegal) {
  Recording recording = MadeUp({1, 2});
  recording.trials.erase(recording.trials.begin());  // a configuration that nobody measured
  T1Space spec{recording.parameters, {"block_x >= 64 or (block_x == 16 and block_y == 1)"}};
  const auto recorded = MakeRecordedSpace(recording, spec);
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_EQ(recorded->space.size(), 5u * 4 * 2 * 2 + 4);
  EXPECT_EQ(recorded->recorded, recorded->space.size() - 1);
  EXPECT_EQ(recorded->ms[0], 0);
  spec.parameters.pop_back();
  const auto fewer = MakeRecordedSpace(recording, spec);
  ASSERT_FALSE(fewer);
  EXPECT_THAT(fewer.error().message, HasSubstr("'unroll' of the recording"));
}

TEST(ReplayTest, ARecordingOfFailuresIsRefused) {
  Recording recording = MadeUp({1});
  for (RecordedTrial& trial : recording.trials) trial.ms = 0;
  const auto recorded = MakeRecordedSpace(recording, std::nullopt);
  ASSERT_FALSE(recorded);
  EXPECT_THAT(recorded.error().message, HasSubstr("every configuration"));
}

TEST(ReplayTest, MediansCountRunsWithoutAResultAsWorst) {
  EXPECT_EQ(MedianRatio({{1, {0, 3, 2}}, {2, {4, 4, 4}}, {3, {5}}}, 2), 4);
  EXPECT_EQ(MedianRatio({{1, {0, 0}}, {2, {0, 0}}, {3, {1, 1}}}, 2), 0);
  EXPECT_EQ(MedianRatio({{1, {2}}, {2, {3}}}, 1), 2.5);
}

// Median ratio of three runs that know what another device's recording says.
double MedianWith(const RecordedSpace& recorded, const TimesElsewhere& elsewhere, int budget) {
  std::vector<ReplayRun> runs;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    auto run = Replay(recorded, {.budget = budget, .elsewhere = elsewhere}, seed);
    EXPECT_TRUE(run);
    runs.push_back(std::move(*run));
  }
  return MedianRatio(runs, static_cast<std::size_t>(budget));
}

TEST(ReplayTest, AnotherDevicesTimesHelp) {
  const Recording recording = MadeUp({1, 2, 3, 4, 5, 6, 7, 8});
  const RecordedSpace recorded = Made(recording);
  // The other device is slower, cares less for the block, and knows nothing of the narrow optimum.
  Recording other = recording;
  for (RecordedTrial& trial : other.trials)
    if (trial.ms > 0) trial.ms = 3 * std::pow(std::max(trial.ms, 1.0), 0.7);
  const auto times = TimesOf(other, recorded.space);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_LT(MedianWith(recorded, {*times}, 6), MedianWith(recorded, {}, 6) - 0.05);
}

TEST(ReplayTest, MisleadingTimesArePutAside) {
  const Recording recording = MadeUp({1, 2, 3, 4, 5, 6, 7, 8});
  const RecordedSpace recorded = Made(recording);
  Recording other = recording;
  for (std::size_t i = 0; i < other.trials.size(); ++i)
    other.trials[i].ms = recording.trials[i * 211 % other.trials.size()].ms;
  const auto times = TimesOf(other, recorded.space);
  ASSERT_TRUE(times);
  EXPECT_LE(MedianWith(recorded, {*times}, 40), MedianWith(recorded, {}, 40) + 0.03);
}

TEST(ReplayTest, OtherDevicesMayHaveOtherConfigurations) {
  const RecordedSpace recorded = Made(MadeUp({1, 2, 4}));
  const auto times = TimesOf(MadeUp({2, 8, 128}), recorded.space);
  ASSERT_TRUE(times) << times.error().message;
  std::size_t known = 0;
  for (std::size_t i = 0; i < recorded.space.size(); ++i) {
    if (!std::isnan((*times)[i])) ++known;
  }
  EXPECT_EQ(known, recorded.space.size() / 3);
  const auto nothing = TimesOf(MadeUp({128}), recorded.space);
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("no time of any configuration"));
  Recording unlike = MadeUp({1});
  unlike.parameters[3].name = "vector";
  const auto refused = TimesOf(unlike, recorded.space);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'unroll' of the space is not in the recording"));
}

TEST(ReplayTest, NoiseDrawsSamplesAndIsJudgedByTheMean) {
  Recording recording = MadeUp({1, 2, 4});
  for (RecordedTrial& trial : recording.trials)
    if (trial.ms > 0) trial.samples_ms = {trial.ms * 0.5, trial.ms * 1.5};
  const RecordedSpace recorded = Made(recording);
  const ReplayOptions noise = {.searcher = "random", .budget = 192, .noise = true};
  const auto quiet = Replay(recorded, {.searcher = "random", .budget = 192}, 1),
             noisy = Replay(recorded, noise, 1), again = Replay(recorded, noise, 1);
  ASSERT_TRUE(quiet && noisy && again);
  EXPECT_EQ(noisy->ratio, again->ratio);
  EXPECT_NE(noisy->ratio, quiet->ratio);
  EXPECT_EQ(quiet->ratio.back(), 1);
  for (const double ratio : noisy->ratio) EXPECT_TRUE(ratio == 0 || ratio >= 1);
}

}  // namespace
}  // namespace kindred
