// The tree searcher. One proposal of n candidates:
//
//   1. a pool is begun: seeds, uniform draws, single-decision mutations of measured winners; the
//      model scores it
//   2. three trees are grown, each in turn: from the measured trials (their rewards are final),
//      those in flight (their predicted rewards stand in, with a virtual loss), and the pool
//      (predicted rewards). Each selects leaves, completes them by its own manner, has the model
//      score them and backs the scores up:
//        greedy    completes by the policy, explores little
//        anchored  completes along a seed or a measured winner
//        fresh     completes half at random, explores more, forgets what lies before the last
//                  restart
//   3. what the model ranks first of all that was scored is refined: single-decision mutations,
//   twice
//   4. a batch is chosen from all that was scored: by upper bound, apart from each other, with
//      shares for mutations and random picks
//
// Rewards are recomputed from the times at each proposal, so a new best time moves them all. Trees
// are not kept: what is kept is the history, so a resumed search goes on as if it had never
// stopped.
#include <algorithm>
#include <cmath>
#include <utility>

#include "search/internal/batch.h"
#include "search/internal/pool_searcher.h"
#include "search/mcts/params.h"
#include "search/mcts/tree.h"

namespace kindred {
namespace {

enum class Manner { kGreedy, kAnchored, kFresh };

struct TreeProfile {
  Manner manner;
  double exploration;
  double uniform;  // share of decisions below the tree that are drawn uniformly
  double share;    // of the trees' part of the pool
};

constexpr TreeProfile kProfiles[] = {
    {Manner::kGreedy, 0.7, 0.1, 0.4},
    {Manner::kAnchored, 1.0, 0.15, 0.3},
    {Manner::kFresh, 1.5, 0.5, 0.3},
};

class MctsSearcher final : public PoolSearcher {
 public:
  MctsSearcher(const Space& space, const CostModel& model, std::uint64_t seed,
               const MctsParameters& parameters)
      : PoolSearcher("mcts", space, &model, seed, static_cast<int>(parameters.stale_trials)),
        parameters_(parameters) {}

 private:
  void Choose(Pool& pool, int n, Random& random, std::vector<Candidate>& batch) override;
  void BeginPool(Pool& pool, std::size_t target, Random& random);
  void GrowTree(Pool& pool, const TreeProfile& profile, std::size_t target, Random& random);
  void Refine(Pool& pool, std::size_t target, Random& random);
  double BestTime(Pool& pool) const;
  std::optional<SampledPath> Complete(const std::vector<std::uint16_t>& prefix,
                                      const TreeProfile& profile, const Path* anchor,
                                      Random& random);
  std::uint16_t ByPolicy(const Decision& decision, std::span<const std::uint16_t> allowed,
                         std::uint64_t sketch, Random& random) const;

  MctsParameters parameters_;
  Policy policy_;
};

void MctsSearcher::BeginPool(Pool& pool, std::size_t target, Random& random) {
  const auto part = [&](double share) {
    return pool.size() + static_cast<std::size_t>(share * static_cast<double>(target));
  };
  const std::vector<std::size_t> best =
      history().Best(static_cast<std::size_t>(parameters_.mutation_parents));
  // With nothing measured there is nothing to mutate: half of that part is drawn uniformly as well.
  const double uniform =
      parameters_.random_part + (best.empty() ? parameters_.mutation_part / 2 : 0);
  const auto add = [&](std::size_t until, Origin origin, auto&& draw) {
    for (std::size_t tries = 2 * (until - pool.size()); tries > 0 && pool.size() < until; --tries) {
      std::optional<SampledPath> path = draw();
      if (path) pool.Add(std::move(*path), origin);
    }
  };
  add(part(uniform), Origin::kRandom, [&] { return sampler().DrawRandom(random); });
  if (best.empty()) return;
  add(part(parameters_.mutation_part), Origin::kMutation, [&] {
    // The better, the likelier: the smaller of two ranks.
    const std::size_t rank = std::min(random.Below(best.size()), random.Below(best.size()));
    return sampler().Mutate(history().trials()[best[rank]].path, random);
  });
}

// Fills the pool up to `target` with neighbours of its best by prediction.
void MctsSearcher::Refine(Pool& pool, std::size_t target, Random& random) {
  pool.Score();
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < pool.size(); ++i)
    if (!pool.entries()[i].taken) best.push_back(i);
  if (best.empty() || pool.size() >= target) return;
  const std::size_t parents =
      std::min(best.size(), static_cast<std::size_t>(parameters_.mutation_parents));
  const auto faster = [&](std::size_t a, std::size_t b) {
    const double left = pool.entries()[a].prediction.ns, right = pool.entries()[b].prediction.ns;
    return left != right ? left < right : a < b;
  };
  std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(parents), best.end(),
                    faster);
  for (std::size_t tries = 2 * (target - pool.size()); tries > 0 && pool.size() < target; --tries) {
    const std::size_t rank = std::min(random.Below(parents), random.Below(parents));
    std::optional<SampledPath> path = sampler().Mutate(pool.entries()[best[rank]].path, random);
    if (path) pool.Add(std::move(*path), Origin::kTree);
  }
}

double MctsSearcher::BestTime(Pool& pool) const {
  double best = history().best_ns();
  for (const PoolEntry& entry : pool.entries())
    if (entry.prediction.ns > 0 && (best == 0 || entry.prediction.ns < best))
      best = entry.prediction.ns;
  return best;
}

std::uint16_t MctsSearcher::ByPolicy(const Decision& decision,
                                     std::span<const std::uint16_t> allowed, std::uint64_t sketch,
                                     Random& random) const {
  constexpr double kTemperature = 0.1;
  // The largest of reward + Gumbel noise is a draw from the softmax.
  std::uint16_t best = allowed[0];
  double highest = -1e30;
  for (const std::uint16_t option : allowed) {
    const double gumbel = -std::log(-std::log(random.Uniform() + 1e-12) + 1e-12);
    const double value = policy_.Estimate(MarkOf(decision, option, sketch)) / kTemperature + gumbel;
    if (value > highest) {
      highest = value;
      best = option;
    }
  }
  return best;
}

std::optional<SampledPath> MctsSearcher::Complete(const std::vector<std::uint16_t>& prefix,
                                                  const TreeProfile& profile, const Path* anchor,
                                                  Random& random) {
  return sampler().Draw([&](const Decision& decision, std::span<const std::uint16_t> allowed,
                            const SampledPath& so_far) {
    const std::size_t depth = so_far.path.size();
    if (depth < prefix.size() && std::binary_search(allowed.begin(), allowed.end(), prefix[depth]))
      return prefix[depth];
    if (random.Uniform() < profile.uniform) return allowed[random.Below(allowed.size())];
    if (anchor)
      for (const Choice& choice : *anchor)
        if (choice.decision == decision.name)
          for (const std::uint16_t option : allowed)
            if (decision.options[option] == choice.value) return option;
    return ByPolicy(decision, allowed, so_far.marks.empty() ? 0 : so_far.marks[0], random);
  });
}

void MctsSearcher::GrowTree(Pool& pool, const TreeProfile& profile, std::size_t target,
                            Random& random) {
  const double best_ns = BestTime(pool);
  Tree tree(sampler(), policy_, parameters_, profile.exploration);
  const auto& trials = history().trials();
  for (std::size_t i = profile.manner == Manner::kFresh ? history().era() : 0; i < trials.size();
       ++i)
    tree.Insert(trials[i].path,
                Reward(trials[i].known ? trials[i].ns : trials[i].predicted_ns, best_ns),
                !trials[i].known);
  for (const PoolEntry& entry : pool.entries())
    if (!entry.taken) tree.Insert(entry.path, Reward(entry.prediction.ns, best_ns), false);

  std::vector<const Path*> anchors;
  if (profile.manner == Manner::kAnchored) {
    for (const std::size_t i : history().Best(4)) anchors.push_back(&trials[i].path.path);
    for (std::size_t i = 0; i < seeds().size() && i < 4; ++i) anchors.push_back(&seeds()[i]);
  }
  struct Pending {
    std::vector<std::uint16_t> prefix;
    std::optional<SampledPath> path;
    std::optional<std::size_t> entry;
  };
  std::vector<Pending> leaves;
  for (std::size_t tries = 2 * (target - std::min(target, pool.size()));
       tries > 0 && pool.size() < target;) {
    leaves.clear();
    const auto together = std::min(
        {tries, target - pool.size(), static_cast<std::size_t>(parameters_.leaves_at_once)});
    for (std::size_t i = 0; i < together; ++i) {
      std::optional<std::vector<std::uint16_t>> prefix = tree.Select();
      if (!prefix) break;
      const Path* anchor = anchors.empty() ? nullptr : anchors[random.Below(anchors.size())];
      Pending leaf;
      leaf.path = Complete(*prefix, profile, anchor, random);
      leaf.prefix = std::move(*prefix);
      if (leaf.path) leaf.entry = pool.Add(*leaf.path, Origin::kTree);
      leaves.push_back(std::move(leaf));
    }
    if (leaves.empty()) return;
    tries -= leaves.size();
    pool.Score();
    for (const Pending& leaf : leaves) {
      tree.Release(leaf.prefix);
      if (!leaf.path) continue;
      if (!leaf.entry) {
        tree.Close(*leaf.path);
        continue;
      }
      const double reward = Reward(pool.entries()[*leaf.entry].prediction.ns, best_ns);
      tree.Insert(*leaf.path, reward, false);
      policy_.Add(leaf.path->marks, reward);
    }
  }
}

void MctsSearcher::Choose(Pool& pool, int n, Random& random, std::vector<Candidate>& batch) {
  const auto target =
      static_cast<std::size_t>(std::max(parameters_.minimum_pool, parameters_.overgenerate * n));
  BeginPool(pool, target, random);
  pool.Score();
  policy_ = Policy();
  const double best_ns = BestTime(pool);
  for (const Trial& trial : history().trials())
    if (trial.known) policy_.Add(trial.path.marks, Reward(trial.ns, best_ns));
  for (const PoolEntry& entry : pool.entries())
    policy_.Add(entry.path.marks, Reward(entry.prediction.ns, best_ns));
  const std::size_t begun = pool.size();
  const auto trees = static_cast<std::size_t>(
      (1 - parameters_.refined_part) * static_cast<double>(target - std::min(begun, target)));
  double share = 0;
  for (const TreeProfile& profile : kProfiles) {
    share += profile.share;
    GrowTree(pool, profile, begun + static_cast<std::size_t>(share * static_cast<double>(trees)),
             random);
  }
  const std::size_t grown = pool.size();
  Refine(pool, grown + (target - std::min(grown, target)) / 2, random);
  Refine(pool, target, random);
  BatchOptions options;
  options.doubt = parameters_.doubt;
  options.distance = parameters_.distance;
  options.random_share =
      history().best_ns() > 0 ? parameters_.random_share : parameters_.first_random_share;
  options.mutation_share = parameters_.mutation_share;
  ChooseBatch(pool, options, n, random, batch);
}

}  // namespace

std::unique_ptr<Searcher> MakeMctsSearcher(const Space& space, const CostModel& model,
                                           std::uint64_t seed, const MctsParameters& parameters) {
  return std::make_unique<MctsSearcher>(space, model, seed, parameters);
}

std::unique_ptr<Searcher> MakeMctsSearcher(const Space& space, const CostModel& model,
                                           std::uint64_t seed) {
  return MakeMctsSearcher(space, model, seed, MctsParameters());
}

}  // namespace kindred
