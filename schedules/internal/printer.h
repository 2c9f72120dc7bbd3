// Prints expressions and stages of workloads in the text form; internal/parser.h reads them back.
#pragma once

#include <string>
#include <string_view>

#include "schedules/workload.h"

namespace kindred {

// The body of a stage.
std::string PrintBody(const Workload& workload, const Stage& stage);

std::string PrintStage(const Workload& workload, const Stage& stage);

// "none", "sum", "max", "min", "prod", "argmax", "argmin".
std::string_view Name(Combiner combiner);

// An extent as the text form has it: a number or the quoted name of a symbol.
std::string PrintExtent(const Workload& workload, const Extent& extent);

}  // namespace kindred
