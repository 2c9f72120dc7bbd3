#include "database/sqlite_log.h"

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/database/sample_log.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InMemory;
using testing::OpenForWriting;
using testing::SampleBatch;
using testing::SampleContext;
using testing::SampleTrial;
using testing::TemporaryDirectory;

// `trials` as the log gives them: with ids from `first`.
std::vector<TrialRecord> Numbered(std::vector<TrialRecord> trials, std::int64_t first = 1) {
  for (auto& trial : trials) trial.id = first++;
  return trials;
}

TEST(SqliteLog, GivesBackEveryRecordAsItWas) {
  const TemporaryDirectory directory;
  const LogBatch batch = SampleBatch(3);
  {
    const auto log = OpenForWriting(directory.File("a.db"));
    const auto summary = log->Append(batch).value();
    EXPECT_EQ(summary.added, 12);
    EXPECT_EQ(summary.skipped, 0);
    EXPECT_EQ(summary.epoch, 12);
  }
  const auto log = OpenSqliteLog(directory.File("a.db"), OpenMode::kReadOnly).value();
  EXPECT_EQ(log->Targets().value(), batch.targets);
  EXPECT_EQ(log->Workloads().value(), batch.workloads);
  EXPECT_EQ(log->Families().value(), batch.families);
  EXPECT_EQ(log->Sessions().value(), batch.sessions);
  EXPECT_EQ(log->Tasks("s1").value(), batch.tasks);
  EXPECT_EQ(log->Trials({}).value(), Numbered(batch.trials));
  EXPECT_EQ(log->FindTarget("cpu").value(), batch.targets[0]);
  EXPECT_EQ(log->FindWorkload("w2").value(), batch.workloads[1]);
  EXPECT_EQ(log->FindKernel(batch.kernels[0].hash).value(), batch.kernels[0]);
  EXPECT_EQ(log->FindSession("s1").value(), batch.sessions[0]);
  EXPECT_EQ(log->FindModel("cpu", "families").value(), batch.models[0]);
  EXPECT_EQ(log->FamilyOf("w1").value(), batch.families[0]);
  EXPECT_EQ(log->Epoch().value(), 12);
  EXPECT_THAT(log->Verify().value(), ElementsAre());

  const LogCounts counts = log->Counts().value();
  EXPECT_EQ(counts.targets, 1);
  EXPECT_EQ(counts.workloads, 2);
  EXPECT_EQ(counts.families, 1);
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.sessions, 1);
  EXPECT_EQ(counts.trials, 12);
  EXPECT_EQ(counts.failed, 3);
}

TEST(SqliteLog, WhatIsNotThereIsEmpty) {
  const auto log = OpenForWriting(":memory:");
  EXPECT_EQ(log->FindTarget("cpu").value(), std::nullopt);
  EXPECT_EQ(log->FindWorkload("w").value(), std::nullopt);
  EXPECT_EQ(log->FindKernel("k").value(), std::nullopt);
  EXPECT_EQ(log->FindSession("s").value(), std::nullopt);
  EXPECT_EQ(log->FindModel("cpu", "m").value(), std::nullopt);
  EXPECT_EQ(log->FamilyOf("w").value(), std::nullopt);
  EXPECT_EQ(log->BestSchedule("w", "cpu").value(), std::nullopt);
  EXPECT_THAT(log->BestSchedules("cpu").value(), ElementsAre());
  EXPECT_THAT(log->Trials({}).value(), ElementsAre());
  EXPECT_THAT(log->Tasks("s").value(), ElementsAre());
  EXPECT_EQ(log->Epoch().value(), 0);
  EXPECT_THAT(log->Verify().value(), ElementsAre());
}

TEST(SqliteLog, SamplesComeBackBitForBit) {
  LogBatch batch = SampleContext();
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int position = 0; position < 50; ++position) {
    TrialRecord trial = SampleTrial(0, position);
    trial.samples = {std::pow(10.0, exponent(random)),
                     std::numeric_limits<double>::denorm_min(),
                     std::numeric_limits<double>::max(),
                     0.1,
                     1e21,
                     123456789};
    trial.median_ns = trial.samples[0];
    batch.trials.push_back(trial);
  }
  EXPECT_EQ(InMemory(batch)->Trials({}).value(), Numbered(batch.trials));
}

TEST(SqliteLog, JsonLosesItsWhiteSpaceOnlyAndMessagesBecomeUtf8) {
  LogBatch batch = SampleContext();
  batch.trials = {SampleTrial(0, 0)};
  batch.trials[0].schedule = "{ \"z\" : [ 1, 2.50 ],\n \"a\" : \"x  y\" }";
  batch.trials[0].message = "cut \xe2\x80";
  const auto log = InMemory(batch);
  const TrialRecord stored = log->Trials({}).value().at(0);
  EXPECT_EQ(stored.schedule, R"({"z":[1,2.5],"a":"x  y"})");
  EXPECT_EQ(stored.message, "cut \xef\xbf\xbd");
  // The same trial again is known to be the same.
  EXPECT_EQ(log->Append(batch).value().skipped, 1);
}

TEST(SqliteLog, FiltersTrials) {
  LogBatch batch = SampleBatch(4);
  batch.workloads[1].structure = "other";
  batch.families[0].members = {"w1"};
  const auto log = InMemory(batch);
  const auto ids = [&](const TrialFilter& filter) {
    std::vector<std::int64_t> found;
    for (const auto& trial : log->Trials(filter).value()) found.push_back(trial.id);
    return found;
  };
  TrialFilter by_workload;
  by_workload.workload = "w2";
  EXPECT_THAT(ids(by_workload), ElementsAre(5, 6, 7, 8, 13, 14, 15, 16));
  TrialFilter failed_of_structure;
  failed_of_structure.structure = "other";
  failed_of_structure.status = "build_error";
  EXPECT_THAT(ids(failed_of_structure), ElementsAre(7, 15));
  TrialFilter page;
  page.after = 14;
  page.limit = 1;
  page.session = "s1";
  page.target = "cpu";
  EXPECT_THAT(ids(page), ElementsAre(15));
  TrialFilter other_session;
  other_session.session = "none";
  EXPECT_THAT(ids(other_session), ElementsAre());
}

TEST(SqliteLog, ReplacesSessionsTasksFamiliesAndModels) {
  const auto log = InMemory(SampleBatch(1));
  LogBatch change;
  change.sessions = SampleContext().sessions;
  change.sessions[0].state = "finished";
  change.tasks = SampleContext().tasks;
  change.tasks[1].untuned_ns = 77;
  change.families = {{"f2", "structure", "{}", {"w2"}}};
  change.models = SampleContext().models;
  change.models[0].blob = "other";
  ASSERT_TRUE(log->Append(change));
  EXPECT_EQ(log->FindSession("s1").value()->state, "finished");
  EXPECT_EQ(log->Tasks("s1").value()[1].untuned_ns, 77);
  EXPECT_EQ(log->FindModel("cpu", "families").value()->blob, "other");
  EXPECT_EQ(log->FamilyOf("w2").value()->id, "f2");
  EXPECT_THAT(log->FamilyOf("w1").value()->members, ElementsAre("w1"));
  EXPECT_THAT(log->Verify().value(), ElementsAre());

  change.keep_stored = true;
  change.sessions[0].state = "failed";
  change.tasks[1].untuned_ns = 1;
  change.families = {{"f3", "structure", "{}", {"w2"}}};
  ASSERT_TRUE(log->Append(change));
  EXPECT_EQ(log->FindSession("s1").value()->state, "finished");
  EXPECT_EQ(log->Tasks("s1").value()[1].untuned_ns, 77);
  EXPECT_EQ(log->FamilyOf("w2").value()->id, "f2");
}

TEST(SqliteLog, PinsAreReplacedAndRemoved) {
  const auto log = InMemory(SampleBatch(1));
  LogBatch batch;
  batch.pins = {{"w2", 1, 5}, {"w1", 1, 5}};
  ASSERT_TRUE(log->Append(batch));
  EXPECT_THAT(log->FamilyPins().value(),
              ElementsAre(FamilyPinRecord{"w1", 1, 5}, FamilyPinRecord{"w2", 1, 5}));
  batch.pins = {{"w1", 2, 6}, {"w2", 0, 6}};
  ASSERT_TRUE(log->Append(batch));
  EXPECT_THAT(log->FamilyPins().value(), ElementsAre(FamilyPinRecord{"w1", 2, 6}));
  EXPECT_THAT(log->Verify().value(), ElementsAre());
  batch.pins = {{"unknown", 1, 7}};
  EXPECT_FALSE(log->Append(batch)) << "a pin is of a workload of the log";
}

TEST(SqliteLog, AppendsAllOfABatchOrNothing) {
  const auto log = InMemory(SampleBatch(1));
  const auto refused = [&](const LogBatch& batch) {
    const auto appended = log->Append(batch);
    EXPECT_FALSE(appended);
    EXPECT_EQ(log->Epoch().value(), 4);
    EXPECT_EQ(log->FindWorkload("w3").value(), std::nullopt);
    return appended ? std::string() : appended.error().message;
  };
  LogBatch batch;
  batch.workloads = {{"w3", "structure", "", "", "{}", 1, 1}};
  batch.trials = {SampleTrial(1, 0), SampleTrial(1, 1)};

  batch.trials[1].session = "nowhere";
  EXPECT_THAT(refused(batch), HasSubstr("FOREIGN KEY"));
  batch.trials[1] = SampleTrial(1, 1);
  batch.trials[1].median_ns = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refused(batch), HasSubstr("trial 1 of round 1: a time is no finite number"));
  batch.trials[1] = SampleTrial(1, 1);
  batch.trials[1].samples[1] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refused(batch), HasSubstr("a sample is no positive number"));
  batch.trials[1] = SampleTrial(1, 1);
  batch.trials[1].schedule = "{";
  EXPECT_THAT(refused(batch), HasSubstr("trial_json"));
  batch.trials[1] = SampleTrial(1, 1);
  batch.trials[1].samples.clear();
  EXPECT_THAT(refused(batch), HasSubstr("no samples"));
  // The place of a stored trial, with another content.
  batch.trials[1] = SampleTrial(0, 1);
  batch.trials[1].median_ns = 1;
  EXPECT_THAT(refused(batch), HasSubstr("session s1, round 0, position 1"));
  batch.trials[1] = SampleTrial(1, 1);
  batch.targets = SampleContext().targets;
  batch.targets[0].fingerprint = R"({"model":"Another CPU"})";
  EXPECT_THAT(refused(batch), HasSubstr("another device"));
  batch.targets.clear();
  batch.kernels = {{"wrong", "code", "{}"}};
  EXPECT_THAT(refused(batch), HasSubstr("hash"));
}

class BestSchedule : public ::testing::Test {
 protected:
  // A validated trial of workload w1.
  TrialRecord Trial(const std::string& schedule, double ns) {
    TrialRecord trial = SampleTrial(0, next_++);
    trial.workload = "w1";
    trial.schedule_key = schedule;
    trial.median_ns = ns;
    trial.samples = {ns};
    return trial;
  }
  std::string Best(const std::vector<TrialRecord>& trials, std::optional<std::int64_t> epoch = {}) {
    LogBatch batch = SampleContext();
    batch.trials = trials;
    const auto best = InMemory(batch)->BestSchedule("w1", "cpu", epoch).value();
    return best ? best->schedule_key : "none";
  }
  int next_ = 0;
};

TEST_F(BestSchedule, IsTheFastest) {
  EXPECT_EQ(Best({Trial("a", 5), Trial("b", 3), Trial("c", 4)}), "b");
  next_ = 0;
  EXPECT_EQ(Best({Trial("a", 3), Trial("b", 3)}), "a") << "the earlier of equals";
}

TEST_F(BestSchedule, NeedsAValidatedAnswer) {
  TrialRecord unsure = Trial("a", 1);
  unsure.validated = false;
  TrialRecord abandoned = Trial("b", 1);
  abandoned.status = "abandoned";
  TrialRecord cold = Trial("c", 1);
  cold.cache_state = "cold";
  EXPECT_EQ(Best({unsure, abandoned, cold}), "none");
  EXPECT_EQ(Best({unsure, abandoned, cold, Trial("d", 9)}), "d");
}

TEST_F(BestSchedule, TakesTheLatestMeasurementOfASchedule) {
  EXPECT_EQ(Best({Trial("lucky", 1), Trial("b", 3), Trial("lucky", 4)}), "b");
}

TEST_F(BestSchedule, NeverIsOneThatWasEverWrong) {
  TrialRecord wrong = Trial("a", 1);
  wrong.status = "wrong_answer";
  EXPECT_EQ(Best({wrong, Trial("a", 1), Trial("b", 2)}), "b");
  next_ = 0;
  TrialRecord slow = Trial("a", 1);
  slow.status = "run_timeout";
  EXPECT_EQ(Best({slow, Trial("a", 1), Trial("b", 2)}), "a")
      << "a slow machine is not the schedule's fault";
}

TEST_F(BestSchedule, CanBeAskedAsOfAnEpoch) {
  TrialRecord wrong = Trial("c", 1);
  wrong.position = 3;
  wrong.status = "out_of_bounds";
  next_ = 0;
  const std::vector<TrialRecord> trials = {Trial("a", 5), Trial("b", 3), Trial("c", 1), wrong};
  EXPECT_EQ(Best(trials, 0), "none");
  EXPECT_EQ(Best(trials, 1), "a");
  EXPECT_EQ(Best(trials, 2), "b");
  EXPECT_EQ(Best(trials, 3), "c");
  EXPECT_EQ(Best(trials, 4), "b");
  EXPECT_EQ(Best(trials), "b");
}

// The view is what compilers read; the interface must say the same, on random logs.
TEST_F(BestSchedule, AgreesWithTheView) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const TemporaryDirectory directory;
    const auto log = OpenForWriting(directory.File("a.db"));
    LogBatch batch = SampleContext();
    for (int i = 0; i < 40; ++i) {
      TrialRecord trial = SampleTrial(0, i);
      trial.workload = random() % 2 == 0 ? "w1" : "w2";
      trial.schedule_key = std::string(1, static_cast<char>('a' + random() % 8));
      trial.median_ns = 1 + random() % 10;
      trial.samples = {trial.median_ns};
      const char* const kStatus[] = {"ok", "ok",        "ok",           "ok",
                                     "ok", "abandoned", "wrong_answer", "crash"};
      trial.status = kStatus[random() % (repeat < 10 ? 6 : 8)];
      trial.validated = random() % 4 != 0;
      trial.cache_state = random() % 5 == 0 ? "cold" : "hot";
      batch.trials.push_back(trial);
    }
    ASSERT_TRUE(log->Append(batch));
    std::vector<TrialRecord> each;
    for (const char* workload : {"w1", "w2"}) {
      const auto best = log->BestSchedule(workload, "cpu").value();
      const std::string in_view = testing::AskSql(
          directory.File("a.db"),
          fmt::format("SELECT trial FROM best_schedule WHERE workload = '{}' AND target = 'cpu'",
                      workload));
      EXPECT_EQ(best ? std::to_string(best->id) : "", in_view);
      if (best) each.push_back(*best);
    }
    EXPECT_EQ(log->BestSchedules("cpu").value(), each);
  }
}

TEST(SqliteLog, CountsProgressPerTask) {
  const auto log = InMemory(SampleBatch(3));
  const auto progress = log->Progress("s1").value();
  ASSERT_EQ(progress.size(), 2u);
  EXPECT_EQ(progress[0].workload, "w1");
  EXPECT_EQ(progress[0].trials, 8);
  EXPECT_EQ(progress[0].failed, 2);
  EXPECT_EQ(progress[0].best_ns, 100);
  EXPECT_EQ(progress[1].trials, 4);
  const auto empty = InMemory(SampleContext())->Progress("s1").value();
  ASSERT_EQ(empty.size(), 2u);
  EXPECT_EQ(empty[0].trials, 0);
  EXPECT_EQ(empty[0].best_ns, 0);
}

JobRecord SampleJob(const std::string& id, double priority, std::int64_t created_ms) {
  JobRecord job;
  job.id = id;
  job.target = "cpu";
  job.inputs = R"([{"path":"a.onnx"}])";
  job.priority = priority;
  job.created_ms = created_ms;
  return job;
}

TEST(Jobs, AreTakenByPriorityThenAge) {
  const auto log = InMemory(SampleContext());
  EXPECT_FALSE(log->NextJob().value());
  LogBatch batch;
  batch.jobs = {SampleJob("late", 1, 30), SampleJob("old", 0, 10), SampleJob("early", 1, 20)};
  ASSERT_TRUE(log->Append(batch));
  std::vector<std::string> order;
  while (const auto next = log->NextJob().value()) {
    order.push_back(next->id);
    JobRecord taken = *next;
    taken.state = "running";
    taken.started_ms = 40;
    LogBatch update;
    update.jobs = {taken};
    ASSERT_TRUE(log->Append(update));
    EXPECT_EQ(log->FindJob(taken.id).value(), taken);
  }
  EXPECT_THAT(order, ElementsAre("early", "late", "old"));
  EXPECT_EQ(log->Jobs().value().front().id, "old");
  EXPECT_FALSE(log->FindJob("none").value());
}

TEST(Jobs, RefuseAnUnknownState) {
  const auto log = InMemory(SampleContext());
  LogBatch batch;
  batch.jobs = {SampleJob("a", 0, 1)};
  batch.jobs[0].state = "lost";
  EXPECT_FALSE(log->Append(batch));
  EXPECT_TRUE(log->Jobs().value().empty());
}

TEST(Asked, AddsUpAndFades) {
  const auto log = InMemory(SampleContext());
  const auto ask = [&](std::int64_t times, std::int64_t at_ms) {
    LogBatch batch;
    batch.asked = {{"w1", "cpu", times, static_cast<double>(times), at_ms}};
    return log->Append(batch).has_value();
  };
  ASSERT_TRUE(ask(3, 1000));
  ASSERT_TRUE(ask(1, 1000 + kAskedHalfLifeMs));
  ASSERT_TRUE(ask(2, 1000));  // told late: it has faded already
  const auto asked = log->Asked().value();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].times, 6);
  EXPECT_EQ(asked[0].last_ms, 1000 + kAskedHalfLifeMs);
  EXPECT_DOUBLE_EQ(asked[0].weight, 1.5 + 1 + 1);
}

TEST(Profiles, BelongToATrialAndAreReplaced) {
  const auto log = InMemory(SampleBatch(1));
  const std::int64_t trial = log->Epoch().value();
  EXPECT_EQ(log->FindProfile(trial).value(), std::nullopt);
  LogBatch batch;
  batch.profiles = {{trial, R"({"l2_hit_percent":50.5})", "cold", "580.65.06", "0.1", "host", 7}};
  ASSERT_TRUE(log->Append(batch));
  EXPECT_EQ(log->FindProfile(trial).value(), batch.profiles[0]);
  batch.profiles[0].metrics = R"({"l2_hit_percent":60})";
  ASSERT_TRUE(log->Append(batch));
  EXPECT_EQ(log->FindProfile(trial).value(), batch.profiles[0]);
  EXPECT_TRUE(log->Verify().value().empty());
  batch.profiles[0].trial = trial + 1;
  EXPECT_FALSE(log->Append(batch)) << "there is no such trial";
  batch.profiles[0].trial = trial;
  batch.profiles[0].metrics = "no JSON";
  EXPECT_FALSE(log->Append(batch));
}

TEST(MeasuredSince, NamesWorkloadsOfNewTrials) {
  const auto log = InMemory(SampleBatch(2));
  const std::int64_t epoch = log->Epoch().value();
  EXPECT_TRUE(log->MeasuredSince(epoch).value().empty());
  const auto last = log->MeasuredSince(epoch - 1).value();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].first, SampleTrial(1, 3).workload);
  EXPECT_EQ(last[0].second, SampleTrial(1, 3).target);
  EXPECT_EQ(log->MeasuredSince(0).value().size(), 2u);
}

}  // namespace
}  // namespace kindred
