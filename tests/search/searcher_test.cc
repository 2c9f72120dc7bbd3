// What every searcher promises: no repeats, exhaustion, determinism, exact resume, seeds first.
#include "search/searcher.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include "tests/search/synthetic_space.h"

namespace kindred {
namespace {

using test::BlindModel;
using test::Measure;
using test::NoisyModel;
using test::SyntheticSpace;

class EverySearcher : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Searcher> Make(const Space& space, const CostModel& model,
                                 std::uint64_t seed) const {
    Result<std::unique_ptr<Searcher>> searcher = MakeSearcher(GetParam(), space, model, seed);
    EXPECT_TRUE(searcher);
    return std::move(*searcher);
  }
};

std::string Text(const std::vector<Candidate>& candidates) {
  std::string text;
  for (const Candidate& candidate : candidates) text += candidate.key.Hex() + "\n";
  return text;
}

TEST_P(EverySearcher, FindsEverythingOnceAndThenStops) {
  const SyntheticSpace space(3, true);
  const NoisyModel model(space, 1);
  const auto searcher = Make(space, model, 1);
  const std::size_t programs = space.Programs();
  ASSERT_GT(programs, 1000u);
  std::unordered_set<Hash128> seen;
  bool short_before = false;
  for (;;) {
    const std::vector<Candidate> batch = searcher->Propose(200);
    EXPECT_LE(batch.size(), 200u);
    for (const Candidate& candidate : batch) EXPECT_TRUE(seen.insert(candidate.key).second);
    searcher->Observe(batch, Measure(space, batch));
    if (batch.empty()) break;
    EXPECT_FALSE(short_before) << "a short batch means that nothing is left";
    short_before = batch.size() < 200;
  }
  EXPECT_EQ(seen.size(), programs);
  const std::vector<Error> errors = searcher->TakeErrors();
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].message, "rows=3 does not lower");
  EXPECT_TRUE(searcher->TakeErrors().empty());
}

TEST_P(EverySearcher, ProposesOnlyLegalPaths) {
  const SyntheticSpace space(4);
  const NoisyModel model(space, 1);
  const auto searcher = Make(space, model, 5);
  for (int round = 0; round < 6; ++round) {
    const std::vector<Candidate> batch = searcher->Propose(16);
    ASSERT_EQ(batch.size(), 16u);
    for (const Candidate& candidate : batch) {
      Path prefix;
      for (const Choice& choice : candidate.path) {
        const std::optional<Decision> decision = space.Next(prefix);
        ASSERT_TRUE(decision);
        EXPECT_EQ(decision->name, choice.decision);
        EXPECT_NE(std::find(decision->options.begin(), decision->options.end(), choice.value),
                  decision->options.end());
        prefix.push_back(choice);
      }
      EXPECT_FALSE(space.Next(prefix));
    }
    searcher->Observe(batch, Measure(space, batch));
  }
}

TEST_P(EverySearcher, SameSeedAndOutcomesSameProposals) {
  const SyntheticSpace space(5);
  const NoisyModel model(space, 1);
  std::string texts[3];
  for (int run = 0; run < 3; ++run) {
    const auto searcher = Make(space, model, run == 2 ? 8 : 7);
    for (int round = 0; round < 8; ++round) {
      const std::vector<Candidate> batch = searcher->Propose(16);
      texts[run] += Text(batch);
      searcher->Observe(batch, Measure(space, batch));
    }
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0], texts[2]);
}

TEST_P(EverySearcher, GoesOnAfterResumeAsIfNeverStopped) {
  const SyntheticSpace space(6, true);
  const NoisyModel model(space, 1);
  const std::vector<Path> all = space.All();
  const std::vector<Path> seeds(all.begin() + 300, all.begin() + 312);
  const auto whole = Make(space, model, 7);
  whole->Seed(seeds);
  std::vector<Candidate> candidates;
  std::vector<Outcome> outcomes;
  for (int round = 0; round < 10; ++round) {
    // A searcher that is told all so far (in other portions) proposes what the uninterrupted one
    // does.
    const auto resumed = Make(space, model, 7);
    resumed->Seed(seeds);
    const std::size_t half = candidates.size() / 3;
    resumed->Observe(std::span(candidates).first(half), std::span(outcomes).first(half));
    resumed->Observe(std::span(candidates).subspan(half), std::span(outcomes).subspan(half));
    const std::vector<Candidate> batch = whole->Propose(16);
    EXPECT_EQ(Text(resumed->Propose(16)), Text(batch)) << "round " << round;
    const std::vector<Outcome> measured = Measure(space, batch);
    whole->Observe(batch, measured);
    candidates.insert(candidates.end(), batch.begin(), batch.end());
    outcomes.insert(outcomes.end(), measured.begin(), measured.end());
  }
}

TEST_P(EverySearcher, ProposesSeedsAfterItsFirstRoundAndRepairsThem) {
  const SyntheticSpace space(8);
  const BlindModel model;
  const auto searcher = Make(space, model, 1);
  std::vector<Path> seeds = {space.All()[777]};
  seeds.push_back({{"sketch", 1, "tiled"}, {"rows", 5, ""}, {"columns", 100, ""}});  // a sibling's
  const std::vector<Candidate> first = searcher->Propose(2);
  searcher->Observe(first, Measure(space, first));
  searcher->Seed(seeds);
  const std::vector<Candidate> batch = searcher->Propose(8);
  ASSERT_EQ(batch.size(), 8u);
  EXPECT_EQ(batch[0].path, seeds[0]);
  EXPECT_EQ(batch[1].path[0].value, 1);
  EXPECT_TRUE(batch[1].path[1].value == 4 || batch[1].path[1].value == 6);
}

TEST_P(EverySearcher, DoesNotRepeatWhatIsInFlight) {
  const SyntheticSpace space(9);
  const NoisyModel model(space, 1);
  const auto searcher = Make(space, model, 1);
  std::unordered_set<Hash128> seen;
  std::vector<std::vector<Candidate>> rounds;
  for (int round = 0; round < 12; ++round) {  // outcomes come three rounds late
    rounds.push_back(searcher->Propose(16));
    for (const Candidate& candidate : rounds.back()) EXPECT_TRUE(seen.insert(candidate.key).second);
    if (round >= 3)
      searcher->Observe(rounds[static_cast<std::size_t>(round) - 3],
                        Measure(space, rounds[static_cast<std::size_t>(round) - 3]));
  }
}

TEST_P(EverySearcher, BearsForeignAndFailedCandidates) {
  const SyntheticSpace space(10);
  const NoisyModel model(space, 1);
  const auto searcher = Make(space, model, 1);
  Candidate foreign;
  foreign.path = {{"no such decision", 5, ""}};
  foreign.key = HashOf("foreign");
  Outcome failed;
  failed.status = Status::kBuildError;
  searcher->Observe(std::span(&foreign, 1), std::span(&failed, 1));
  std::vector<Candidate> batch = searcher->Propose(16);
  ASSERT_EQ(batch.size(), 16u);
  searcher->Observe(batch, std::vector<Outcome>(16, failed));
  EXPECT_EQ(searcher->Propose(16).size(), 16u);
  EXPECT_TRUE(searcher->Propose(0).empty());
}

// A space without any decision has one program.
class SingleSpace final : public Space {
 public:
  std::optional<Decision> Next(const Path&) const override { return std::nullopt; }
  Result<Candidate> Lower(const Path& path) const override {
    return Candidate{path, HashOf("one"), nullptr};
  }
};

TEST_P(EverySearcher, SpaceOfOneProgram) {
  const SingleSpace space;
  const BlindModel model;
  const auto searcher = Make(space, model, 1);
  EXPECT_EQ(searcher->Propose(16).size(), 1u);
  EXPECT_TRUE(searcher->Propose(16).empty());
}

// A million paths, three programs: exhaustion is given up looking for, not proved.
class CollapsedSpace final : public Space {
 public:
  std::optional<Decision> Next(const Path& path) const override {
    if (path.size() == 6) return std::nullopt;
    return Decision{"d" + std::to_string(path.size()), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}};
  }
  Result<Candidate> Lower(const Path& path) const override {
    return Candidate{path, HashOf(std::to_string(path[0].value % 3)), nullptr};
  }
};

TEST_P(EverySearcher, TerminatesWhereAlmostAllPathsAreEqual) {
  const CollapsedSpace space;
  const BlindModel model;
  const auto searcher = Make(space, model, 1);
  EXPECT_EQ(searcher->Propose(16).size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Searchers, EverySearcher, testing::Values("mcts", "evolution", "random"),
                         [](const auto& which) { return std::string(which.param); });

TEST(MakeSearcher, NamesTheKnownOnes) {
  const SyntheticSpace space(1);
  const BlindModel model;
  const auto searcher = MakeSearcher("annealing", space, model, 1);
  ASSERT_FALSE(searcher);
  EXPECT_NE(searcher.error().message.find("mcts, evolution, random"), std::string::npos);
}

}  // namespace
}  // namespace kindred
