// Times on other devices: noise is told from times that parameters explain, and what misleads is
// not followed for good.
#include "cost_model/internal/trends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "cost_model/configuration_model.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three parameters of eight values.
ParameterSpace Cube() {
  std::vector<TunableParameter> parameters;
  for (const char* name : {"a", "b", "c"}) {
    TunableParameter& parameter = parameters.emplace_back();
    parameter.name = name;
    for (std::int64_t i = 1; i <= 8; ++i) parameter.values.push_back(Value(i));
  }
  return ParameterSpace::Make(std::move(parameters), {}).value();
}

// log2(time) of each configuration.
std::vector<double> Times(const ParameterSpace& space) {
  std::vector<double> times;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const auto at = space.Configuration(i);
    times.push_back(10 + 0.2 * std::pow(at[0] - 5.0, 2) + 0.3 * std::fabs(at[1] - 2.0) +
                    (at[2] % 2 == 1 ? 0.5 : 0));
  }
  return times;
}

std::vector<double> Shuffled(std::vector<double> times) {
  Random random(3);
  for (std::size_t i = times.size(); i > 1; --i) std::swap(times[i - 1], times[random.Below(i)]);
  return times;
}

// Known at every `step`th configuration.
std::vector<double> Sparse(std::vector<double> times, std::size_t step) {
  for (std::size_t i = 0; i < times.size(); ++i)
    if (i % step != 0) times[i] = std::numeric_limits<double>::quiet_NaN();
  return times;
}

TEST(Trends, NoiseIsToldFromTimesThatParametersExplain) {
  const ParameterSpace space = Cube();
  const auto times = Times(space);
  EXPECT_FALSE(internal::IsNoise(space, times));
  EXPECT_FALSE(internal::IsNoise(space, Sparse(times, 3)));
  EXPECT_TRUE(internal::IsNoise(space, Shuffled(times)));
  EXPECT_TRUE(internal::IsNoise(space, Sparse(Shuffled(times), 3)));
}

TEST(Trends, OfAFewTimesNobodyCanTell) {
  const ParameterSpace space = Cube();
  EXPECT_FALSE(internal::IsNoise(space, Sparse(Shuffled(Times(space)), 10)));
  EXPECT_FALSE(internal::IsNoise(space, std::vector<double>(space.size(), 3.0)));
}

TEST(Trends, NoiseIsLeftOut) {
  const ParameterSpace space = Cube();
  const auto times = Times(space);
  EXPECT_THAT(internal::MakeTrends(space, {Shuffled(times), times}), SizeIs(1));
  EXPECT_THAT(internal::MostPromising(internal::MakeTrends(space, {Shuffled(times)})), IsEmpty());
}

// Trains on `count` configurations spread over the space.
void Measure(const ParameterSpace& space, std::size_t count, ConfigurationModel& model) {
  const auto times = Times(space);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t configuration = i * 197 % space.size();
    model.Add(configuration, std::exp2(times[configuration]));
  }
  model.Train();
}

TEST(Trends, TimesThatRankTheOtherWayRoundAreDropped) {
  const ParameterSpace space = Cube();
  auto times = Times(space);
  ConfigurationModel good(space, 1, {times});
  for (double& time : times) time = -time;
  ConfigurationModel bad(space, 1, {times});
  Measure(space, 30, good);
  Measure(space, 30, bad);
  EXPECT_TRUE(good.FollowsOthers());
  EXPECT_FALSE(good.promising().empty());
  EXPECT_FALSE(bad.FollowsOthers());
  EXPECT_THAT(bad.promising(), IsEmpty());
}

TEST(Trends, WithoutThemAModelIsAsIfThereHadBeenNone) {
  const ParameterSpace space = Cube();
  ConfigurationModel cold(space, 1), misled(space, 1, {Shuffled(Times(space))});
  Measure(space, 30, cold);
  Measure(space, 30, misled);
  const std::size_t asked[] = {1, 100, 500};
  const auto expected = cold.Beliefs(asked), beliefs = misled.Beliefs(asked);
  for (std::size_t chain = 0; chain < expected.size(); ++chain)
    for (std::size_t i = 0; i < std::size(asked); ++i)
      EXPECT_EQ(beliefs[chain][i].mean, expected[chain][i].mean);
}

}  // namespace
}  // namespace kindred
