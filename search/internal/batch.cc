#include "search/internal/batch.h"

#include <algorithm>
#include <cmath>

namespace kindred {
namespace {

class Chooser {
 public:
  Chooser(Pool& pool, const BatchOptions& options, std::vector<Candidate>& batch)
      : pool_(pool), options_(options), batch_(batch), nearest_(pool.size(), 0) {}

  // The best by upper bound among those of one origin (or all); false if there is none.
  bool TakeBest(const Origin* origin) {
    std::size_t best = pool_.size();
    double highest = 0;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      const PoolEntry& entry = pool_.entries()[i];
      if (entry.taken || (origin && entry.origin != *origin)) continue;
      const double bound = -std::log2(std::max(entry.prediction.ns, 1e-3)) +
                           options_.doubt * entry.prediction.sigma -
                           options_.distance * nearest_[i] * nearest_[i];
      if (best == pool_.size() || bound > highest) {
        best = i;
        highest = bound;
      }
    }
    return best < pool_.size() && (Take(best), true);
  }

  bool TakeRandom(Random& random) {
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i < pool_.size(); ++i)
      if (!pool_.entries()[i].taken && pool_.entries()[i].origin == Origin::kRandom)
        from.push_back(i);
    return !from.empty() && (Take(from[random.Below(from.size())]), true);
  }

 private:
  void Take(std::size_t chosen) {
    batch_.push_back(pool_.Take(chosen));
    const auto& marks = pool_.entries()[chosen].path.marks;
    for (std::size_t i = 0; i < pool_.size(); ++i)
      if (!pool_.entries()[i].taken)
        nearest_[i] = std::max(nearest_[i], Similarity(marks, pool_.entries()[i].path.marks));
  }

  Pool& pool_;
  const BatchOptions& options_;
  std::vector<Candidate>& batch_;
  std::vector<double> nearest_;  // similarity to the most similar one chosen
};

}  // namespace

double Reward(double ns, double best_ns) {
  if (!(ns > 0)) return 0;
  return std::clamp(1 + std::log2(best_ns / ns) / 3, 0.0, 1.0);
}

void ChooseBatch(Pool& pool, const BatchOptions& options, int n, Random& random,
                 std::vector<Candidate>& batch) {
  pool.Score();
  Chooser chooser(pool, options, batch);
  const int room = n - static_cast<int>(batch.size());
  const auto share = [&](double part) { return static_cast<int>(std::lround(part * room)); };
  const int randoms = room >= 4 ? std::max(1, share(options.random_share))
                                : random.Uniform() < options.random_share;
  const int mutations = share(options.mutation_share);
  const auto left = [&] { return n - static_cast<int>(batch.size()); };
  while (left() > randoms + mutations && chooser.TakeBest(nullptr)) {
  }
  static constexpr Origin kMutation = Origin::kMutation;
  while (left() > randoms && chooser.TakeBest(&kMutation)) {
  }
  while (left() > 0 && chooser.TakeRandom(random)) {
  }
  while (left() > 0 && chooser.TakeBest(nullptr)) {
  }
}

}  // namespace kindred
