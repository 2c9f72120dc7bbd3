// One device's worker process, seen from the runner: started when it is needed, and again whenever
// a candidate has taken it along.
//
// Thread safety: none; a lane belongs to one thread, with which its worker ends.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "measure/builder.h"
#include "measure/internal/worker_process.h"
#include "measure/reference_plan.h"
#include "schedules/base/result.h"

namespace kindred {

struct LaneOptions {
  int device = 0;
  std::string program;
  MeasureLimits limits;
  bool cold = true;
};

class CudaLane {
 public:
  // Path of the plan's reference; `anew`: computed even where there is one.
  using ReferenceOf = std::function<Result<std::string>(const ReferencePlan& plan, bool anew)>;

  CudaLane(LaneOptions options, ReferenceOf reference)
      : options_(std::move(options)), reference_(std::move(reference)) {}

  // A worker that has the device. Error (kEnvironment): there is no such device, no driver.
  Result<void> Start();
  const std::string& driver() const { return driver_; }  // Outcome::driver, once started

  struct Ran {
    Outcome outcome;
    double device_s = 0;  // with kernels, copies or checks running
  };
  // Runs one candidate. What it does wrong is its outcome; a device that it has taken down is back
  // before this returns. Error: the device does not come back, the workload cannot be opened.
  Result<Ran> Run(const MeasureJob& job, const ReferencePlan& plan, const KernelSource& source,
                  const BuiltKernel& built);

 private:
  Result<void> Open(const ReferencePlan& plan);
  Result<void> ComeBack(const std::string& cause);

  const LaneOptions options_;
  const ReferenceOf reference_;
  std::optional<WorkerProcess> worker_;
  std::string driver_;
  std::string open_;  // file_name of the plan that the worker has open; empty: none
};

}  // namespace kindred
