// What the features of all kinds of device share: their scales, and those of the workload.
#pragma once

#include <span>

#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

double Log(double x);  // log2(1 + x); 0 where x is negative
double LogRatio(double x,
                double to);  // log2(x / to), clipped to [-12, 20]; -12 where x is not positive

// Sets the features that tell of the workload.
void DescribeWorkload(const Workload& workload, const Target& target, std::span<float> out);

}  // namespace kindred
