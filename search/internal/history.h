// History: all that a searcher knows for sure, in the order in which it came to know it.
//
// Everything a searcher decides is a function of its seed, its history, its seeds (Seed()) and the
// model's predictions: nothing else outlives a Propose() but caches. That is what makes a resumed
// search go on exactly like one that was never interrupted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedules/outcome.h"
#include "search/path_sampling.h"

namespace kindred {

struct Trial {
  SampledPath path;
  Hash128 key;
  bool known = false;       // an outcome was observed
  double ns = 0;            // 0: failed (if known)
  double predicted_ns = 0;  // when it was proposed; 0: not proposed here
};

class History {
 public:
  // `stale_trials`: so many outcomes without a new best make a restart.
  History(PathSampler& sampler, int stale_trials)
      : sampler_(sampler), stale_trials_(stale_trials) {}

  bool Contains(const Hash128& key) const { return index_.contains(key); }
  // Retires the path too. The key must be new.
  void Propose(const SampledPath& path, const Hash128& key, double predicted_ns);
  // Outcomes of candidates, proposed here or not. A path that the space does not offer keeps its
  // key and outcome, but tells nothing about the tree.
  void Observe(std::span<const Candidate> candidates, std::span<const Outcome> outcomes);

  const std::vector<Trial>& trials() const { return trials_; }
  double best_ns() const { return best_ns_; }  // 0: none succeeded
  // Indices of the trials that succeeded, fastest first, at most `count`.
  std::vector<std::size_t> Best(std::size_t count) const;
  // First trial of the current era: since the search was last found stale.
  std::size_t era() const { return era_; }

 private:
  void Record(Trial& trial, const Outcome& outcome);

  PathSampler& sampler_;
  int stale_trials_;
  std::vector<Trial> trials_;
  std::unordered_map<Hash128, std::size_t> index_;
  double best_ns_ = 0;
  std::size_t outcomes_since_best_ = 0;
  std::size_t era_ = 0;
};

}  // namespace kindred
