#include "measure/cuda/cuda_lane.h"

#include <signal.h>

#include <chrono>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "measure/cuda/kernel_call.h"
#include "measure/internal/worker_requests.h"
#include "measure/internal/workload_data.h"

namespace kindred {
namespace {

constexpr double kDeviceTimeout_s = 120;
constexpr double kOpenTimeout_s = 120;
// Deadline of the untuned program, in run_timeout_s.
constexpr double kUntunedPatience = 20;
// A device may need a moment after a reset.
constexpr int kComeBacks = 3;
constexpr std::chrono::milliseconds kBetweenComeBacks(500);

CudaLane::Ran Failure(Status status, std::string message) {
  CudaLane::Ran ran;
  ran.outcome.status = status;
  ran.outcome.message = std::move(message);
  return ran;
}

}  // namespace

Result<void> CudaLane::Start() {
  worker_.reset();
  open_.clear();
  KINDRED_TRY(WorkerProcess worker, WorkerProcess::Start(options_.program, "cuda-worker"));
  const nlohmann::json request = {{"do", "device"}, {"index", options_.device}};
  WorkerProcess::Reply reply = worker.Ask(request.dump() + "\n", kDeviceTimeout_s);
  if (reply.end == WorkerProcess::End::kAnswered && !reply.answer.failed) {
    worker_ = std::move(worker);
    driver_ = DriverOf(reply.answer.more);
    return {};
  }
  if (reply.end == WorkerProcess::End::kAnswered) return Environment(reply.answer.outcome.message);
  const std::string name = "cuda:" + std::to_string(options_.device);
  if (reply.end == WorkerProcess::End::kTimedOut)
    return Environment("the driver did not give " + name + " within " +
                       std::to_string(static_cast<int>(kDeviceTimeout_s)) + " s");
  return Environment("the worker process of " + name + " ended: " + reply.cause);
}

Result<void> CudaLane::ComeBack(const std::string& cause) {
  for (int attempt = 1;; ++attempt) {
    const auto started = Start();
    if (started) return {};
    if (attempt == kComeBacks)
      return Environment("cuda:" + std::to_string(options_.device) + " is lost (" + cause +
                         ") and does not come back: " + started.error().message);
    std::this_thread::sleep_for(kBetweenComeBacks);
  }
}

Result<void> CudaLane::Open(const ReferencePlan& plan) {
  if (open_ == plan.file_name && worker_ && worker_->alive()) return {};
  for (int attempt = 0;; ++attempt) {
    if (!worker_ || !worker_->alive()) KINDRED_CHECK(ComeBack("its worker process is gone"));
    open_.clear();
    KINDRED_TRY(std::string file, reference_(plan, false));
    auto answer = Must(*worker_, ToJson(plan.open).dump() + "\n", kOpenTimeout_s,
                       "a worker cannot open a workload");
    const auto load = [&] {
      return Must(*worker_, LoadReferenceJson(file).dump() + "\n", kOpenTimeout_s,
                  "a reference cannot be loaded");
    };
    if (answer) {
      answer = load();
      if (!answer && worker_->alive()) {  // cut short, or of other inputs
        KINDRED_TRY(file, reference_(plan, true));
        answer = load();
      }
    }
    if (answer) break;
    // A worker that was gone before it was asked is no verdict on the workload.
    if (worker_->alive() || attempt == 1) return answer.error();
  }
  open_ = plan.file_name;
  return {};
}

Result<CudaLane::Ran> CudaLane::Run(const MeasureJob& job, const ReferencePlan& plan,
                                    const KernelSource& source, const BuiltKernel& built) {
  CandidateRequest request;
  request.call = CallOf(source, built, MeasuredExtents(*job.workload));
  request.limits = options_.limits;
  request.incumbent_ns = job.incumbent_ns;
  request.never_abandon = job.reference;
  request.cold = options_.cold;
  const std::string line = ToJson(request).dump() + "\n";
  const double timeout_s = options_.limits.run_timeout_s * (job.reference ? kUntunedPatience : 1);
  using End = WorkerProcess::End;
  // A worker that was killed from outside is no fault of the candidate's: once more.
  for (int attempt = 0;; ++attempt) {
    KINDRED_CHECK(Open(plan));
    const std::int64_t kills_before = OutOfMemoryKills();
    WorkerProcess::Reply reply = worker_->Ask(line, timeout_s);
    if (reply.end == End::kAnswered) {
      Answer& answer = reply.answer;
      if (answer.failed) return Internal(answer.outcome.message);
      if (!worker_->alive()) KINDRED_CHECK(ComeBack(answer.outcome.message));
      return Ran{std::move(answer.outcome), answer.device_s};
    }
    if (reply.end == End::kTimedOut) {
      Ran late = Failure(Status::kRunTimeout, "did not end within " +
                                                  std::to_string(static_cast<int>(timeout_s)) +
                                                  " s; its worker was killed");
      KINDRED_CHECK(ComeBack(late.outcome.message));
      return late;
    }
    if (OutOfMemoryKills() > kills_before)
      return Failure(Status::kOutOfMemory, "the system killed it for want of memory");
    const bool from_outside = reply.end == End::kWasDead || reply.signal == SIGKILL;
    if (from_outside && attempt == 0) continue;
    KINDRED_CHECK(ComeBack(reply.cause));
    return Failure(Status::kCrash, reply.cause);
  }
}

}  // namespace kindred
