// Evolutionary search, as Ansor (Zheng et al., OSDI 2020, section 5.1) and MetaSchedule do it: the
// population starts from measured winners and uniform draws, evolves a few generations by mutation
// and crossover under the model's score, and the best by score are measured, with an epsilon-greedy
// share of uniform draws.
#include <algorithm>
#include <cmath>
#include <utility>

#include "search/internal/batch.h"
#include "search/internal/pool_searcher.h"

namespace kindred {
namespace {

constexpr int kGenerations = 3;
constexpr double kMutation = 0.85;    // else crossover
constexpr double kRandomShare = 0.1;  // of a batch
constexpr std::size_t kElite = 24;    // measured winners in the first population

class EvolutionSearcher final : public PoolSearcher {
 public:
  EvolutionSearcher(const Space& space, const CostModel& model, std::uint64_t seed)
      : PoolSearcher("evolution", space, &model, seed) {}

 private:
  void Choose(Pool& pool, int n, Random& random, std::vector<Candidate>& batch) override;
  void Evolve(Pool& pool, std::size_t generation_size, Random& random);
};

void EvolutionSearcher::Evolve(Pool& pool, std::size_t generation_size, Random& random) {
  struct Individual {
    SampledPath path;
    double ns;
  };
  for (int generation = 0; generation < kGenerations; ++generation) {
    pool.Score();
    std::vector<Individual> population;
    for (const std::size_t i : history().Best(kElite))
      population.push_back({history().trials()[i].path, history().trials()[i].ns});
    for (const PoolEntry& entry : pool.entries())
      if (!entry.taken) population.push_back({entry.path, entry.prediction.ns});
    if (population.empty()) return;
    std::stable_sort(population.begin(), population.end(),
                     [](const Individual& a, const Individual& b) { return a.ns < b.ns; });
    if (population.size() > generation_size) population.resize(generation_size);
    // Tournament of three: the smallest rank wins.
    const auto parent = [&]() -> const SampledPath& {
      std::uint64_t rank = random.Below(population.size());
      for (int i = 0; i < 2; ++i) rank = std::min(rank, random.Below(population.size()));
      return population[rank].path;
    };
    const std::size_t until = pool.size() + generation_size;
    for (std::size_t tries = 2 * generation_size; tries > 0 && pool.size() < until; --tries) {
      const bool mutate = random.Uniform() < kMutation;
      std::optional<SampledPath> child;
      if (mutate) {
        child = sampler().Mutate(parent(), random);
      } else {
        const SampledPath& first = parent();
        const SampledPath& second = parent();
        child = sampler().Cross(first, second, random);
      }
      if (child) pool.Add(std::move(*child), mutate ? Origin::kMutation : Origin::kCrossover);
    }
  }
}

void EvolutionSearcher::Choose(Pool& pool, int n, Random& random, std::vector<Candidate>& batch) {
  // As many candidates as the tree search scores, in one initial and three evolved generations.
  const auto generation_size = static_cast<std::size_t>(std::max(16, 3 * n));
  const std::size_t until = pool.size() + generation_size;
  for (std::size_t tries = 2 * generation_size; tries > 0 && pool.size() < until; --tries) {
    std::optional<SampledPath> path = sampler().DrawRandom(random);
    if (!path) break;
    pool.Add(std::move(*path), Origin::kRandom);
  }
  Evolve(pool, generation_size, random);
  ChooseBatch(pool, {.doubt = 0, .distance = 0, .random_share = kRandomShare, .mutation_share = 0},
              n, random, batch);
}

}  // namespace

std::unique_ptr<Searcher> MakeEvolutionSearcher(const Space& space, const CostModel& model,
                                                std::uint64_t seed) {
  return std::make_unique<EvolutionSearcher>(space, model, seed);
}

}  // namespace kindred
