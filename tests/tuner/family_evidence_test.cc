// Families are corrected where their members' times say so, and only there.
#include "tuner/family_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three features; the prior knows the first; the second says what `sign` makes of it.
TaskSamples Samples(std::uint64_t seed, double sign, std::size_t count = 60) {
  Random random(seed);
  TaskSamples samples;
  samples.columns = 3;
  for (std::size_t i = 0; i < count; ++i) {
    double x[3];
    for (double& value : x) {
      value = random.Uniform();
      samples.features.push_back(static_cast<float>(value));
    }
    samples.priors.push_back(x[0]);
    samples.speeds.push_back(x[0] + sign * 2 * x[1]);
  }
  return samples;
}

Family Make(const std::string& id, std::vector<int> members, const std::string& structure = "s") {
  Family family;
  family.id = id;
  family.structure = HashOf(structure);
  family.members = std::move(members);
  return family;
}

TEST(FamilyEvidence, LeavesOneShapeOut) {
  const TaskSamples a = Samples(1, 1), b = Samples(2, 1), few = Samples(3, 1, 10);
  const TaskSamples* members[] = {&a, &b, &few};
  const auto qualities = LeaveOneShapeOut(members);
  ASSERT_TRUE(qualities);
  EXPECT_GT((*qualities)[0]->taught, 0.9);
  EXPECT_LT((*qualities)[0]->prior, 0.7);
  EXPECT_FALSE((*qualities)[2]) << "too few samples";
}

TEST(FamilyEvidence, MembersThatMisleadEachOtherStandApart) {
  const std::vector<TaskSamples> samples = {Samples(1, 1), Samples(2, -1), Samples(3, 1),
                                            Samples(4, -1), Samples(5, 1)};
  const Family families[] = {Make("f.0", {0, 1, 2, 3, 4})};
  const auto verdict = JudgeFamilies(families, samples, std::vector<int>(5, 0));
  ASSERT_TRUE(verdict);
  ASSERT_THAT(verdict->changes, SizeIs(1));
  EXPECT_TRUE(verdict->changes[0].split);
  EXPECT_THAT(verdict->changes[0].moved, ElementsAre(1, 3));
  EXPECT_LT(verdict->changes[0].quality.taught, verdict->changes[0].quality.prior);
  EXPECT_EQ(verdict->cohorts[0], verdict->cohorts[2]);
  EXPECT_EQ(verdict->cohorts[1], verdict->cohorts[3]);
  EXPECT_NE(verdict->cohorts[0], verdict->cohorts[1]);
}

TEST(FamilyEvidence, WhoeverServesEachOtherIsLeftAlone) {
  const std::vector<TaskSamples> samples = {Samples(1, 1), Samples(2, 1), Samples(3, 1, 5)};
  const Family families[] = {Make("f.0", {0, 1, 2})};
  const auto verdict = JudgeFamilies(families, samples, {0, 0, 0});
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->changes, IsEmpty());
  EXPECT_THAT(verdict->cohorts, ElementsAre(0, 0, 0));
}

TEST(FamilyEvidence, FamiliesThatServeEachOtherMerge) {
  const std::vector<TaskSamples> samples = {Samples(1, 1), Samples(2, 1), Samples(3, -1),
                                            Samples(4, 1)};
  const Family families[] = {Make("f.0", {0}), Make("f.1", {1}), Make("f.2", {2}),
                             Make("g.0", {3}, "another structure")};
  const auto verdict = JudgeFamilies(families, samples, {0, 0, 0, 0});
  ASSERT_TRUE(verdict);
  ASSERT_THAT(verdict->changes, SizeIs(1));
  EXPECT_FALSE(verdict->changes[0].split);
  EXPECT_THAT(verdict->changes[0].before, ElementsAre("f.0", "f.1"));
  EXPECT_THAT(verdict->cohorts, ElementsAre(1, 1, 0, 0));
}

TEST(FamilyEvidence, WhatAPersonSaidStays) {
  const std::vector<TaskSamples> samples = {Samples(1, 1), Samples(2, -1), Samples(3, 1)};
  const Family mixed[] = {Make("f.0", {0, 1, 2})};
  const auto pinned = JudgeFamilies(mixed, samples, {4, 4, 4});
  ASSERT_TRUE(pinned);
  EXPECT_THAT(pinned->changes, IsEmpty());
  const Family parted[] = {Make("f.0", {0}), Make("f.1", {2})};
  const auto apart = JudgeFamilies(parted, samples, {1, 0, 2});
  ASSERT_TRUE(apart);
  EXPECT_THAT(apart->changes, IsEmpty());
}

}  // namespace
}  // namespace kindred
