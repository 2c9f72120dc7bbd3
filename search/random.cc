#include "search/internal/pool.h"
#include "search/searcher.h"

namespace kindred {
namespace {

// Uniform at every decision, without repeats: the baseline that every other searcher has to beat.
class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(const Space& space, std::uint64_t seed)
      : space_(space), seed_(seed), sampler_(space), history_(sampler_, 1 << 30) {}

  std::vector<Candidate> Propose(int n) override {
    Random random(DeriveSeed(seed_, "random", history_.trials().size()));
    std::vector<Candidate> batch;
    Pool pool(space_, nullptr, sampler_, history_, lowering_);
    while (!seeds_.empty() && static_cast<int>(batch.size()) < n) {
      std::optional<SampledPath> path = sampler_.Follow(seeds_.front());
      seeds_.erase(seeds_.begin());
      if (!path) continue;
      const std::optional<std::size_t> entry = pool.Add(std::move(*path), Origin::kSeed);
      if (entry && !pool.entries()[*entry].taken) batch.push_back(pool.Take(*entry));
    }
    FillUniformly(space_, sampler_, history_, lowering_, random, n, batch);
    return batch;
  }

  void Observe(std::span<const Candidate> candidates, std::span<const Outcome> outcomes) override {
    history_.Observe(candidates, outcomes);
  }
  void Seed(std::span<const Path> paths) override {
    seeds_.insert(seeds_.end(), paths.begin(), paths.end());
  }
  std::vector<Error> TakeErrors() override { return std::exchange(lowering_.errors, {}); }

 private:
  const Space& space_;
  std::uint64_t seed_;
  PathSampler sampler_;
  History history_;
  Lowering lowering_;
  std::vector<Path> seeds_;
};

}  // namespace

std::unique_ptr<Searcher> MakeRandomSearcher(const Space& space, std::uint64_t seed) {
  return std::make_unique<RandomSearcher>(space, seed);
}

}  // namespace kindred
