#include "measure/cuda/device_timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kindred {
namespace {

constexpr double kPoll_s = 0.05;

bool ClocksDiffer(const DeviceState& a, const DeviceState& b) {
  return a.sm_clock_mhz > 0 && b.sm_clock_mhz > 0 &&
         std::abs(a.sm_clock_mhz - b.sm_clock_mhz) >
             kClockChange * std::max(a.sm_clock_mhz, b.sm_clock_mhz);
}

double Mean(const std::vector<double>& values, std::size_t begin, std::size_t count) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

}  // namespace

DeviceTiming TakeDeviceSamples(const TimingRequest& request, const TimedDevice& device) {
  const MeasureLimits& limits = request.limits;
  const double budget_ns = limits.time_budget_s * 1e9;
  const double hard_ns = kHardBudget * budget_ns;
  const double ceiling = request.incumbent_ns > 0 && !request.never_abandon
                             ? request.incumbent_ns * limits.abandon_ratio
                             : INFINITY;
  DeviceTiming timing;
  std::vector<double> clocks;
  const auto note = [&](const DeviceState& state) {
    if (state.sm_clock_mhz > 0) clocks.push_back(state.sm_clock_mhz);
    const std::string throttled = state.Throttled();
    if (throttled.size() > timing.throttled.size()) timing.throttled = throttled;
  };
  const auto failed = [] {
    DeviceTiming nothing;
    nothing.failed = true;
    return nothing;
  };
  const auto finish = [&] {
    timing.median_ns = Median(timing.samples);
    if (!clocks.empty()) timing.sm_clock_mhz = Mean(clocks, 0, clocks.size());
    return timing;
  };
  const auto only_sample = [&](double ns, bool abandoned) {
    timing.samples = {ns};
    timing.abandoned = abandoned;
    note(device.state());
    return finish();
  };
  const double first_ns = request.first_run_ns;
  if (first_ns > kLongRunNs && first_ns > kColdAllowance * ceiling)
    return only_sample(first_ns, true);
  if (first_ns > hard_ns) return only_sample(first_ns, false);

  const auto warm_up = device.run_group(2);
  if (!warm_up) return failed();
  const double estimate_ns = std::max(warm_up->back(), 1.0);
  if (estimate_ns > ceiling) return only_sample(estimate_ns, true);
  timing.inner_repeats = static_cast<int>(
      std::clamp(std::ceil(limits.minimum_sample_ns / estimate_ns), 1.0, double{kMostInner}));
  const double sample_ns = estimate_ns * timing.inner_repeats;
  const int in_group = static_cast<int>(
      std::clamp(kGroupNs / sample_ns, 1.0, std::max(limits.minimum_samples, 1) * 1.0));

  const double start_ns = device.now();
  DeviceState before = device.state();
  for (;;) {
    const int wanted =
        std::min(in_group, limits.maximum_samples - static_cast<int>(timing.samples.size()));
    const auto runs = device.run_group(wanted * timing.inner_repeats);
    if (!runs) return failed();
    const DeviceState after = device.state();
    const double elapsed_ns = device.now() - start_ns - timing.waited_s * 1e9;
    const bool disturbed = before.too_hot || after.too_hot || ClocksDiffer(before, after);
    if (disturbed && timing.groups_thrown_away < kRetries) {
      ++timing.groups_thrown_away;
      before = after;
      for (double waited = 0; before.too_hot && waited < kCoolDown_s; waited += kPoll_s) {
        device.sleep(kPoll_s);
        timing.waited_s += kPoll_s;
        before = device.state();
      }
      continue;
    }
    const auto inner = static_cast<std::size_t>(timing.inner_repeats);
    for (std::size_t at = 0; at + inner <= runs->size(); at += inner)
      timing.samples.push_back(Mean(*runs, at, inner));
    note(before);
    note(after);
    before = after;
    const int count = static_cast<int>(timing.samples.size());
    if (count >= limits.maximum_samples || elapsed_ns >= hard_ns) break;
    if (count >= limits.minimum_samples &&
        (elapsed_ns >= budget_ns || RelativeErrorOfMedian(timing.samples) <= limits.relative_error))
      break;
  }
  return finish();
}

}  // namespace kindred
