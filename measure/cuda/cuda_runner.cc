// The CUDA runner: a thread compiles a batch in order, one thread per device runs what is compiled,
// and the caller's thread hands out the outcomes, in order. The processor's cores are not what is
// timed here, so that compilers may run beside kernels.

#include "measure/cuda/cuda_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "measure/cuda/cuda_lane.h"
#include "measure/cuda/kernel_call.h"
#include "measure/cuda/nvrtc_builder.h"
#include "measure/internal/reference_maker.h"

namespace kindred {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollStop(20);

double SecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// One call of Measure.
struct Batch {
  Batch(const MeasureJob& j, const ReferencePlan& p)
      : job(j), plan(p), built(j.candidates.size()), outcomes(j.candidates.size()) {}

  const MeasureJob& job;
  const ReferencePlan plan;
  std::vector<std::optional<BuiltKernel>> built;
  std::vector<std::optional<Outcome>> outcomes;
  std::unordered_map<std::string, std::size_t> run;  // equal builds are run once
  std::size_t next = 0;                              // to be taken
  bool build_ended = false;
  bool stopping = false;
  int running = 0;
  std::optional<Error> failure;
};

class CudaRunner : public Runner {
 public:
  CudaRunner(std::unique_ptr<NvrtcBuilder> builder, std::unique_ptr<ReferenceMaker> references)
      : builder_(std::move(builder)), references_(std::move(references)), plans_(Target{}) {}
  ~CudaRunner() override;

  // Takes the devices. Error: one of them cannot be taken.
  Result<void> Start(const std::vector<int>& devices, const CudaRunnerOptions& options);

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override;
  MeasureTimes times() const override {
    const std::lock_guard lock(mutex_);
    return times_;
  }

 private:
  void Serve(CudaLane& lane);
  // The next candidate that is compiled and not run yet; settles those that need no run.
  std::optional<std::size_t> Take();
  void Account();  // the time since the last call; before anything that it depends on changes
  void Settle(std::size_t index, Outcome outcome);
  Result<std::string> ReferenceOf(const ReferencePlan& plan, bool anew);

  const std::unique_ptr<NvrtcBuilder> builder_;
  std::mutex references_mutex_;
  const std::unique_ptr<ReferenceMaker> references_;
  ReferencePlans plans_;

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  Batch* batch_ = nullptr;
  bool ending_ = false;
  std::string driver_;  // one for all devices
  MeasureTimes times_;
  Clock::time_point accounted_;
  std::vector<std::thread> lanes_;
};

CudaRunner::~CudaRunner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& lane : lanes_) lane.join();
}

Result<std::string> CudaRunner::ReferenceOf(const ReferencePlan& plan, bool anew) {
  const std::lock_guard lock(references_mutex_);
  return references_->FileOf(plan, anew);
}

Result<void> CudaRunner::Start(const std::vector<int>& devices, const CudaRunnerOptions& options) {
  std::vector<std::future<Result<void>>> started;
  for (const int device : devices) {
    std::promise<Result<void>> promise;
    started.push_back(promise.get_future());
    const LaneOptions lane = {device, options.program, options.limits, options.cold};
    lanes_.emplace_back([this, lane, done = std::move(promise)]() mutable {
      CudaLane worker(lane,
                      [this](const ReferencePlan& p, bool anew) { return ReferenceOf(p, anew); });
      Result<void> taken = worker.Start();
      const bool usable = taken.has_value();
      if (usable) {
        const std::lock_guard lock(mutex_);
        driver_ = worker.driver();
      }
      done.set_value(std::move(taken));
      if (usable) Serve(worker);
    });
  }
  Result<void> all;
  for (auto& one : started) {
    Result<void> taken = one.get();
    if (!taken && all) all = std::move(taken);
  }
  return all;
}

void CudaRunner::Account() {
  const Clock::time_point now = Clock::now();
  const double passed_s = SecondsBetween(accounted_, now);
  accounted_ = now;
  if (batch_ == nullptr) return;
  const Batch& b = *batch_;
  (b.running > 0 ? times_.run_s : times_.build_s) += passed_s;
  int waiting = 0;
  for (std::size_t i = b.next; i < b.built.size() && b.built[i]; ++i)
    waiting += b.built[i]->status == Status::kOk && !b.run.contains(b.built[i]->key) ? 1 : 0;
  if (b.stopping || b.failure) waiting = 0;
  times_.device_wanted_s +=
      passed_s * std::min(b.running + waiting, static_cast<int>(lanes_.size()));
}

void CudaRunner::Settle(std::size_t index, Outcome outcome) {
  const BuiltKernel& kernel = *batch_->built[index];
  outcome.build_s = kernel.build_s;
  outcome.facts = kernel.facts;
  outcome.compiler = builder_->compiler();
  outcome.driver = driver_;
  batch_->outcomes[index] = std::move(outcome);
}

std::optional<std::size_t> CudaRunner::Take() {
  if (batch_ == nullptr || batch_->stopping || batch_->failure) return std::nullopt;
  Batch& b = *batch_;
  for (; b.next < b.built.size() && b.built[b.next]; ++b.next) {
    const BuiltKernel& kernel = *b.built[b.next];
    if (kernel.status != Status::kOk) {
      Outcome failed;
      failed.status = kernel.status;
      failed.message = kernel.message;
      Settle(b.next, std::move(failed));
      changed_.notify_all();
    } else if (b.run.emplace(kernel.key, b.next).second) {
      return b.next++;
    }
  }
  return std::nullopt;
}

void CudaRunner::Serve(CudaLane& lane) {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<std::size_t> index;
    changed_.wait(lock, [&] {
      if (ending_) return true;
      Account();
      index = Take();
      return index.has_value();
    });
    if (!index) return;
    Batch& b = *batch_;
    ++b.running;
    lock.unlock();
    const auto begin = Clock::now();
    Result<CudaLane::Ran> ran = lane.Run(b.job, b.plan, b.job.candidates[*index], *b.built[*index]);
    const double run_s = SecondsBetween(begin, Clock::now());
    lock.lock();
    Account();
    --b.running;
    if (ran) {
      ran->outcome.run_s = run_s;
      times_.device_busy_s += ran->device_s;
      Settle(*index, std::move(ran->outcome));
    } else if (!b.failure) {
      b.failure = ran.error();
    }
    changed_.notify_all();
  }
}

Result<std::vector<Outcome>> CudaRunner::Measure(const MeasureJob& job,
                                                 const std::function<bool()>& stop) {
  Batch batch(job, plans_.For(*job.workload, job.seed));
  std::atomic<bool> stop_building = false;
  {
    const std::lock_guard lock(mutex_);
    accounted_ = Clock::now();
    batch_ = &batch;
  }
  std::thread builder([&] {
    const auto on_built = [&](std::size_t index, const BuiltKernel& built) {
      const std::lock_guard lock(mutex_);
      Account();
      batch.built[index] = built;
      changed_.notify_all();
    };
    const auto all = builder_->Build(
        job.candidates, [&] { return stop_building.load(); }, on_built);
    const std::lock_guard lock(mutex_);
    Account();
    batch.build_ended = true;
    if (!all && !batch.failure) batch.failure = all.error();
    changed_.notify_all();
  });

  std::vector<Outcome> outcomes;
  std::unique_lock lock(mutex_);
  // Hands out what is settled, in order. A candidate that equals an earlier one has its outcome.
  const auto hand_out = [&] {
    for (std::size_t i = outcomes.size(); i < batch.outcomes.size(); i = outcomes.size()) {
      if (!batch.outcomes[i] && batch.built[i] && i < batch.next) {
        const std::size_t same = batch.run.at(batch.built[i]->key);
        if (same == i || !batch.outcomes[same]) return;
        Outcome copy = *batch.outcomes[same];
        copy.run_s = 0;
        Settle(i, std::move(copy));
      }
      if (!batch.outcomes[i]) return;
      outcomes.push_back(*batch.outcomes[i]);
      if (!job.finished) continue;
      lock.unlock();
      job.finished(i, outcomes.back());
      lock.lock();
    }
  };
  for (;;) {
    hand_out();
    const bool over = batch.stopping || batch.failure.has_value();
    if (outcomes.size() == batch.outcomes.size() || (over && batch.running == 0)) break;
    if (batch.build_ended && batch.running == 0 && batch.next < batch.built.size() &&
        !batch.built[batch.next])
      break;
    if (!over && stop) {
      lock.unlock();
      const bool asked = stop();
      lock.lock();
      batch.stopping = batch.stopping || asked;
    }
    if (batch.stopping || batch.failure) stop_building = true;
    changed_.wait_for(lock, kPollStop);
  }
  Account();
  stop_building = true;
  lock.unlock();
  builder.join();
  lock.lock();
  batch_ = nullptr;
  if (batch.failure) return *batch.failure;
  return outcomes;
}

}  // namespace

Result<std::unique_ptr<Runner>> MakeCudaRunner(const Target& target, CudaRunnerOptions options) {
  KINDRED_TRY(const std::vector<int> devices, CudaDevicesOf(target.id, options.program));
  KINDRED_TRY(auto builder, NvrtcBuilder::Make(NvrtcOptions(target, options)));
  KINDRED_TRY(auto references,
              ReferenceMaker::Make(options.cache_directory, options.program, options.build_jobs));
  auto runner = std::make_unique<CudaRunner>(std::move(builder), std::move(references));
  KINDRED_CHECK(runner->Start(devices, options));
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace kindred
