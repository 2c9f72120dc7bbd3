#include "measure/internal/kernel_worker.h"

#include <signal.h>

#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "measure/internal/buffer_protocol.h"
#include "measure/internal/failure.h"

namespace kindred {
namespace {

constexpr double kOpenTimeout_s = 120;
// Deadline of a reference, in run_timeout_s.
constexpr double kReferencePatience = 20;

std::string KeyOf(const KernelSource& source) {
  std::string key = source.compiler + "\n" + source.entry + "\n" + source.code;
  for (const std::string& flag : source.flags) key += "\n" + flag;
  for (const KernelStep& step : source.steps) key += "\n" + step.entry;
  return key;
}

}  // namespace

Result<void> WorkerKernelRunner::Start() {
  KINDRED_TRY([[maybe_unused]] WorkerProcess* const worker, ReadyWorker());
  return {};
}

Result<WorkerProcess*> WorkerKernelRunner::ReadyWorker() {
  if (worker_ && worker_->alive()) return &*worker_;
  worker_.reset();
  KINDRED_TRY(worker_, WorkerProcess::Start(device_.program, device_.role));
  const auto must = [&](const std::string& line, double timeout_s) -> Result<std::string> {
    const WorkerProcess::Reply reply = worker_->Ask(line, timeout_s);
    if (reply.end == WorkerProcess::End::kAnswered && !reply.answer.failed &&
        reply.answer.outcome.status == Status::kOk)
      return reply.answer.more;
    const std::string cause = reply.end == WorkerProcess::End::kTimedOut ? "it took too long"
                              : reply.end == WorkerProcess::End::kAnswered
                                  ? reply.answer.outcome.message
                                  : reply.cause;
    worker_.reset();
    return Environment("a worker cannot prepare the kernel's buffers and reference: " + cause);
  };
  for (std::size_t i = 0; i < device_.opening.size(); ++i) {
    KINDRED_TRY(const std::string told, must(device_.opening[i], kOpenTimeout_s));
    if (i == 0 && device_.driver) driver_ = device_.driver(told);
  }
  if (reference_)
    KINDRED_CHECK(must(*reference_, device_.limits.run_timeout_s * kReferencePatience));
  return &*worker_;
}

Result<std::optional<Outcome>> WorkerKernelRunner::Ask(const std::string& line, double timeout_s) {
  using End = WorkerProcess::End;
  KINDRED_TRY(WorkerProcess* const worker, ReadyWorker());
  WorkerProcess::Reply reply = worker->Ask(line, timeout_s);
  if (reply.end == End::kAnswered) {
    if (reply.answer.failed) return Internal(reply.answer.outcome.message);
    return std::optional(std::move(reply.answer.outcome));
  }
  if (reply.end == End::kTimedOut)
    return std::optional(
        Failure(Status::kRunTimeout, "did not end within " + std::to_string(timeout_s) + " s"));
  // A worker that was killed from outside is no fault of the candidate's.
  if (reply.end == End::kWasDead || reply.signal == SIGKILL) return std::optional<Outcome>();
  return std::optional(Failure(Status::kCrash, reply.cause));
}

Result<Outcome> WorkerKernelRunner::AskTwice(const std::string& line, double timeout_s) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    KINDRED_TRY(auto outcome, Ask(line, timeout_s));
    if (outcome) return std::move(*outcome);
  }
  return Failure(Status::kCrash, "the worker was killed twice");
}

Result<BuiltKernel> WorkerKernelRunner::Built(const KernelSource& source) {
  const auto ahead = ahead_.find(KeyOf(source));
  if (ahead != ahead_.end()) return ahead->second;
  KINDRED_TRY(std::vector<BuiltKernel> built, device_.build(std::span(&source, 1), {}));
  return std::move(built.front());
}

Result<void> WorkerKernelRunner::BuildAhead(std::span<const KernelSource> candidates,
                                            const std::function<bool()>& stop) {
  KINDRED_TRY(std::vector<BuiltKernel> built, device_.build(candidates, stop));
  ahead_.clear();
  for (std::size_t i = 0; i < built.size(); ++i) ahead_[KeyOf(candidates[i])] = std::move(built[i]);
  return {};
}

Result<Outcome> WorkerKernelRunner::TakeReference(const KernelSource& reference) {
  KINDRED_TRY(const BuiltKernel built, Built(reference));
  if (built.status != Status::kOk) return Failure(built.status, built.message);
  const std::string line =
      ToJson(TakeReferenceRequest{device_.call(built, reference), device_.save_to}).dump() + "\n";
  reference_.reset();
  KINDRED_TRY(Outcome outcome, AskTwice(line, device_.limits.run_timeout_s * kReferencePatience));
  if (outcome.status == Status::kOk) reference_ = line;
  return outcome;
}

Result<Outcome> WorkerKernelRunner::Measure(const KernelSource& candidate, double incumbent_ns,
                                            bool patient) {
  using Clock = std::chrono::steady_clock;
  KINDRED_TRY(const BuiltKernel built, Built(candidate));
  KINDRED_TRY(std::string compiler, device_.compiler(candidate));
  const auto start = Clock::now();
  Outcome outcome = Failure(built.status, built.message);
  if (built.status == Status::kOk) {
    CandidateRequest request;
    request.call = device_.call(built, candidate);
    request.limits = device_.limits;
    request.incumbent_ns = incumbent_ns;
    request.never_abandon = patient;
    request.cold = device_.cold;
    const double timeout_s = device_.limits.run_timeout_s * (patient ? kReferencePatience : 1);
    KINDRED_TRY(outcome, AskTwice(ToJson(request).dump() + "\n", timeout_s));
  }
  outcome.run_s = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.build_s = built.build_s;
  outcome.facts = built.facts;
  outcome.compiler = std::move(compiler);
  outcome.driver = driver_;
  return outcome;
}

Result<void> CheckBufferFiles(const KernelTask& task) {
  for (const UserBuffer& buffer : task.buffers) {
    std::error_code code;
    if (buffer.file.empty()) continue;
    const auto bytes = std::filesystem::file_size(buffer.file, code);
    const std::int64_t needed = buffer.elements * ByteSize(buffer.type);
    if (code || static_cast<std::int64_t>(bytes) - buffer.file_offset < needed)
      return BadInput("argument " + buffer.name + ": the file " + buffer.file + " " +
                      (code ? std::string("cannot be read")
                            : "has fewer than " + std::to_string(needed) + " bytes"));
  }
  return {};
}

}  // namespace kindred
