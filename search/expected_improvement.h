// The search of a ParameterSpace by expected improvement (Jones, Schonlau, Welch, 1998).
//
// First a few configurations far from each other; then always the one from which the model expects
// most improvement over the best, of a pool: uniform draws, all that differ from one of the best in
// one parameter, and the most promising of the pool before. Of a small space the pool is all that
// is left.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedules/user/parameter_space.h"
#include "search/searcher.h"

namespace kindred {

// log2(time) of each configuration of a space on some other devices, up to a constant of the
// device; NaN where it is not known.
using TimesElsewhere = std::vector<std::vector<double>>;

// `space` must outlive the searcher. With `elsewhere` the first proposals are what was fastest
// there.
std::unique_ptr<Searcher> MakeExpectedImprovementSearcher(const ParameterSpace& space,
                                                          std::uint64_t seed,
                                                          const TimesElsewhere& elsewhere = {});

}  // namespace kindred
