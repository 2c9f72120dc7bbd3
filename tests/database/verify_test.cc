// Verify() must find each kind of damage that is planted behind its back, and name it.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "tests/database/sample_log.h"

namespace kindred {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpenForWriting;
using testing::RunSql;
using testing::SampleBatch;
using testing::TemporaryDirectory;

struct Damage {
  const char* name;
  const char* sql;
  const char* problem;  // part of the sentence
};

class Verify : public ::testing::TestWithParam<Damage> {};

TEST_P(Verify, FindsWhatWasPlanted) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  ASSERT_TRUE(OpenForWriting(path)->Append(SampleBatch(3)));
  EXPECT_THAT(OpenForWriting(path)->Verify().value(), ElementsAre());
  RunSql(path, GetParam().sql);
  const auto log = OpenSqliteLog(path, OpenMode::kReadOnly).value();
  const auto problems = log->Verify();
  ASSERT_TRUE(problems) << problems.error().message;
  EXPECT_THAT(*problems, ElementsAre(HasSubstr(GetParam().problem)));
}

INSTANTIATE_TEST_SUITE_P(
    Planted, Verify,
    ::testing::Values(
        Damage{"Median", "UPDATE trial SET median_ns = 99 WHERE id = 1",
               "trial 1: median_ns 99 is not the median"},
        Damage{"Samples", "UPDATE trial SET samples = '[\"x\"]' WHERE id = 2",
               "trial 2: its samples are no list"},
        Damage{"LostRound", "DELETE FROM trial WHERE round = 1",
               "session s1 jumps from round 0 to round 2"},
        Damage{"LostTrial", "DELETE FROM trial WHERE round = 1 AND position = 2",
               "session s1, round 1 jumps from position 1 to position 3"},
        Damage{"LostStart", "DELETE FROM trial WHERE round = 2 AND position = 0",
               "jumps from position -1 to position 1"},
        Damage{"LostKernel", "DELETE FROM trial WHERE id > 1; DELETE FROM kernel",
               "row 1 of trial refers to a kernel"},
        Damage{"LostTask", "DELETE FROM trial WHERE id > 5; DELETE FROM task WHERE workload = 'w2'",
               "trial 5 is of workload w2, which is no task"},
        Damage{"OtherTarget",
               "INSERT INTO target VALUES ('gpu', 'gpu', '{}', '{}', 'hot'); UPDATE trial SET "
               "target = 'gpu' WHERE id = 3",
               "trial 3 is of target gpu"},
        Damage{"KernelCode", "UPDATE kernel SET package = '{\"steps\":[]}'",
               "does not have the hash"},
        Damage{"KernelFrame", "UPDATE kernel SET code = x'00112233'", "no zstd frame"},
        Damage{"FamilyAcross",
               "UPDATE family SET structure = 'x'; DELETE FROM family_member WHERE workload = 'w2'",
               "workload w1 is of structure structure, its family f1 of structure x"},
        Damage{"Epoch", "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'trial'",
               "the epoch 3 is behind"},
        Damage{"View", "DROP VIEW best_schedule", "view best_schedule is missing"},
        Damage{"Index", "DROP INDEX trial_task; CREATE INDEX trial_task ON trial (session)",
               "index trial_task is not as Kindred made it"},
        Damage{"Constraint",
               "PRAGMA ignore_check_constraints = 1; UPDATE trial SET validated = 7 WHERE id = 4",
               "trial 4 breaks a rule of its table"},
        Damage{
            "Json",
            "PRAGMA ignore_check_constraints = 1; UPDATE session SET inputs = '[' WHERE id = 's1'",
            "session s1 breaks a rule of its table"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(VerifyFile, FindsOverwrittenPages) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  ASSERT_TRUE(OpenForWriting(path)->Append(SampleBatch(50)));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0, std::ios::end);
    const auto size = static_cast<long>(file.tellp());
    for (long at = size / 2; at < size / 2 + 20000; at += 100) {
      file.seekp(at);
      file.write("garbage!", 8);
    }
  }
  const auto log = OpenSqliteLog(path, OpenMode::kReadOnly).value();
  const auto problems = log->Verify();
  if (problems) {
    EXPECT_THAT(*problems, Contains(HasSubstr("the file is damaged")));
  } else {
    EXPECT_THAT(problems.error().message, HasSubstr("is damaged"));
  }
}

TEST(VerifyImported, APartOfASessionOfAnotherLogIsNoProblem) {
  LogBatch batch = SampleBatch(3);
  batch.sessions[0].imported = true;
  batch.trials.erase(batch.trials.begin(), batch.trials.begin() + 6);
  EXPECT_THAT(testing::InMemory(batch)->Verify().value(), ElementsAre());
}

}  // namespace
}  // namespace kindred
