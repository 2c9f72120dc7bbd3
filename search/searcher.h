// Searcher: ask/tell search over one Space.
//
// Propose() hands out candidates that were never proposed before; Observe() tells what became of
// them, in the order of proposal. A searcher never measures. With the same seed, the same model
// predictions and the same outcomes it makes the same decisions. Not thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cost_model/cost_model.h"
#include "schedules/outcome.h"
#include "schedules/space.h"

namespace kindred {

class Searcher {
 public:
  virtual ~Searcher() = default;

  // At most n candidates, distinct by Candidate::key from each other and from all before; fewer
  // only where the space is (found to be) exhausted.
  virtual std::vector<Candidate> Propose(int n) = 0;

  // One outcome per candidate of an earlier Propose (or of a resumed log: candidates never proposed
  // here are taken as if they had been).
  virtual void Observe(std::span<const Candidate> candidates,
                       std::span<const Outcome> outcomes) = 0;

  // Paths worth trying first, e.g. winners of siblings adapted to this space. Before the first
  // Propose or later.
  virtual void Seed(std::span<const Path> paths) = 0;

  // Defects of sketches (errors of Space::Lower) met since the last call; such paths are never
  // proposed.
  virtual std::vector<Error> TakeErrors() { return {}; }
};

// `space` and `model` must outlive the searcher; the model may change its predictions between
// calls.
std::unique_ptr<Searcher> MakeRandomSearcher(const Space& space, std::uint64_t seed);
std::unique_ptr<Searcher> MakeEvolutionSearcher(const Space& space, const CostModel& model,
                                                std::uint64_t seed);
std::unique_ptr<Searcher> MakeMctsSearcher(const Space& space, const CostModel& model,
                                           std::uint64_t seed);

// "mcts", "evolution", "random". Error: unknown name, lists the known ones.
Result<std::unique_ptr<Searcher>> MakeSearcher(std::string_view name, const Space& space,
                                               const CostModel& model, std::uint64_t seed);

}  // namespace kindred
