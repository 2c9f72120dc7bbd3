// The workloads of the key's property tests: small ones that cover the language and what models
// contain.
#pragma once

#include <vector>

#include "tests/schedules/sample_workloads.h"

namespace kindred {

// SmallWorkloads() and more; each has few points, and extents that tell its dimensions apart.
const std::vector<SampleWorkload>& KeyWorkloads();

}  // namespace kindred
