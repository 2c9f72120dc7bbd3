// Hardware counters of a run, by CUPTI's range profiler: the run is one range, however many kernels
// it launches, and is repeated for as many passes as the counters need (user replay).
//
// One per process, in one that traces nothing else: counters and timing never share a run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/driver_api.h"
#include "measure/cuda/range_profiler_api.h"
#include "schedules/base/result.h"

namespace kindred {

struct CounterMetric {
  const char* name;   // ours: docs/measuring.md
  const char* cupti;  // CUPTI's; the same on compute capability 8.0 to 10.x
};
std::span<const CounterMetric> CounterMetrics();

class RangeProfiler {
 public:
  // `context` is the device's. Error (kEnvironment): CUPTI is not there, or refuses (device not
  // supported); one line.
  static Result<std::unique_ptr<RangeProfiler>> Start(int device, void* context);
  ~RangeProfiler();

  // `before` and `run` are queued and waited for once in each pass; what `before` does is not
  // counted. Values by our names, without those that the device does not have. Error
  // (kEnvironment): CUPTI refuses (not permitted) or loses the range, or a run fails.
  Result<std::map<std::string, double>> Collect(const std::function<CudaResult()>& before,
                                                const std::function<CudaResult()>& run);

 private:
  RangeProfiler() = default;
  Result<void> AddMetrics();
  Error Refused(const std::string& what, int code) const;

  std::unique_ptr<RangeProfilerApi> api_;
  std::string availability_;  // of counters: an image of CUPTI's
  std::string chip_;
  void *context_ = nullptr, *host_ = nullptr;
  std::vector<std::string> names_;
  std::vector<const char*> metrics_;
};

}  // namespace kindred
