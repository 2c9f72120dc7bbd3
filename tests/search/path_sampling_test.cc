#include "search/path_sampling.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/search/synthetic_space.h"

namespace kindred {
namespace {

using test::SyntheticSpace;

TEST(PathSampler, RetiringEveryPathExhausts) {
  const SyntheticSpace space(1);
  PathSampler sampler(space);
  Random random(1);
  std::set<std::vector<std::uint64_t>> seen;
  while (std::optional<SampledPath> path = sampler.DrawRandom(random)) {
    EXPECT_TRUE(seen.insert(path->marks).second);
    sampler.Retire(*path);
  }
  EXPECT_TRUE(sampler.exhausted());
  EXPECT_EQ(seen.size(), space.All().size());
}

TEST(PathSampler, ReviveUndoesRetire) {
  const SyntheticSpace space(1);
  PathSampler sampler(space);
  Random random(1);
  std::vector<SampledPath> retired;
  while (std::optional<SampledPath> path = sampler.DrawRandom(random)) {
    sampler.Retire(*path);
    retired.push_back(std::move(*path));
  }
  const SampledPath back = retired[100];
  sampler.Revive(back);
  EXPECT_FALSE(sampler.exhausted());
  const std::optional<SampledPath> drawn = sampler.DrawRandom(random);
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->path, back.path);
}

TEST(PathSampler, MutationChangesOneDecisionAndWhatItForbids) {
  const SyntheticSpace space(1);
  PathSampler sampler(space);
  Random random(2);
  std::map<std::string, int> changed;
  for (int i = 0; i < 2000; ++i) {
    const std::optional<SampledPath> parent = sampler.DrawRandom(random);
    const std::optional<SampledPath> child = sampler.Mutate(*parent, random);
    ASSERT_TRUE(parent && child);
    EXPECT_NE(parent->path, child->path);
    if (parent->path.size() != child->path.size()) continue;  // another sketch
    int differ = 0;
    for (std::size_t d = 0; d < parent->path.size(); ++d)
      if (parent->path[d] != child->path[d]) {
        ++differ;
        changed[parent->path[d].decision]++;
      }
    EXPECT_LE(differ, 2);  // rows may force other columns
  }
  EXPECT_EQ(changed.size(), 7u);  // every decision but the sketch, which changes the length
}

TEST(PathSampler, CrossingTakesFromBoth) {
  const SyntheticSpace space(1);
  PathSampler sampler(space);
  const std::vector<Path> all = space.All();
  const std::optional<SampledPath> a = sampler.Exact(all[100]);
  const std::optional<SampledPath> b = sampler.Exact(all[all.size() - 200]);
  ASSERT_TRUE(a && b);
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const std::optional<SampledPath> child = sampler.Cross(*a, *b, random);
    ASSERT_TRUE(child);
    EXPECT_FALSE(space.Next(child->path));
  }
}

TEST(PathSampler, ExactRefusesWhatIsNotOffered) {
  const SyntheticSpace space(1);
  PathSampler sampler(space);
  Path path = space.All()[50];
  EXPECT_TRUE(sampler.Exact(path));
  path.back().value = 99;
  path.back().label = "icc";
  EXPECT_FALSE(sampler.Exact(path));
  path.pop_back();
  EXPECT_FALSE(sampler.Exact(path));  // incomplete
}

TEST(Similarity, CountsCommonChoices) {
  const std::vector<std::uint64_t> a = {1, 2, 3, 4}, b = {1, 2, 5, 4}, c = {1, 4};
  EXPECT_DOUBLE_EQ(Similarity(a, a), 1);
  EXPECT_DOUBLE_EQ(Similarity(a, b), 0.75);
  EXPECT_DOUBLE_EQ(Similarity(a, c), 0.5);
}

}  // namespace
}  // namespace kindred
