#include "search/expected_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cost_model/configuration_model.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr std::size_t kFirst = 10;          // proposals before the model is asked
constexpr std::size_t kFirstElsewhere = 3;  // with times from elsewhere
constexpr std::size_t kFirstMisled = 8;     // ... where these turn out to say nothing, again
constexpr int kSpreadDraws = 8;             // the farthest of so many is taken then
constexpr std::size_t kPoolDraws = 600;
constexpr std::size_t kParents = 4;  // of the best, whose neighbours are in the pool
constexpr std::size_t kCarried = 200;

// Of a normal variable: how far it is expected to be below `best`.
double ExpectedImprovement(double best, double mean, double sigma) {
  const double gap = best - mean, z = gap / sigma;
  return sigma * std::exp(-z * z / 2) / std::sqrt(2 * M_PI) +
         gap * 0.5 * std::erfc(-z / std::sqrt(2.0));
}

class ExpectedImprovementSearcher final : public Searcher {
 public:
  ExpectedImprovementSearcher(const ParameterSpace& space, std::uint64_t seed,
                              const TimesElsewhere& elsewhere)
      : space_(space),
        random_(DeriveSeed(seed, "expected improvement")),
        model_(space, seed, elsewhere),
        known_(space.size(), false),
        in_pool_(space.size(), false),
        elsewhere_(!model_.promising().empty()) {}

  std::vector<Candidate> Propose(int n) override;
  void Observe(std::span<const Candidate> candidates, std::span<const Outcome> outcomes) override;
  void Seed(std::span<const Path> paths) override {
    for (const Path& path : paths)
      if (const auto index = space_.IndexOf(space_.Adapt(path))) seeds_.push_back(*index);
  }

 private:
  std::size_t left() const { return space_.size() - order_.size(); }
  void Know(std::size_t configuration) {
    if (known_[configuration]) return;
    known_[configuration] = true;
    order_.push_back(configuration);
  }
  std::size_t Choose();
  // What is tried before there is a model: what was fast elsewhere, or what is far from all tried.
  std::size_t First();
  std::size_t FarFromAll();
  std::vector<std::size_t> MakePool();

  const ParameterSpace& space_;
  Random random_;
  ConfigurationModel model_;
  std::vector<bool> known_;         // proposed or observed
  std::vector<std::size_t> order_;  // those that are known, in order
  std::vector<bool> in_pool_;       // all false between calls
  std::vector<std::size_t> carried_;
  bool elsewhere_;          // there were promising configurations
  std::size_t spread_ = 0;  // how often FarFromAll was asked
  std::vector<std::size_t> seeds_;
  std::size_t seeds_tried_ = 0;
};

std::vector<Candidate> ExpectedImprovementSearcher::Propose(int n) {
  std::vector<Candidate> batch;
  while (static_cast<int>(batch.size()) < n && left() > 0) {
    const std::size_t configuration = Choose();
    Know(configuration);
    model_.Expect(configuration);
    auto candidate = space_.Lower(space_.PathOf(configuration));
    if (candidate) batch.push_back(std::move(*candidate));
  }
  return batch;
}

void ExpectedImprovementSearcher::Observe(std::span<const Candidate> candidates,
                                          std::span<const Outcome> outcomes) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto configuration = space_.IndexOf(candidates[i].path);
    if (!configuration) continue;
    Know(*configuration);
    model_.Add(*configuration, outcomes[i].Timed() ? outcomes[i].median_ns : 0);
  }
}

std::size_t ExpectedImprovementSearcher::First() {
  for (const std::size_t configuration : model_.promising())
    if (!known_[configuration]) return configuration;
  return FarFromAll();
}

std::size_t ExpectedImprovementSearcher::FarFromAll() {
  ++spread_;
  std::size_t farthest = 0;
  double most = -1;
  for (int draw = 0; draw < kSpreadDraws; ++draw) {
    std::size_t drawn = random_.Below(space_.size());
    while (known_[drawn]) drawn = (drawn + 1) % space_.size();
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::size_t other : order_)
      nearest = std::min(nearest, model_.Distance(drawn, other));
    if (nearest > most) {
      most = nearest;
      farthest = drawn;
    }
  }
  return farthest;
}

std::vector<std::size_t> ExpectedImprovementSearcher::MakePool() {
  std::vector<std::size_t> pool;
  const auto add = [&](std::size_t configuration) {
    if (known_[configuration] || in_pool_[configuration]) return;
    in_pool_[configuration] = true;
    pool.push_back(configuration);
  };
  if (left() <= 2 * kPoolDraws) {
    for (std::size_t i = 0; i < space_.size(); ++i) add(i);
  } else {
    for (const std::size_t configuration : carried_) add(configuration);
    for (const std::size_t configuration : model_.promising()) add(configuration);
    for (const std::size_t parent : model_.Best(kParents)) {
      const auto values = space_.Configuration(parent);
      std::vector<std::uint16_t> changed(values.begin(), values.end());
      for (std::size_t p = 0; p < changed.size(); ++p) {
        for (std::size_t v = 0; v < space_.parameters()[p].values.size(); ++v) {
          changed[p] = static_cast<std::uint16_t>(v);
          if (const auto neighbour = space_.Find(changed)) add(*neighbour);
        }
        changed[p] = values[p];
      }
    }
    for (std::size_t i = 0; i < kPoolDraws; ++i) add(random_.Below(space_.size()));
  }
  for (const std::size_t configuration : pool) in_pool_[configuration] = false;
  return pool;
}

std::size_t ExpectedImprovementSearcher::Choose() {
  while (seeds_tried_ < seeds_.size()) {
    const std::size_t seed = seeds_[seeds_tried_++];
    if (!known_[seed]) return seed;
  }
  if (order_.size() < (elsewhere_ ? kFirstElsewhere : kFirst)) return First();
  model_.Train();
  if (!model_.trained()) return First();
  if (elsewhere_ && spread_ < kFirstMisled && !model_.FollowsOthers()) return FarFromAll();
  const std::vector<std::size_t> pool = MakePool();
  if (pool.empty()) return FarFromAll();  // every draw was known already
  const auto beliefs = model_.Beliefs(pool);
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    double sum = 0;
    for (const auto& chain : beliefs)
      sum += ExpectedImprovement(model_.best_log2_ns(), static_cast<double>(chain[i].mean),
                                 static_cast<double>(chain[i].sigma));
    ranked.emplace_back(-sum, pool[i]);
  }
  std::sort(ranked.begin(), ranked.end());
  carried_.clear();
  for (std::size_t i = 1; i < ranked.size() && i <= kCarried; ++i)
    carried_.push_back(ranked[i].second);
  return ranked[0].second;
}

}  // namespace

std::unique_ptr<Searcher> MakeExpectedImprovementSearcher(const ParameterSpace& space,
                                                          std::uint64_t seed,
                                                          const TimesElsewhere& elsewhere) {
  return std::make_unique<ExpectedImprovementSearcher>(space, seed, elsewhere);
}

}  // namespace kindred
