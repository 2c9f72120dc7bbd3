#include "search/internal/pool_searcher.h"

#include <algorithm>
#include <cmath>

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
  std::vector<std::size_t> entries;
  std::erase_if(untried_, [&](std::size_t seed) {
    std::optional<SampledPath> path = sampler_.Follow(seeds_[seed]);
    const auto entry = path ? pool.Add(std::move(*path), Origin::kSeed) : std::nullopt;
    if (entry) entries.push_back(*entry);
    return !entry;  // was proposed
  });
  pool.Score();
  const auto prediction = [&](std::size_t entry) { return pool.entries()[entry].prediction; };
  std::stable_sort(entries.begin(), entries.end(), [&](std::size_t a, std::size_t b) {
    return prediction(a).ns < prediction(b).ns;
  });
  // The first round is the model's own: one of its picks is worth more than a relative's winner.
  const auto most = static_cast<std::size_t>(history_.trials().empty() ? 0 : std::max(1, n / 4));
  for (const std::size_t entry : entries) {
    if (batch.size() == most) return;
    if (pool.entries()[entry].taken) continue;
    const Prediction p = prediction(entry);
    if (history_.best_ns() == 0 || p.ns * std::exp2(-p.sigma) < history_.best_ns())
      batch.push_back(pool.Take(entry));
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
