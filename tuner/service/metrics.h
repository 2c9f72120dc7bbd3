// What the service counts, in Prometheus' text format (version 0.0.4).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include "schedules/base/mutex.h"
#include "tuner/kernel_package.h"

namespace kindred {

class Metrics {
 public:
  // `endpoint` is the path's pattern ("/v1/schedules/{key}"), so that there are few of them.
  void CountRequest(const std::string& endpoint, int status, std::chrono::nanoseconds took);
  void CountAnswer(MatchLevel match, bool kept);

  // `gauges`: name without prefix -> {help, value}.
  struct Gauge {
    std::string help;
    double value = 0;
  };
  std::string Text(const std::map<std::string, Gauge>& gauges) const;

 private:
  static constexpr std::array<double, 10> kBuckets = {0.0001, 0.0005, 0.001, 0.005, 0.01,
                                                      0.05,   0.1,    0.5,   1,     5};
  struct Durations {
    std::array<std::int64_t, 10> counts{};  // by bucket, not cumulative
    std::int64_t all = 0;
    double seconds = 0;
  };

  mutable Mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_ KINDRED_GUARDED_BY(mutex_);
  std::map<std::string, Durations> durations_ KINDRED_GUARDED_BY(mutex_);
  std::map<std::pair<MatchLevel, bool>, std::int64_t> answers_ KINDRED_GUARDED_BY(mutex_);
};

}  // namespace kindred
