#include "search/searcher.h"

namespace kindred {

Result<std::unique_ptr<Searcher>> MakeSearcher(std::string_view name, const Space& space,
                                               const CostModel& model, std::uint64_t seed) {
  if (name == "mcts") return MakeMctsSearcher(space, model, seed);
  if (name == "evolution") return MakeEvolutionSearcher(space, model, seed);
  if (name == "random") return MakeRandomSearcher(space, seed);
  return BadInput("unknown searcher '" + std::string(name) +
                  "'; known are: mcts, evolution, random");
}

}  // namespace kindred
