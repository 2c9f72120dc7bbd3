#include "tests/bench/ablation/replay_runner.h"

#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "measure/fake_runner.h"
#include "schedules/text_form.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"

namespace kindred::bench {
namespace {

TuningInput Input() {
  TuningInput input;
  input.model.name = "test";
  ImportedTask task;
  task.workload = *ParseWorkload(
      "input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n");
  task.canonical = Canonicalize(task.workload);
  task.name = "product";
  task.uses.resize(1);
  input.model.tasks.push_back(std::move(task));
  return input;
}

// Runs a session; the best time of its task.
double Tune(Runner& runner, TuningLog& log, const TuneOptions& options, std::int64_t& trials) {
  auto session = TuningSession::Open({Input()}, Target{}, options, runner, log);
  EXPECT_TRUE(session) << session.error().message;
  Progress progress(Progress::Style::kQuiet);
  const auto done = (*session)->Run([] { return false; }, progress);
  EXPECT_TRUE(done) << done.error().message;
  trials = (*session)->trials();
  return (*session)->tasks()[0].best_ns;
}

TEST(ReplayRunner, ASessionFindsTheBestOfTheRecordingAndNothingElse) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  FakeRunner device;
  TuneOptions options;
  options.trials = 40;
  options.searcher = "random";
  std::int64_t trials = 0;
  const double best = Tune(device, *log, options, trials);
  auto recordings = RecordingsOf(*log, ToRecord(Target{}).id, 1);
  ASSERT_TRUE(recordings) << recordings.error().message;
  const std::size_t recorded = recordings->front().schedules.size();
  auto runner = ReplayRunner::Make(std::move(*recordings));
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ((*runner)->left_out(), 0u);
  EXPECT_EQ((*runner)->BestNs(Input().model.tasks[0].canonical.workload), best);

  options.searcher = "mcts";
  options.trials = 1000;
  options.space = [&](const Workload& workload, const Target& target) {
    return (*runner)->RecordedSpace(workload, target);
  };
  const auto replayed = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  EXPECT_EQ(Tune(**runner, *replayed, options, trials), best);
  EXPECT_EQ(trials, static_cast<std::int64_t>(recorded))
      << "each once, then the space is exhausted";
}

}  // namespace
}  // namespace kindred::bench
