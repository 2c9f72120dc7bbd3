// How long does one run take? Repeats, warm-up, stop rule, early abandon, watch for disturbances.
//
//   warm-up   one run, not counted (unless it was so long that it alone has to do)
//   sample    the mean of an inner loop long enough for the clock (minimum_sample_ns)
//   chunk     a few samples between two runs of the control kernel; where the thread was off its
//             processor for more than kOffProcessor of the chunk's time, or where the control is
//             more than kDisturbed times its recent minimum the chunk is thrown away and taken
//             again, at most kRetries times for one kernel
//   stop      at minimum_samples, once the median's standard error is small enough or the time
//             budget is spent; at kHardBudget time budgets in any case; at maximum_samples
//
// Pure: clock, kernel and control are callables, so that the rules are tested without a clock.
// Thread safety: none. Times in ns unless the name says otherwise.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "measure/runner.h"

namespace kindred {

inline constexpr double kDisturbed = 1.15;
inline constexpr double kOffProcessor = 0.05;
inline constexpr int kRetries = 3;
inline constexpr double kHardBudget = 5;
// A run this long (and this far above what is asked) is believed at once, cold or not.
inline constexpr double kLongRunNs = 20e6;
inline constexpr double kColdAllowance = 4;

// Runs the control kernel and remembers the minimum of the recent runs, so that a clock frequency
// that changes for good does not count as a disturbance for ever.
class ControlKernel {
 public:
  // `run` returns the time of one run of the control kernel.
  explicit ControlKernel(std::function<double()> run) : run_(std::move(run)) {}
  double Run();
  bool Disturbed(double ns) const { return ns > kDisturbed * minimum_; }

 private:
  std::function<double()> run_;
  std::deque<double> recent_;
  double minimum_ = 0;
};

struct Timing {
  int run_error = 0;  // what the kernel returned, if not 0; then nothing else is set
  bool abandoned = false;
  double median_ns = 0;
  std::vector<double> samples;  // each one run, or the mean of an inner loop
  double control_ns = 0;        // median of the control runs beside the samples kept
  int inner_repeats = 1;
  int chunks_thrown_away = 0;
};

struct TimingRequest {
  MeasureLimits limits;
  double incumbent_ns = 0;  // 0: none
  bool never_abandon = false;
  // Time of a run that was made before, 0: none. A very long one is taken as the only sample.
  double first_run_ns = 0;
};

// Both in ns and monotonic. `on_processor` stands still while the thread does not run; empty: not
// known, as for kernels of several threads.
struct TimingClocks {
  std::function<double()> now, on_processor;
};

// `kernel` runs once and returns 0 on success.
Timing TakeSamples(const TimingRequest& request, const TimingClocks& clocks,
                   const std::function<int()>& kernel, ControlKernel& control);

// Mean of the two middle ones for an even number; 0 for none.
double Median(std::vector<double> values);
// Estimated standard error of the median over the median, from the median absolute deviation
// (1.2533 * 1.4826 * MAD / sqrt(n): exact for a normal distribution, deaf to outliers).
double RelativeErrorOfMedian(const std::vector<double>& samples);

}  // namespace kindred
