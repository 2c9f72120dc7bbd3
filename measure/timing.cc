#include "measure/timing.h"

#include <algorithm>
#include <cmath>

namespace kindred {
namespace {

constexpr std::size_t kRecentControls = 64;
constexpr double kChunkNs = 10e6;  // a chunk ends with the sample that passes this
constexpr int kInnerMaximum = 1 << 20;

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double RelativeErrorOfMedian(const std::vector<double>& samples) {
  const double median = Median(samples);
  if (samples.size() < 2 || median <= 0) return INFINITY;
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - median));
  return 1.2533 * 1.4826 * Median(std::move(deviations)) / median /
         std::sqrt(static_cast<double>(samples.size()));
}

double ControlKernel::Run() {
  const double ns = run_();
  recent_.push_back(ns);
  if (recent_.size() > kRecentControls) recent_.pop_front();
  minimum_ = *std::min_element(recent_.begin(), recent_.end());
  return ns;
}

Timing TakeSamples(const TimingRequest& request, const TimingClocks& clocks,
                   const std::function<int()>& kernel, ControlKernel& control) {
  const auto& now = clocks.now;
  const MeasureLimits& limits = request.limits;
  const double budget_ns = limits.time_budget_s * 1e9;
  const double hard_ns = kHardBudget * budget_ns;
  const double ceiling = request.incumbent_ns > 0 && !request.never_abandon
                             ? request.incumbent_ns * limits.abandon_ratio
                             : INFINITY;
  Timing timing;

  const auto only_sample = [&](double ns, bool abandoned) {
    timing.samples = {ns};
    timing.median_ns = ns;
    timing.control_ns = control.Run();
    timing.abandoned = abandoned;
    return timing;
  };
  const auto hopeless = [&](double ns) { return ns > kLongRunNs && ns > kColdAllowance * ceiling; };
  if (hopeless(request.first_run_ns)) return only_sample(request.first_run_ns, true);
  if (request.first_run_ns > hard_ns) return only_sample(request.first_run_ns, false);

  // `repeats` runs; their mean.
  const auto sample = [&](int repeats) {
    const double start = now();
    for (int i = 0; i < repeats && timing.run_error == 0; ++i) timing.run_error = kernel();
    return (now() - start) / repeats;
  };

  const double warm_up_ns = sample(1);
  if (timing.run_error != 0) return timing;
  if (hopeless(warm_up_ns)) return only_sample(warm_up_ns, true);
  if (warm_up_ns > hard_ns) return only_sample(warm_up_ns, false);

  // The inner loop grows until it is long enough; the first of these loops are warm-up as well.
  double estimate_ns = warm_up_ns;
  int repeats = 1;
  while (repeats * estimate_ns < limits.minimum_sample_ns && repeats < kInnerMaximum) {
    const double wanted = std::ceil(limits.minimum_sample_ns / std::max(estimate_ns, 1.0));
    repeats = static_cast<int>(std::clamp(wanted, repeats + 1.0, repeats * 16.0));
    estimate_ns = sample(repeats);
    if (timing.run_error != 0) return timing;
  }
  timing.inner_repeats = repeats;

  std::vector<double> controls;
  const double start_ns = now();
  double before = control.Run();
  for (;;) {
    std::vector<double> chunk;
    const double chunk_start_ns = now();
    const double on_start_ns = clocks.on_processor ? clocks.on_processor() : 0;
    const int left = limits.maximum_samples - static_cast<int>(timing.samples.size());
    const int wanted = std::min(left, std::max(limits.minimum_samples, 1));
    bool first_is_far = false;
    while (static_cast<int>(chunk.size()) < wanted && now() - chunk_start_ns < kChunkNs) {
      chunk.push_back(sample(repeats));
      if (timing.run_error != 0) return timing;
      first_is_far = timing.samples.empty() && chunk.front() > ceiling;
      if (first_is_far) break;
    }
    const double chunk_ns = now() - chunk_start_ns;
    const bool off_processor =
        clocks.on_processor &&
        chunk_ns - (clocks.on_processor() - on_start_ns) > kOffProcessor * chunk_ns;
    const double after = control.Run();
    const bool disturbed = off_processor || control.Disturbed(before) || control.Disturbed(after);
    const double elapsed_ns = now() - start_ns;
    if (disturbed && timing.chunks_thrown_away < kRetries && elapsed_ns < hard_ns) {
      ++timing.chunks_thrown_away;
      before = after;
      continue;
    }
    timing.samples.insert(timing.samples.end(), chunk.begin(), chunk.end());
    controls.push_back(before);
    controls.push_back(after);
    before = after;
    timing.abandoned = first_is_far;
    const int count = static_cast<int>(timing.samples.size());
    if (timing.abandoned || count >= limits.maximum_samples || elapsed_ns >= hard_ns) break;
    if (count >= limits.minimum_samples &&
        (elapsed_ns >= budget_ns || RelativeErrorOfMedian(timing.samples) <= limits.relative_error))
      break;
  }
  timing.median_ns = Median(timing.samples);
  timing.control_ns = Median(std::move(controls));
  return timing;
}

}  // namespace kindred
