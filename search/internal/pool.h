// Pool: the candidates that one Propose() weighs against each other: drawn, lowered, deduplicated,
// predicted.
//
// Paths that turn out to lower to a program that was proposed before are retired while the pool
// lives, so that sampling makes progress, and revived when it ends (History explains why). Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cost_model/cost_model.h"
#include "search/internal/history.h"

namespace kindred {

enum class Origin : std::uint8_t { kRandom, kMutation, kCrossover, kTree, kSeed };

struct PoolEntry {
  SampledPath path;
  Candidate candidate;
  Prediction prediction;
  Origin origin = Origin::kRandom;
  bool taken = false;  // handed out
};

// What the pools of one searcher share: remembered keys, and defects of sketches.
struct LoweringMemo {
  std::unordered_map<std::uint64_t, Hash128> keys;  // by path: spares lowering duplicates again
  std::unordered_set<std::uint64_t> failed;         // paths that do not lower
  std::vector<Error> errors;                        // since they were last asked for
};

class Pool {
 public:
  Pool(const Space& space, const CostModel* model, PathSampler& sampler, History& history,
       LoweringMemo& lowering);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Index of the entry with this path's program, new or not; nullopt: proposed before, or not
  // lowered.
  std::optional<std::size_t> Add(SampledPath path, Origin origin);
  // Predicts the entries that are not yet, in one call of the model.
  void Score();

  std::vector<PoolEntry>& entries() { return entries_; }
  std::size_t size() const { return entries_.size(); }
  // Number of Add() calls that lowered or found nothing new, since the last new entry: signs of
  // exhaustion.
  int misses() const { return misses_; }

  // Hands the entry out: it becomes part of the history.
  Candidate Take(std::size_t entry);

 private:
  const Space& space_;
  const CostModel* model_;
  PathSampler& sampler_;
  History& history_;
  LoweringMemo& lowering_;
  std::vector<PoolEntry> entries_;
  std::unordered_map<Hash128, std::size_t> index_;
  std::vector<SampledPath> retired_;  // by this pool, in order
  std::size_t scored_ = 0;
  int misses_ = 0;
};

// Ends a proposal: draws uniformly, without a model, until `batch` holds n or nothing is left (or
// so many draws in a row gave nothing new that nothing can be expected to be left).
void FillUniformly(const Space& space, PathSampler& sampler, History& history,
                   LoweringMemo& lowering, Random& random, int n, std::vector<Candidate>& batch);

}  // namespace kindred
