// PoolSearcher: what all searchers have in common.
//
// One proposal is: from the second on the seeds that the model ranks first (at most a quarter of
// the batch, and none that it is sure to lose), then what the searcher itself chooses from a pool,
// in which the other seeds are, then uniform draws for what is still missing, because a pool is a
// sample: of a small space it may have missed what is left.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "search/internal/pool.h"
#include "search/searcher.h"

namespace kindred {

class PoolSearcher : public Searcher {
 public:
  std::vector<Candidate> Propose(int n) final;
  void Observe(std::span<const Candidate> candidates, std::span<const Outcome> outcomes) final {
    history_.Observe(candidates, outcomes);
  }
  void Seed(std::span<const Path> paths) final {
    for (const Path& path : paths) {
      untried_.push_back(seeds_.size());
      seeds_.push_back(path);
    }
  }
  std::vector<Error> TakeErrors() final { return std::exchange(lowering_.errors, {}); }

 protected:
  // `name` makes the seed's stream. `model` may be null: the searcher's pools are not scored then.
  // `stale_trials`: see History.
  PoolSearcher(std::string_view name, const Space& space, const CostModel* model,
               std::uint64_t seed, int stale_trials = 1 << 30);

  // Appends to `batch` until it holds n, or less.
  virtual void Choose(Pool& pool, int n, Random& random, std::vector<Candidate>& batch) = 0;

  PathSampler& sampler() { return sampler_; }
  const History& history() const { return history_; }
  const std::vector<Path>& seeds() const { return seeds_; }

 private:
  void ProposeSeeds(Pool& pool, int n, std::vector<Candidate>& batch);

  std::string_view name_;
  const Space& space_;
  const CostModel* model_;
  std::uint64_t seed_;
  PathSampler sampler_;
  History history_;
  LoweringMemo lowering_;
  std::vector<Path> seeds_;
  std::vector<std::size_t> untried_;  // seeds not proposed yet
};

}  // namespace kindred
