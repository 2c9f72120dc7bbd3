// Searchers over a ParameterSpace that learn from what they observe: search and model in one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "schedules/user/parameter_space.h"
#include "search/expected_improvement.h"
#include "search/searcher.h"

namespace kindred {

// "surrogate" (search/expected_improvement.h), and "mcts", "evolution" and "random" as for any
// Space, the first two with a ConfigurationModel; `space` must outlive the searcher. Error: unknown
// name.
Result<std::unique_ptr<Searcher>> MakeConfigurationSearcher(std::string_view name,
                                                            const ParameterSpace& space,
                                                            std::uint64_t seed,
                                                            const TimesElsewhere& elsewhere = {});

}  // namespace kindred
