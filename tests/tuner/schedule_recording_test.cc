// Recordings of schedules: from a log to a file and back, with nothing lost.
#include "tuner/schedule_recording.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "measure/fake_runner.h"
#include "schedules/text_form.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"

namespace kindred {
namespace {

using testing::HasSubstr;

class ScheduleRecordingTest : public testing::Test {
 protected:
  ScheduleRecordingTest()
      : path_(testing::TempDir() + "schedules_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".json.gz") {}
  ~ScheduleRecordingTest() override { std::filesystem::remove(path_); }

  // A log with 30 made-up trials of a product, a fifth of them failures.
  void Tune(std::uint64_t seed, const std::string& searcher) {
    std::vector<TuningInput> inputs(1);
    inputs[0].model.name = "test";
    ImportedTask task;
    task.workload = *ParseWorkload(
        "input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n");
    task.canonical = Canonicalize(task.workload);
    task.name = "product";
    task.uses.resize(1);
    inputs[0].model.tasks.push_back(std::move(task));
    FakeRunnerOptions fake;
    fake.failure_share = 0.2;
    FakeRunner runner(fake);
    TuneOptions options;
    options.trials = 30;
    options.seed = seed;
    options.searcher = searcher;
    auto session = TuningSession::Open(std::move(inputs), Target{}, options, runner, *log_);
    ASSERT_TRUE(session) << session.error().message;
    Progress progress(Progress::Style::kQuiet);
    ASSERT_TRUE((*session)->Run([] { return false; }, progress));
  }

  std::string path_;
  std::unique_ptr<TuningLog> log_ = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
};

TEST_F(ScheduleRecordingTest, HoldsEveryProgramOfTheLogAndSurvivesItsFile) {
  Tune(1, "random");
  Tune(2, "mcts");
  const std::string target = ToRecord(Target{}).id;
  const auto recordings = RecordingsOf(*log_, target, 10);
  ASSERT_TRUE(recordings) << recordings.error().message;
  ASSERT_EQ(recordings->size(), 1u);
  const ScheduleRecording& recording = recordings->front();
  std::set<std::string> programs;
  std::int64_t failed = 0;
  double best = 1e30;
  for (const TrialRecord& trial : *log_->Trials({})) {
    if (!programs.insert(trial.schedule_key).second) continue;
    failed += trial.median_ns == 0;
    if (trial.status == "ok") best = std::min(best, trial.median_ns);
  }
  EXPECT_EQ(recording.schedules.size(), programs.size());
  EXPECT_GT(failed, 0);
  std::int64_t failed_here = 0;
  for (const RecordedSchedule& one : recording.schedules) failed_here += !one.outcome.Timed();
  EXPECT_EQ(failed_here, failed);
  EXPECT_NEAR(recording.schedules.front().outcome.median_ns, best, 1e-6);
  EXPECT_GT(recording.untuned_ns, 0);

  ASSERT_TRUE(WriteScheduleRecording(recording, path_));
  const auto back = ReadScheduleRecording(path_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->name, "product");
  EXPECT_EQ(PrintWorkload(back->workload), PrintWorkload(recording.workload));
  EXPECT_EQ(back->target.id, "cpu");
  ASSERT_EQ(back->schedules.size(), recording.schedules.size());
  for (std::size_t i = 0; i < back->schedules.size(); ++i) {
    EXPECT_EQ(back->schedules[i].schedule, recording.schedules[i].schedule);
    EXPECT_EQ(back->schedules[i].outcome.status, recording.schedules[i].outcome.status);
    EXPECT_EQ(back->schedules[i].outcome.message, recording.schedules[i].outcome.message);
    EXPECT_NEAR(back->schedules[i].outcome.median_ns, recording.schedules[i].outcome.median_ns,
                0.1);
  }
}

TEST_F(ScheduleRecordingTest, TooFewSchedulesAreNotWorthAFile) {
  Tune(1, "random");
  const auto recordings = RecordingsOf(*log_, ToRecord(Target{}).id, 31);
  ASSERT_TRUE(recordings);
  EXPECT_TRUE(recordings->empty());
}

TEST_F(ScheduleRecordingTest, DamagedFilesAreRefused) {
  const auto refused = [&](const std::string& text) {
    std::ofstream(path_) << text;
    const auto read = ReadScheduleRecording(path_);
    EXPECT_FALSE(read) << text;
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(refused("{"), HasSubstr("no whole recording"));
  EXPECT_THAT(refused(R"({"format": "other"})"), HasSubstr("no whole recording"));
  EXPECT_THAT(refused(R"({"format": "kindred-schedules", "version": 1})"),
              HasSubstr("no whole recording"));
  EXPECT_THAT(refused(R"({"format": "kindred-schedules", "version": 2})"), HasSubstr("newer"));
  std::filesystem::remove(path_);
  const auto missing = ReadScheduleRecording(path_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
}

TEST_F(ScheduleRecordingTest, TimesMustBePositive) {
  Tune(1, "random");
  auto recordings = *RecordingsOf(*log_, ToRecord(Target{}).id, 1);
  recordings[0].schedules[0].outcome.samples = {0};
  ASSERT_TRUE(WriteScheduleRecording(recordings[0], path_));
  const auto read = ReadScheduleRecording(path_);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("times above 0"));
}

}  // namespace
}  // namespace kindred
