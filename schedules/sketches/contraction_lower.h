// From a contraction's pattern and plan to its program.
#pragma once

#include "schedules/program.h"
#include "schedules/sketches/contraction_plan.h"
#include "schedules/target.h"

namespace kindred {

Program LowerContraction(const Workload& workload, const ContractionPattern& pattern,
                         const ContractionPlan& plan, const Target& target);

}  // namespace kindred
