#include <gtest/gtest.h>

#include "search/internal/batch.h"
#include "search/mcts/params.h"
#include "search/mcts/tree.h"
#include "tests/search/synthetic_space.h"

namespace kindred {
namespace {

using test::BlindModel;
using test::Measure;
using test::NoisyModel;
using test::SyntheticSpace;
using test::TrialsToReach;

// The search's signature: a change here is a change of the search, meant or not (compare
// Stockfish's bench).
TEST(Mcts, Signature) {
  const SyntheticSpace space(42);
  const NoisyModel model(space, 0.5);
  const auto searcher = MakeMctsSearcher(space, model, 1);
  std::string text;
  for (int round = 0; round < 12; ++round) {
    const std::vector<Candidate> batch = searcher->Propose(16);
    for (const Candidate& candidate : batch) text += candidate.key.Hex();
    searcher->Observe(batch, Measure(space, batch));
  }
  EXPECT_EQ(HashOf(text).Hex(), "1b3ee29e87b805ec91fa347eec038f4e");
}

double MeanTrials(const char* name, const CostModel* blind, double noise, int batch) {
  double sum = 0;
  constexpr int kSeeds = 12;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const SyntheticSpace space(static_cast<std::uint64_t>(100 + seed));
    const NoisyModel noisy(space, noise);
    const CostModel& model = blind ? *blind : noisy;
    auto searcher = MakeSearcher(name, space, model, static_cast<std::uint64_t>(seed));
    sum += TrialsToReach(**searcher, space, 0.05, batch, 2000);
  }
  return sum / kSeeds;
}

TEST(Mcts, NeedsFarFewerTrialsThanRandomWithANoisyModel) {
  const double mcts = MeanTrials("mcts", nullptr, 1, 8),
               random = MeanTrials("random", nullptr, 1, 8);
  EXPECT_LT(mcts, random / 4) << "mcts " << mcts << ", random " << random;
  RecordProperty("mcts", static_cast<int>(mcts));
  RecordProperty("random", static_cast<int>(random));
  RecordProperty("evolution", static_cast<int>(MeanTrials("evolution", nullptr, 1, 8)));
}

TEST(Mcts, NeedsFewerTrialsThanRandomWithNoModelAtAll) {
  const BlindModel blind;
  const double mcts = MeanTrials("mcts", &blind, 0, 8), random = MeanTrials("random", &blind, 0, 8);
  EXPECT_LT(mcts, random / 2) << "mcts " << mcts << ", random " << random;
  RecordProperty("mcts", static_cast<int>(mcts));
  RecordProperty("random", static_cast<int>(random));
  RecordProperty("evolution", static_cast<int>(MeanTrials("evolution", &blind, 0, 8)));
}

TEST(Mcts, ParametersAreCheckedAndNamed) {
  MctsParameters parameters;
  EXPECT_TRUE(SetParameter<MctsParameters>(parameters, kMctsParameters, "exploration", 2));
  EXPECT_EQ(parameters.exploration, 2);
  EXPECT_FALSE(SetParameter<MctsParameters>(parameters, kMctsParameters, "exploration", -1));
  EXPECT_FALSE(SetParameter<MctsParameters>(parameters, kMctsParameters, "leaves_at_once", 1.5));
  const auto unknown = SetParameter<MctsParameters>(parameters, kMctsParameters, "speed", 1);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("prior_noise"), std::string::npos);
  for (const auto& spec : kMctsParameters) {
    const MctsParameters defaults;
    EXPECT_GE(defaults.*(spec.field), spec.low) << spec.name;
    EXPECT_LE(defaults.*(spec.field), spec.high) << spec.name;
  }
}

TEST(Mcts, ScoresFewCandidatesPerProposal) {
  const SyntheticSpace space(2);
  const NoisyModel model(space, 0.5);
  const auto searcher = MakeMctsSearcher(space, model, 1);
  for (int round = 0; round < 5; ++round) {
    const std::vector<Candidate> batch = searcher->Propose(16);
    searcher->Observe(batch, Measure(space, batch));
  }
  EXPECT_LE(model.predicted, 5 * 16 * 13);
  EXPECT_LE(space.lowered, 5 * 16 * 2 * 13);
}

TEST(Tree, SelectsWhatPaysAndClosesWhatIsDone) {
  const SyntheticSpace space(1);
  PathSampler sampler(space);
  Policy policy;
  const MctsParameters parameters;
  Tree tree(sampler, policy, parameters, 1);
  const std::vector<Path> all = space.All();
  for (const Path& path : all)  // sketch 0 pays
    if (path[0].value != 0 && path[1].value == 1) tree.Insert(*sampler.Exact(path), 0.1, false);
  tree.Insert(*sampler.Exact(all[0]), 0.9, false);
  const auto first = tree.Select();
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)[0], 0);
  // Visits in flight drive the selection on to other leaves.
  std::set<std::vector<std::uint16_t>> prefixes = {*first};
  for (int i = 0; i < 5; ++i) prefixes.insert(*tree.Select());
  EXPECT_GT(prefixes.size(), 1u);
  for (const Path& path : all) tree.Close(*sampler.Exact(path));
  EXPECT_FALSE(tree.Select());
}

TEST(Reward, FallsToZeroAtEightTimesTheBest) {
  EXPECT_DOUBLE_EQ(Reward(100, 100), 1);
  EXPECT_NEAR(Reward(200, 100), 2.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(Reward(800, 100), 0);
  EXPECT_DOUBLE_EQ(Reward(5000, 100), 0);
  EXPECT_DOUBLE_EQ(Reward(0, 100), 0);
  EXPECT_DOUBLE_EQ(Reward(50, 100), 1);
}

}  // namespace
}  // namespace kindred
