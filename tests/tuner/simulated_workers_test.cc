// Decisions do not depend on how many workers measure, nor on the order in which they finish.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "measure/fake_runner.h"
#include "schedules/base/seed.h"
#include "schedules/text_form.h"
#include "tuner/session.h"

namespace kindred {
namespace {

// Measures a batch with several threads that take candidates in a shuffled order and need made-up
// times for them; outcomes leave in the order of proposal, as a Runner promises.
class WorkersRunner : public Runner {
 public:
  WorkersRunner(std::size_t workers, std::uint64_t shuffle) : workers_(workers), random_(shuffle) {}

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>&) override {
    const std::size_t count = job.candidates.size();
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
    std::vector<int> delay_us(count);
    for (int& delay : delay_us) delay = static_cast<int>(random_.Below(300));

    std::vector<Outcome> outcomes(count);
    std::vector<bool> arrived(count, false);
    std::size_t delivered = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t taken = next++; taken < count; taken = next++) {
        const std::size_t i = order[taken];
        std::this_thread::sleep_for(std::chrono::microseconds(delay_us[i]));
        Outcome outcome;
        outcome.median_ns = outcome.samples.emplace_back(FakeTime(job.candidates[i], 5));
        outcome.validated = true;
        if (!job.reference && HashOf(job.candidates[i].code).low % 6 == 0) {
          outcome = {};
          outcome.status = Status::kCrash;
        }
        const std::lock_guard lock(mutex);
        out_of_order_ += i != delivered;
        outcomes[i] = std::move(outcome);
        arrived[i] = true;
        changed.notify_one();
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers_; ++i) threads.emplace_back(work);
    {
      std::unique_lock lock(mutex);
      while (delivered < count) {
        changed.wait(lock, [&] { return arrived[delivered]; });
        if (job.finished) job.finished(delivered, outcomes[delivered]);
        ++delivered;
      }
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
  }
  MeasureTimes times() const override { return {}; }
  int out_of_order() const { return out_of_order_; }

 private:
  std::size_t workers_;
  Random random_;
  int out_of_order_ = 0;
};

std::vector<std::string> Decisions(const std::string& searcher, std::size_t workers,
                                   std::uint64_t shuffle, int& out_of_order) {
  std::vector<TuningInput> inputs(1);
  inputs[0].model.name = "test";
  for (const char* text :
       {"input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n",
        "input A: f32[32,96]\nweight B: f32[96,128]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n"}) {
    ImportedTask task;
    task.workload = *ParseWorkload(text);
    task.canonical = Canonicalize(task.workload);
    task.name = "task";
    task.uses.resize(1);
    inputs[0].model.tasks.push_back(std::move(task));
  }
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  WorkersRunner runner(workers, shuffle);
  TuneOptions options;
  options.trials = 80;
  options.seed = 3;
  options.searcher = searcher;
  auto session = TuningSession::Open(std::move(inputs), Target{}, options, runner, *log);
  EXPECT_TRUE(session) << session.error().message;
  Progress progress(Progress::Style::kQuiet);
  EXPECT_TRUE((*session)->Run([] { return false; }, progress));
  out_of_order = runner.out_of_order();
  std::vector<std::string> decisions;
  for (const TrialRecord& trial : *log->Trials({}))
    decisions.push_back(trial.workload + " " + trial.schedule_key + " " +
                        std::to_string(trial.predicted_ns));
  return decisions;
}

class SimulatedWorkers : public testing::TestWithParam<const char*> {};

TEST_P(SimulatedWorkers, AnyNumberInAnyOrderDecideAlike) {
  int out_of_order = 0;
  const auto alone = Decisions(GetParam(), 1, 1, out_of_order);
  EXPECT_EQ(alone.size(), 80u);
  for (const std::size_t workers : {1, 2, 8})
    for (const std::uint64_t shuffle : {2u, 3u}) {
      EXPECT_EQ(Decisions(GetParam(), workers, shuffle, out_of_order), alone)
          << workers << " workers, order " << shuffle;
      EXPECT_GT(out_of_order, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Searchers, SimulatedWorkers,
                         testing::Values("mcts", "evolution", "random"));

}  // namespace
}  // namespace kindred
