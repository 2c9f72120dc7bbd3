#include "measure/cuda/cuda_profiler.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "measure/cuda/kernel_call.h"
#include "measure/internal/worker_requests.h"
#include "measure/internal/workload_data.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

constexpr double kTimeout_s = 120;

}  // namespace

Result<std::unique_ptr<CudaProfiler>> CudaProfiler::Make(const Target& target,
                                                         const CudaRunnerOptions& options) {
  KINDRED_TRY(const std::vector<int> devices, CudaDevicesOf(target.id, options.program));
  KINDRED_TRY(auto builder, NvrtcBuilder::Make(NvrtcOptions(target, options)));
  return std::unique_ptr<CudaProfiler>(
      new CudaProfiler(std::move(builder), options, devices.front()));
}

Result<void> CudaProfiler::Open(const Workload& workload, std::uint64_t seed) {
  if (worker_ == nullptr || !worker_->alive()) {
    KINDRED_TRY(WorkerProcess worker, WorkerProcess::Start(options_.program, "cuda-worker"));
    worker_ = std::make_unique<WorkerProcess>(std::move(worker));
    const nlohmann::json device = {{"do", "device"}, {"index", device_}, {"trace", false}};
    KINDRED_TRY(const std::string facts,
                Must(*worker_, device.dump() + "\n", kTimeout_s, "a worker gets no device"));
    driver_ = DriverOf(facts);
  }
  OpenRequest open;
  open.workload = PrintWorkload(workload);
  open.seed = seed;
  KINDRED_CHECK(
      Must(*worker_, ToJson(open).dump() + "\n", kTimeout_s, "a worker cannot open a workload"));
  return {};
}

Result<std::map<std::string, double>> CudaProfiler::Profile(const Workload& workload,
                                                            const KernelSource& kernel,
                                                            std::uint64_t seed) {
  KINDRED_TRY(const auto built, builder_->Build(std::span(&kernel, 1)));
  if (built.front().status != Status::kOk) return Internal(built.front().message);
  KINDRED_CHECK(Open(workload, seed));
  ProfileRequest request;
  request.call = CallOf(kernel, built.front(), MeasuredExtents(workload));
  request.limits = options_.limits;
  request.cold = options_.cold;
  const WorkerProcess::Reply reply =
      worker_->Ask(ToJson(request).dump() + "\n", options_.limits.run_timeout_s);
  const bool answered = reply.end == WorkerProcess::End::kAnswered;
  if (answered && !reply.answer.failed)
    return nlohmann::json::parse(reply.answer.more).get<std::map<std::string, double>>();
  worker_.reset();  // its device may be dead
  if (answered) return Environment(reply.answer.outcome.message);
  return Environment("no hardware counters: " + (reply.end == WorkerProcess::End::kTimedOut
                                                     ? "the run did not end"
                                                     : "the worker ended: " + reply.cause));
}

}  // namespace kindred
