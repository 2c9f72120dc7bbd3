#include "search/internal/pool_searcher.h"

namespace kindred {
namespace {

// Uniform at every decision, without repeats: the baseline that every other searcher has to beat.
class RandomSearcher final : public PoolSearcher {
 public:
  RandomSearcher(const Space& space, std::uint64_t seed)
      : PoolSearcher("random", space, nullptr, seed) {}

 private:
  // Uniform draws fill the batch.
  void Choose(Pool&, int, Random&, std::vector<Candidate>&) override {}
};

}  // namespace

std::unique_ptr<Searcher> MakeRandomSearcher(const Space& space, std::uint64_t seed) {
  return std::make_unique<RandomSearcher>(space, seed);
}

}  // namespace kindred
