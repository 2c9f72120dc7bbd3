// What the log keeps when processes die, disks fill up and others read.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "tests/database/sample_log.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpenForWriting;
using testing::SampleBatch;
using testing::SampleContext;
using testing::SampleTrial;
using testing::TemporaryDirectory;

// One round of four trials.
LogBatch Round(std::int64_t round) {
  LogBatch batch;
  for (int position = 0; position < 4; ++position)
    batch.trials.push_back(SampleTrial(round, position));
  return batch;
}

// Appends rounds from `first` on, and reports each on `pipe` once Append has returned. Never
// returns.
[[noreturn]] void WriteRounds(const std::string& path, std::int64_t first, int pipe) {
  auto log = OpenSqliteLog(path, OpenMode::kReadWrite);
  if (!log) _exit(1);
  for (std::int64_t round = first;; ++round) {
    if (!(*log)->Append(Round(round))) _exit(1);
    if (write(pipe, &round, sizeof round) != sizeof round) _exit(1);
  }
}

TEST(Durability, AKilledWriterLosesNothingThatItHasReported) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  ASSERT_TRUE(OpenForWriting(path)->Append(SampleContext()));
  std::int64_t next = 0;
  for (int kill_number = 0; kill_number < 10; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) WriteRounds(path, next, ends[1]);
    close(ends[1]);
    std::int64_t reported = -1;
    for (int rounds = 0; rounds < 3 + kill_number; ++rounds)
      ASSERT_EQ(read(ends[0], &reported, sizeof reported), static_cast<ssize_t>(sizeof reported));
    usleep(static_cast<useconds_t>(137 * kill_number));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (read(ends[0], &reported, sizeof reported) == static_cast<ssize_t>(sizeof reported)) {
    }
    close(ends[0]);

    // A reader first, on what the dead process has left.
    {
      const auto log = OpenSqliteLog(path, OpenMode::kReadOnly);
      ASSERT_TRUE(log) << log.error().message;
      EXPECT_GE((*log)->Epoch().value(), 4 * (reported + 1));
      EXPECT_THAT((*log)->Verify().value(), ElementsAre());
    }
    const auto log = OpenForWriting(path);
    const auto trials = log->Trials({}).value();
    EXPECT_EQ(trials.size() % 4, 0u) << "half a round";
    for (std::size_t i = 0; i < trials.size(); ++i) {
      TrialRecord expected =
          SampleTrial(static_cast<std::int64_t>(i / 4), static_cast<std::int64_t>(i % 4));
      expected.id = trials[i].id;
      ASSERT_EQ(trials[i], expected);
    }
    next = static_cast<std::int64_t>(trials.size() / 4);
    EXPECT_GT(next, reported);
  }
}

TEST(Durability, AProcessThatDiesWhileCreatingALogLeavesOneThatCanBeOpened) {
  const TemporaryDirectory directory;
  for (int delay = 0; delay < 20; ++delay) {
    const std::string path = directory.File("a" + std::to_string(delay) + ".db");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto log = OpenSqliteLog(path, OpenMode::kReadWrite);
      _exit(log ? 0 : 1);
    }
    usleep(static_cast<useconds_t>(300 * delay));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto log = OpenForWriting(path);
    ASSERT_NE(log, nullptr);
    EXPECT_THAT(log->Verify().value(), ElementsAre());
  }
}

// Appends rounds until one is refused; the log must then hold all those before it and nothing of
// that one.
void FillUntilRefused(const std::string& path, const std::string& reason) {
  const auto log = OpenForWriting(path);
  ASSERT_NE(log, nullptr);
  ASSERT_TRUE(log->Append(SampleContext()));
  Error error;
  std::int64_t round = 0;
  for (; round < 100000; ++round) {
    LogBatch batch = Round(round);
    for (auto& trial : batch.trials) trial.message.assign(2000, 'm');
    const auto appended = log->Append(batch);
    if (appended) continue;
    error = appended.error();
    break;
  }
  EXPECT_EQ(error.kind, ErrorKind::kEnvironment);
  EXPECT_THAT(error.message, HasSubstr(reason));
  EXPECT_THAT(error.message, HasSubstr(path));
  EXPECT_EQ(log->Epoch().value(), 4 * round);
  EXPECT_THAT(log->Verify().value(), ElementsAre());
}

TEST(Durability, AFullDiskIsSaidAndLeavesTheLogWhole) {
  const TemporaryDirectory directory;
  if (mount("none", directory.path().c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "no permission to mount";
  FillUntilRefused(directory.File("a.db"), "is full");
  // No room for another log: nothing of it stays behind.
  const auto second = OpenSqliteLog(directory.File("b.db"), OpenMode::kReadWrite);
  EXPECT_FALSE(second);
  if (!second) {
    EXPECT_THAT(second.error().message, HasSubstr("is full"));
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"})
    EXPECT_FALSE(std::filesystem::exists(directory.File(std::string("b.db") + suffix))) << suffix;
  EXPECT_EQ(umount(directory.path().c_str()), 0);
}

TEST(Durability, ALimitOnTheSizeOfFilesLeavesTheLogWhole) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {300000, 300000};
    setrlimit(RLIMIT_FSIZE, &limit);
    FillUntilRefused(path, "cannot be read or written");
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Durability, ReadersSeeWholeRoundsWhileAnotherWrites) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  const auto writer = OpenForWriting(path);
  ASSERT_TRUE(writer->Append(SampleContext()));
  constexpr std::int64_t kRounds = 200;
  std::atomic<bool> done = false;
  std::thread reading([&] {
    const auto reader = OpenSqliteLog(path, OpenMode::kReadOnly).value();
    std::size_t seen = 0;
    while (true) {
      const bool last = done;
      const auto trials = reader->Trials({});
      ASSERT_TRUE(trials) << trials.error().message;
      EXPECT_EQ(trials->size() % 4, 0u);
      EXPECT_GE(trials->size(), seen);
      seen = trials->size();
      if (last) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(seen, static_cast<std::size_t>(4 * kRounds));
  });
  for (std::int64_t round = 0; round < kRounds; ++round) {
    const auto appended = writer->Append(Round(round));
    EXPECT_TRUE(appended) << appended.error().message;
  }
  done = true;
  reading.join();
}

TEST(Durability, OneLogServesSeveralThreads) {
  const auto log = testing::InMemory(SampleContext());
  constexpr int kThreads = 4, kRounds = 25;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&log, thread] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_TRUE(log->Append(Round(thread * kRounds + round)));
        EXPECT_TRUE(log->BestSchedule("w1", "cpu"));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(log->Epoch().value(), 4 * kThreads * kRounds);
  EXPECT_THAT(log->Verify().value(), ElementsAre());
}

}  // namespace
}  // namespace kindred
