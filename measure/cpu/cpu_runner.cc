// The CPU runner: builds a batch with every job, then runs it in one worker, so that no compiler
// disturbs a measurement. The worker is started when it is first needed and again whenever it has
// died; it keeps the workload's inputs and the reference's outputs as long as the workload stays
// the same.
//
// Thread safety: none. Call Measure from one long-lived thread: a worker ends with the thread that
// started it (PR_SET_PDEATHSIG); the next call would start another.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "measure/builder.h"
#include "measure/internal/cache_directory.h"
#include "measure/internal/cpu_info.h"
#include "measure/internal/failure.h"
#include "measure/internal/reference_maker.h"
#include "measure/internal/worker_process.h"
#include "measure/internal/worker_requests.h"
#include "measure/reference_plan.h"
#include "measure/runner.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

constexpr double kOpenTimeout_s = 120;
// A reference that is computed faster than this is not worth a file.
constexpr double kKeepReferenceFrom_s = 0.05;
// Deadline of the untuned program, in run_timeout_s.
constexpr double kUntunedPatience = 20;

class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += seconds(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class CpuRunner : public Runner {
 public:
  CpuRunner(const Target& target, CpuRunnerOptions options, std::unique_ptr<Builder> builder,
            CacheDirectory references)
      : target_(target),
        options_(std::move(options)),
        builder_(std::move(builder)),
        references_(std::move(references)),
        plans_(target) {
    // The last processors: the first one serves most interrupts.
    const std::vector<int> allowed = AllowedCpus();
    const auto count =
        std::min(allowed.size(), static_cast<std::size_t>(std::max(1, target_.threads)));
    cpus_.assign(allowed.end() - static_cast<std::ptrdiff_t>(count), allowed.end());
  }

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override;
  MeasureTimes times() const override { return times_; }

 private:
  // A started worker that has the job's workload open and its reference at hand.
  Result<WorkerProcess*> ReadyWorker(const MeasureJob& job);
  Result<void> EnsureReference(const ReferencePlan& plan);
  Result<Outcome> RunOne(const MeasureJob& job, const KernelSource& source,
                         const BuiltKernel& built);
  Result<std::string> VersionOf(const std::string& compiler);

  const Target target_;
  const CpuRunnerOptions options_;
  const std::unique_ptr<Builder> builder_;
  const CacheDirectory references_;
  std::vector<int> cpus_;
  MeasureTimes times_;
  std::optional<WorkerProcess> worker_;
  std::string open_;  // file_name of the plan that the worker has open; empty: none
  ReferencePlans plans_;
  std::unordered_map<std::string, std::string> compiler_versions_;
};

Result<std::string> CpuRunner::VersionOf(const std::string& compiler) {
  std::string& version = compiler_versions_[compiler];
  if (version.empty()) {
    KINDRED_TRY(const CompilerInfo found, FindCompiler(compiler));
    version = found.version;
  }
  return version;
}

Result<void> CpuRunner::EnsureReference(const ReferencePlan& plan) {
  const std::string file = references_.PathOf(plan.file_name);
  if (references_.Contains(plan.file_name) &&
      Must(*worker_, LoadReferenceJson(file).dump() + "\n", kOpenTimeout_s, "loading a reference"))
    return {};
  ComputeReferenceRequest request;
  {
    // Its build is a build: take it out of the running time that the caller counts.
    double build_s = 0;
    {
      const Stopwatch watch(build_s);
      KINDRED_TRY(request, BuildReference(*builder_, plan));
    }
    times_.build_s += build_s;
    times_.run_s -= build_s;
  }
  request.file = file;
  request.keep_from_s = kKeepReferenceFrom_s;
  // The worker has opened the workload: what fails now is no fault of its surroundings.
  const auto computed = Must(*worker_, ToJson(request).dump() + "\n", kReferenceRunTimeout_s,
                             "the reference program of a workload cannot be run");
  return computed ? Result<void>() : Internal(computed.error().message);
}

Result<WorkerProcess*> CpuRunner::ReadyWorker(const MeasureJob& job) {
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double needed = 0;
  for (const Tensor& tensor : job.workload->tensors) needed += static_cast<double>(Bytes(tensor));
  if (needed > memory)
    return Environment("a workload's tensors take " + std::to_string(std::llround(needed / 1e9)) +
                       " GB, this machine has " + std::to_string(std::llround(memory / 1e9)) +
                       " GB of memory: leave the workload out, or make it smaller");
  const ReferencePlan& plan = plans_.For(*job.workload, job.seed);
  if (worker_ && worker_->alive() && open_ == plan.file_name) return &*worker_;
  open_.clear();
  for (int attempt = 0;; ++attempt) {
    if (!worker_ || !worker_->alive()) {
      worker_.reset();
      KINDRED_TRY(worker_, WorkerProcess::Start(options_.worker_program));
    }
    OpenRequest open = plan.open;
    open.cpus = cpus_;
    const auto answer = Must(*worker_, ToJson(open).dump() + "\n", kOpenTimeout_s,
                             "a worker cannot open a workload");
    const Result<void> opened = answer ? EnsureReference(plan) : answer.error();
    if (opened) break;
    // A worker that was dead before it was asked (its parent thread ended, somebody killed it) is
    // no verdict on the workload.
    if (worker_->alive() || attempt == 1) return opened.error();
  }
  open_ = plan.file_name;
  return &*worker_;
}

Result<Outcome> CpuRunner::RunOne(const MeasureJob& job, const KernelSource& source,
                                  const BuiltKernel& built) {
  CandidateRequest request;
  request.call.library = built.library;
  request.call.entry = built.entry;
  request.call.prepare_entry = built.prepare_entry;
  request.call.arguments = source.arguments;
  request.call.workspace_bytes = source.workspace_bytes;
  request.limits = options_.limits;
  if (job.brief) request.limits.maximum_samples = request.limits.minimum_samples;
  request.incumbent_ns = job.incumbent_ns;
  request.never_abandon = job.reference;
  const std::string line = ToJson(request).dump() + "\n";
  const double timeout_s = options_.limits.run_timeout_s * (job.reference ? kUntunedPatience : 1);
  using End = WorkerProcess::End;
  // A worker that was killed from outside is no fault of the candidate's: once more.
  for (int attempt = 0;; ++attempt) {
    KINDRED_TRY(WorkerProcess* const worker, ReadyWorker(job));
    const std::int64_t kills_before = OutOfMemoryKills();
    WorkerProcess::Reply reply = worker->Ask(line, timeout_s);
    if (reply.end == End::kAnswered) {
      if (reply.answer.failed) return Internal(reply.answer.outcome.message);
      return std::move(reply.answer.outcome);
    }
    if (reply.end == End::kTimedOut)
      return Failure(Status::kRunTimeout, "did not end within " + std::to_string(timeout_s) + " s");
    if (OutOfMemoryKills() > kills_before)
      return Failure(Status::kOutOfMemory, "the system killed it for want of memory");
    const bool from_outside = reply.end == End::kWasDead || reply.signal == SIGKILL;
    if (!from_outside || attempt == 1) return Failure(Status::kCrash, reply.cause);
  }
}

Result<std::vector<Outcome>> CpuRunner::Measure(const MeasureJob& job,
                                                const std::function<bool()>& stop) {
  std::vector<BuiltKernel> built;
  {
    const Stopwatch watch(times_.build_s);
    KINDRED_TRY(built, builder_->Build(job.candidates, stop));
  }
  const Stopwatch watch(times_.run_s);
  std::vector<Outcome> outcomes;
  std::unordered_map<std::string, std::size_t> run;  // equal builds are run once
  for (std::size_t i = 0; i < built.size(); ++i) {
    if (stop && stop()) break;
    const BuiltKernel& kernel = built[i];
    if (kernel.status != Status::kOk) {
      outcomes.push_back(Failure(kernel.status, kernel.message));
    } else if (const auto before = run.find(kernel.key); before != run.end()) {
      const Outcome same = outcomes[before->second];
      outcomes.push_back(same);
      outcomes.back().run_s = 0;
    } else {
      double run_s = 0;
      const Stopwatch one(run_s);
      KINDRED_TRY(Outcome outcome, RunOne(job, job.candidates[i], kernel));
      outcomes.push_back(std::move(outcome));
      outcomes.back().run_s = one.seconds();
      run[kernel.key] = i;
    }
    outcomes.back().build_s = kernel.build_s;
    outcomes.back().facts = kernel.facts;
    KINDRED_TRY(outcomes.back().compiler, VersionOf(job.candidates[i].compiler));
    if (job.finished) job.finished(i, outcomes.back());
  }
  return outcomes;
}

}  // namespace

Result<std::unique_ptr<Runner>> MakeCpuRunner(const Target& target, CpuRunnerOptions options) {
  BuilderOptions build;
  build.cache_directory = options.cache_directory + "/build";
  build.jobs = options.build_jobs;
  build.timeout_s = options.limits.build_timeout_s;
  KINDRED_TRY(CacheDirectory references,
              CacheDirectory::Open(options.cache_directory + "/reference"));
  references.Shrink(kReferenceCacheBytes);
  KINDRED_TRY(auto builder, Builder::Make(std::move(build)));
  return std::unique_ptr<Runner>(
      new CpuRunner(target, std::move(options), std::move(builder), std::move(references)));
}

}  // namespace kindred
