// Analytic prior: a roofline estimate from a program's features, with no measurement at all.
#pragma once

#include <span>

#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// The least time the target's peaks allow for the workload: max(FLOP / peak, compulsory bytes /
// bandwidth). ns. The peak is f64's where most of the work is in f64, f32's elsewhere: kernels
// widen f16, bf16, f8 and bytes before they compute, so that a device's rate of packed f16
// (GpuLimits::peak_f16_gflops) bounds none of them.
double RooflineNs(const Workload& canonical, const Target& target);

// Estimated time of the program that `features` (ExtractFeatures) describe. ns.
double PriorNs(std::span<const float> features, const Workload& canonical, const Target& target);
// The same where RooflineNs of the workload is at hand.
double PriorNs(std::span<const float> features, double roofline_ns);

}  // namespace kindred
