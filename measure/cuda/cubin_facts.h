// What a build of CUDA kernels tells of them.
#pragma once

#include <string_view>

#include "schedules/outcome.h"

namespace kindred {

// From ptxas's log (--ptxas-options=-v) and the cubin. Of several kernels the largest number of
// registers and of static shared bytes, and the sums of spilled bytes (stores and loads) and of
// code. What the log does not say stays 0.
BuildFacts FactsOfCubin(std::string_view ptxas_log, std::string_view cubin);

}  // namespace kindred
