#include "search/internal/pool_searcher.h"

#include <algorithm>

namespace kindred {

PoolSearcher::PoolSearcher(std::string_view name, const Space& space, const CostModel* model,
                           std::uint64_t seed, int stale_trials)
    : name_(name),
      space_(space),
      model_(model),
      seed_(seed),
      sampler_(space),
      history_(sampler_, stale_trials) {}

void PoolSearcher::ProposeSeeds(Pool& pool, int n, std::vector<Candidate>& batch) {
  const auto most = static_cast<std::size_t>(std::max(1, n / 2));
  for (; seeds_tried_ < seeds_.size() && batch.size() < most; ++seeds_tried_) {
    std::optional<SampledPath> path = sampler_.Follow(seeds_[seeds_tried_]);
    if (!path) continue;
    const std::optional<std::size_t> entry = pool.Add(std::move(*path), Origin::kSeed);
    pool.Score();
    if (entry && !pool.entries()[*entry].taken) batch.push_back(pool.Take(*entry));
  }
}

std::vector<Candidate> PoolSearcher::Propose(int n) {
  std::vector<Candidate> batch;
  if (n <= 0) return batch;
  Random random(DeriveSeed(seed_, name_, history_.trials().size()));
  {
    Pool pool(space_, model_, sampler_, history_, lowering_);
    ProposeSeeds(pool, n, batch);
    Choose(pool, n, random, batch);
  }
  FillUniformly(space_, sampler_, history_, lowering_, random, n, batch);
  return batch;
}

}  // namespace kindred
