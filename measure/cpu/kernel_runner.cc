#include "measure/kernel_runner.h"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "measure/builder.h"
#include "measure/cpu/buffer_protocol.h"
#include "measure/internal/cpu_info.h"
#include "measure/internal/worker_process.h"

namespace kindred {
namespace {

constexpr double kOpenTimeout_s = 120;
// Deadline of a reference, in run_timeout_s.
constexpr double kReferencePatience = 20;

Outcome Failure(Status status, std::string message) {
  Outcome outcome;
  outcome.status = status;
  outcome.message = std::move(message);
  return outcome;
}

class CpuKernelRunner final : public KernelRunner {
 public:
  CpuKernelRunner(const Target& target, KernelTask task, CpuRunnerOptions options,
                  std::unique_ptr<Builder> builder)
      : task_(std::move(task)), options_(std::move(options)), builder_(std::move(builder)) {
    const std::vector<int> allowed = AllowedCpus();
    const auto count =
        std::min(allowed.size(), static_cast<std::size_t>(std::max(1, target.threads)));
    cpus_.assign(allowed.end() - static_cast<std::ptrdiff_t>(count), allowed.end());
  }

  Result<Outcome> TakeReference(const KernelSource& reference) override;
  bool has_reference() const override { return reference_.has_value(); }
  Result<void> BuildAhead(std::span<const KernelSource> candidates,
                          const std::function<bool()>& stop) override {
    KINDRED_TRY(std::vector<BuiltKernel> built, builder_->Build(candidates, stop));
    ahead_.clear();
    for (std::size_t i = 0; i < built.size(); ++i)
      ahead_[KeyOf(candidates[i])] = std::move(built[i]);
    return {};
  }
  Result<Outcome> Measure(const KernelSource& candidate, double incumbent_ns,
                          bool patient) override;

 private:
  // A started worker with the buffers open and, where there is one, the reference taken.
  Result<WorkerProcess*> ReadyWorker();
  // What became of a request; nullopt: the worker was gone before, ask again.
  Result<std::optional<Outcome>> Ask(const std::string& line, double timeout_s);
  Result<Outcome> AskTwice(const std::string& line, double timeout_s);
  static std::string KeyOf(const KernelSource& source) {
    std::string key = source.compiler + "\n" + source.entry + "\n" + source.code;
    for (const std::string& flag : source.flags) key += "\n" + flag;
    return key;
  }
  Result<BuiltKernel> Built(const KernelSource& source) {
    const auto ahead = ahead_.find(KeyOf(source));
    if (ahead != ahead_.end()) return ahead->second;
    return builder_->BuildOne(source, options_.limits.build_timeout_s);
  }
  static KernelCall CallOf(const BuiltKernel& built, const KernelSource& source) {
    return {built.library,          built.entry, built.prepare_entry, source.arguments,
            source.workspace_bytes, {}};
  }

  const KernelTask task_;
  const CpuRunnerOptions options_;
  const std::unique_ptr<Builder> builder_;
  std::vector<int> cpus_;
  std::map<std::string, BuiltKernel> ahead_;  // the last batch
  std::optional<WorkerProcess> worker_;
  std::optional<std::string> reference_;  // the request that takes it
};

Result<WorkerProcess*> CpuKernelRunner::ReadyWorker() {
  if (worker_ && worker_->alive()) return &*worker_;
  worker_.reset();
  KINDRED_TRY(worker_, WorkerProcess::Start(options_.worker_program));
  const auto must = [&](const std::string& line, double timeout_s) -> Result<void> {
    const WorkerProcess::Reply reply = worker_->Ask(line, timeout_s);
    if (reply.end == WorkerProcess::End::kAnswered && !reply.answer.failed &&
        reply.answer.outcome.status == Status::kOk)
      return {};
    const std::string cause = reply.end == WorkerProcess::End::kTimedOut ? "it took too long"
                              : reply.end == WorkerProcess::End::kAnswered
                                  ? reply.answer.outcome.message
                                  : reply.cause;
    worker_.reset();
    return Environment("a worker cannot prepare the kernel's buffers and reference: " + cause);
  };
  OpenBuffersRequest open{task_.buffers, task_.seed, cpus_};
  KINDRED_CHECK(must(ToJson(open).dump() + "\n", kOpenTimeout_s));
  if (reference_)
    KINDRED_CHECK(must(*reference_, options_.limits.run_timeout_s * kReferencePatience));
  return &*worker_;
}

Result<std::optional<Outcome>> CpuKernelRunner::Ask(const std::string& line, double timeout_s) {
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

Result<Outcome> CpuKernelRunner::AskTwice(const std::string& line, double timeout_s) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    KINDRED_TRY(auto outcome, Ask(line, timeout_s));
    if (outcome) return std::move(*outcome);
  }
  return Failure(Status::kCrash, "the worker was killed twice");
}

Result<Outcome> CpuKernelRunner::TakeReference(const KernelSource& reference) {
  KINDRED_TRY(const BuiltKernel built, Built(reference));
  if (built.status != Status::kOk) return Failure(built.status, built.message);
  const std::string line =
      ToJson(TakeReferenceRequest{CallOf(built, reference), task_.tolerance}).dump() + "\n";
  KINDRED_TRY(Outcome outcome, AskTwice(line, options_.limits.run_timeout_s * kReferencePatience));
  if (outcome.status == Status::kOk) reference_ = line;
  return outcome;
}

Result<Outcome> CpuKernelRunner::Measure(const KernelSource& candidate, double incumbent_ns,
                                         bool patient) {
  using Clock = std::chrono::steady_clock;
  KINDRED_TRY(const BuiltKernel built, Built(candidate));
  KINDRED_TRY(const CompilerInfo compiler, FindCompiler(candidate.compiler));
  const auto start = Clock::now();
  Outcome outcome = Failure(built.status, built.message);
  if (built.status == Status::kOk) {
    CandidateRequest request;
    request.call = CallOf(built, candidate);
    request.limits = options_.limits;
    request.incumbent_ns = incumbent_ns;
    request.never_abandon = patient;
    const double timeout_s = options_.limits.run_timeout_s * (patient ? kReferencePatience : 1);
    KINDRED_TRY(outcome, AskTwice(ToJson(request).dump() + "\n", timeout_s));
  }
  outcome.run_s = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.build_s = built.build_s;
  outcome.facts = built.facts;
  outcome.compiler = compiler.version;
  return outcome;
}

}  // namespace

Result<std::unique_ptr<KernelRunner>> MakeKernelRunner(const Target& target, KernelTask task,
                                                       CpuRunnerOptions options) {
  for (const UserBuffer& buffer : task.buffers) {
    std::error_code code;
    if (buffer.file.empty()) continue;
    const auto bytes = std::filesystem::file_size(buffer.file, code);
    const std::int64_t needed = buffer.elements * ByteSize(buffer.type);
    if (code || static_cast<std::int64_t>(bytes) < needed)
      return BadInput("argument " + buffer.name + ": the file " + buffer.file + " " +
                      (code ? std::string("cannot be read")
                            : "has fewer than " + std::to_string(needed) + " bytes"));
  }
  BuilderOptions build;
  build.cache_directory = options.cache_directory + "/build";
  build.jobs = options.build_jobs;
  build.timeout_s = options.limits.build_timeout_s;
  KINDRED_TRY(auto builder, Builder::Make(std::move(build)));
  return std::unique_ptr<KernelRunner>(
      new CpuKernelRunner(target, std::move(task), std::move(options), std::move(builder)));
}

}  // namespace kindred
