#include "search/configuration_searcher.h"

#include <string>
#include <utility>

#include "cost_model/configuration_model.h"

namespace kindred {
namespace {

// A searcher together with the model that it asks, which is trained before it proposes.
class LearningSearcher final : public Searcher {
 public:
  LearningSearcher(const ParameterSpace& space, std::uint64_t seed, const TimesElsewhere& elsewhere)
      : space_(space), model_(space, seed, elsewhere) {}

  Result<void> Start(std::string_view name, std::uint64_t seed) {
    learns_ = name != "random";
    KINDRED_TRY(inner_, MakeSearcher(name, space_, model_, seed));
    return {};
  }

  std::vector<Candidate> Propose(int n) override {
    if (learns_ && model_.measured() > trained_on_) {
      model_.Train();
      trained_on_ = model_.measured();
    }
    return inner_->Propose(n);
  }

  void Observe(std::span<const Candidate> candidates, std::span<const Outcome> outcomes) override {
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (const auto index = space_.IndexOf(candidates[i].path))
        model_.Add(*index, outcomes[i].Timed() ? outcomes[i].median_ns : 0);
    inner_->Observe(candidates, outcomes);
  }

  void Seed(std::span<const Path> paths) override { inner_->Seed(paths); }

  std::vector<Error> TakeErrors() override { return inner_->TakeErrors(); }

 private:
  const ParameterSpace& space_;
  ConfigurationModel model_;
  std::unique_ptr<Searcher> inner_;
  bool learns_ = false;
  std::size_t trained_on_ = 0;
};

}  // namespace

Result<std::unique_ptr<Searcher>> MakeConfigurationSearcher(std::string_view name,
                                                            const ParameterSpace& space,
                                                            std::uint64_t seed,
                                                            const TimesElsewhere& elsewhere) {
  if (name == "surrogate") return MakeExpectedImprovementSearcher(space, seed, elsewhere);
  if (name != "mcts" && name != "evolution" && name != "random")
    return BadInput("unknown searcher '" + std::string(name) +
                    "'; known are: surrogate, mcts, evolution, random");
  auto searcher = std::make_unique<LearningSearcher>(space, seed, elsewhere);
  KINDRED_CHECK(searcher->Start(name, seed));
  return std::unique_ptr<Searcher>(std::move(searcher));
}

}  // namespace kindred
