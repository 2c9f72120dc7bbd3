// How long does one run take on a device? The counterpart of measure/timing.h for runs that are
// queued in groups and timed by the device itself.
//
//   warm-up   a group of two runs, the first not counted; the second alone decides whether the
//             kernel is abandoned
//   sample    the mean of so many runs that they last minimum_sample_ns, at most kMostInner
//   group     samples of about kGroupNs. Where the device's clocks were slowed by heat before or
//             after it, or were more than kClockChange apart, the group is thrown away, and taken
//             again once that is over (heat is waited for, at most kCoolDown_s), at most kRetries
//             times for one kernel
//   stop      as timing.h: samples, their spread, time spent
//
// Pure: the device is behind callables. Thread safety: none. Times in ns unless the name says
// otherwise.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/cuda/nvml.h"
#include "measure/timing.h"

namespace kindred {

inline constexpr int kMostInner = 16;
inline constexpr double kGroupNs = 10e6;
inline constexpr double kCoolDown_s = 2;
inline constexpr double kClockChange = 0.05;

struct TimedDevice {
  std::function<double()> now;  // of the host, monotonic
  // Queues so many runs, waits for them: the time of each; nullopt: the device failed.
  std::function<std::optional<std::vector<double>>(int runs)> run_group;
  std::function<DeviceState()> state;
  std::function<void(double seconds)> sleep;
};

struct DeviceTiming {
  bool failed = false;  // a group failed; then nothing else is set
  bool abandoned = false;
  double median_ns = 0;
  std::vector<double> samples;
  double sm_clock_mhz = 0;  // mean beside the samples kept
  std::string throttled;    // beside the samples kept, the longest text
  int inner_repeats = 1;
  int groups_thrown_away = 0;
  double waited_s = 0;  // for the device to cool down
};

DeviceTiming TakeDeviceSamples(const TimingRequest& request, const TimedDevice& device);

}  // namespace kindred
