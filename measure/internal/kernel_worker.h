// The KernelRunner of both kinds of device: kernels built ahead, and a worker process with the
// buffers open and the reference taken, started again whenever a kernel has taken it along.
//
// Thread safety: none; the worker ends with the thread that made it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/builder.h"
#include "measure/internal/worker_process.h"
#include "measure/kernel_runner.h"

namespace kindred {

// What differs between the devices.
struct KernelDevice {
  std::string program, role;         // of the worker process
  std::vector<std::string> opening;  // request lines after its start
  std::string save_to;               // KernelTask::save_to
  MeasureLimits limits;
  bool cold = false;
  std::function<Result<std::vector<BuiltKernel>>(std::span<const KernelSource>,
                                                 const std::function<bool()>& stop)>
      build;
  std::function<KernelCall(const BuiltKernel&, const KernelSource&)> call;
  std::function<Result<std::string>(const KernelSource&)> compiler;  // name and version
  // Outcome::driver, from what the worker tells in answer to the first opening line; may be empty.
  std::function<std::string(const std::string& told)> driver;
};

class WorkerKernelRunner final : public KernelRunner {
 public:
  explicit WorkerKernelRunner(KernelDevice device) : device_(std::move(device)) {}

  // Starts the worker. Error (kEnvironment): it cannot be started, or cannot open the buffers.
  Result<void> Start();

  Result<Outcome> TakeReference(const KernelSource& reference) override;
  bool has_reference() const override { return reference_.has_value(); }
  Result<void> BuildAhead(std::span<const KernelSource> candidates,
                          const std::function<bool()>& stop) override;
  Result<Outcome> Measure(const KernelSource& candidate, double incumbent_ns,
                          bool patient) override;

 private:
  Result<WorkerProcess*> ReadyWorker();
  // What became of a request; nullopt: the worker was gone before, ask again.
  Result<std::optional<Outcome>> Ask(const std::string& line, double timeout_s);
  Result<Outcome> AskTwice(const std::string& line, double timeout_s);
  Result<BuiltKernel> Built(const KernelSource& source);

  const KernelDevice device_;
  std::map<std::string, BuiltKernel> ahead_;  // the last batch
  std::optional<WorkerProcess> worker_;
  std::optional<std::string> reference_;  // the request that takes it
  std::string driver_;
};

}  // namespace kindred
