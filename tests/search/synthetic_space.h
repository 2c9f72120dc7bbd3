// A made-up space with a known cost, and models of it: search is tested without lowering anything.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "schedules/base/seed.h"
#include "search/searcher.h"

namespace kindred::test {

// Three sketches with different decisions. Options of later decisions depend on earlier ones (rows
// x columns is limited like registers are), the cost has interactions, `prefetch` makes no
// difference where depth is 1 (transpositions), and some complete paths do not lower.
class SyntheticSpace final : public Space {
 public:
  explicit SyntheticSpace(std::uint64_t seed, bool defects = false) : defects_(defects) {
    Random random(seed);
    for (double& value : center_) value = random.Uniform();
    sketch_ = static_cast<std::int64_t>(random.Below(3));
  }

  std::optional<Decision> Next(const Path& path) const override {
    const std::size_t depth = path.size();
    if (depth == 0) return Decision{"sketch", {0, 1, 2}, {"plain", "tiled", "packed"}};
    if (path[0].value == 0) {
      if (depth == 1) return Decision{"unroll", {1, 2, 4, 8}, {}};
      if (depth == 2) return Decision{"compiler", {0, 1}, {"gcc", "clang"}};
      return std::nullopt;
    }
    switch (depth) {
      case 1: return Decision{"rows", {1, 2, 3, 4, 6, 8, 12, 16}, {}};
      case 2: {
        Decision columns{"columns", {}, {}};
        for (const std::int64_t value : {1, 2, 3, 4, 6, 8})
          if (value * path[1].value <= 28) columns.options.push_back(value);
        return columns;
      }
      case 3: return Decision{"depth", {1, 64, 128, 256, 512}, {}};
      case 4: return Decision{"prefetch", {0, 1, 2, 4}, {}};
      case 5:
        return path[0].value == 2 ? Decision{"order", {0, 1, 2, 3, 4, 5}, {}}
                                  : Decision{"compiler", {0, 1}, {"gcc", "clang"}};
      case 6:
        if (path[0].value == 2) return Decision{"compiler", {0, 1}, {"gcc", "clang"}};
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  Result<Candidate> Lower(const Path& path) const override {
    ++lowered;
    if (defects_ && path.size() > 4 && path[1].value == 3) return Internal("rows=3 does not lower");
    std::string text;
    for (const Choice& choice : path) {
      if (choice.decision == "prefetch" && path[3].value == 1) continue;
      text += choice.decision + "=" + std::to_string(choice.value) + ";";
    }
    Candidate candidate;
    candidate.path = path;
    candidate.key = HashOf(text);
    return candidate;
  }

  // Nanoseconds. Smooth in the logarithms of sizes, about 30 between worst and best.
  double Cost(const Path& path) const {
    double cost = path[0].value == 0 ? 3 : path[0].value == sketch_ ? 0 : 0.4;
    double rows = 0, columns = 0;
    for (const Choice& choice : path) {
      const double size = std::log2(static_cast<double>(std::max<std::int64_t>(choice.value, 1)));
      if (choice.decision == "rows") rows = size;
      if (choice.decision == "columns") columns = size;
      if (choice.decision == "unroll") cost += 0.1 * std::abs(size - 3 * center_[0]);
      if (choice.decision == "depth") cost += 0.15 * std::abs(size - 6 - 3 * center_[1]);
      if (choice.decision == "prefetch" && path[3].value != 1)
        cost += 0.1 * std::abs(static_cast<double>(choice.value) - 4 * center_[2]);
      if (choice.decision == "order")
        cost += 0.15 * std::abs(static_cast<double>(choice.value) - std::floor(6 * center_[3]));
      if (choice.decision == "compiler")
        cost += (choice.value == 1) == (center_[4] > 0.5) ? 0 : 0.2;
    }
    if (path[0].value > 0) {
      cost += 0.3 * std::abs(rows + columns - 3 - 1.5 * center_[5]);  // the tile's size
      cost += 0.2 * std::abs(rows - columns - 2 * center_[6]);        // and its shape
    }
    return 1000 * std::exp2(cost);
  }

  // Every complete path.
  std::vector<Path> All() const {
    std::vector<Path> all;
    Path path;
    Enumerate(path, all);
    return all;
  }
  double Optimum() const {
    double best = std::numeric_limits<double>::infinity();
    for (const Path& path : All())
      if (Lower(path)) best = std::min(best, Cost(path));
    return best;
  }
  std::size_t Programs() const {
    std::set<Hash128> keys;
    for (const Path& path : All())
      if (const auto candidate = Lower(path)) keys.insert(candidate->key);
    return keys.size();
  }

  mutable long lowered = 0;

 private:
  void Enumerate(Path& path, std::vector<Path>& all) const {
    const std::optional<Decision> decision = Next(path);
    if (!decision) {
      all.push_back(path);
      return;
    }
    for (std::size_t i = 0; i < decision->options.size(); ++i) {
      path.push_back({decision->name, decision->options[i],
                      decision->labels.empty() ? "" : decision->labels[i]});
      Enumerate(path, all);
      path.pop_back();
    }
  }

  bool defects_;
  double center_[7];
  std::int64_t sketch_;
};

// The truth, off by a factor of 2^(noise * something fixed per program in [-1, 1]).
class NoisyModel final : public CostModel {
 public:
  NoisyModel(const SyntheticSpace& space, double noise) : space_(space), noise_(noise) {}
  std::vector<Prediction> Predict(std::span<const Candidate* const> candidates) const override {
    std::vector<Prediction> predictions;
    for (const Candidate* candidate : candidates) {
      const double error = 2 * Random(candidate->key.low).Uniform() - 1;
      predictions.push_back({space_.Cost(candidate->path) * std::exp2(noise_ * error), noise_ / 2});
    }
    predicted += static_cast<long>(candidates.size());
    return predictions;
  }
  mutable long predicted = 0;

 private:
  const SyntheticSpace& space_;
  double noise_;
};

// Knows nothing.
class BlindModel final : public CostModel {
 public:
  std::vector<Prediction> Predict(std::span<const Candidate* const> candidates) const override {
    return std::vector<Prediction>(candidates.size(), {2000, 1});
  }
};

// What a device would say; every 13th program fails.
inline std::vector<Outcome> Measure(const SyntheticSpace& space,
                                    const std::vector<Candidate>& candidates,
                                    bool failures = true) {
  std::vector<Outcome> outcomes;
  for (const Candidate& candidate : candidates) {
    Outcome outcome;
    if (failures && candidate.key.high % 13 == 0) {
      outcome.status = Status::kCrash;
    } else {
      outcome.median_ns = space.Cost(candidate.path);
    }
    outcomes.push_back(outcome);
  }
  return outcomes;
}

// Trials until one is within `share` of the optimum (all succeed), `most` if none is.
inline int TrialsToReach(Searcher& searcher, const SyntheticSpace& space, double share, int batch,
                         int most) {
  const double target = space.Optimum() * (1 + share);
  int trials = 0;
  while (trials < most) {
    const std::vector<Candidate> candidates = searcher.Propose(batch);
    if (candidates.empty()) return most;
    for (const Candidate& candidate : candidates) {
      ++trials;
      if (space.Cost(candidate.path) <= target) return trials;
    }
    searcher.Observe(candidates, Measure(space, candidates, false));
  }
  return most;
}

}  // namespace kindred::test
