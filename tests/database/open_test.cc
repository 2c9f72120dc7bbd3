#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "database/migrations/migrations.h"
#include "database/sqlite_log.h"
#include "tests/database/sample_log.h"

namespace kindred {
namespace {

using testing::AskSql;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpenForWriting;
using testing::RunSql;
using testing::SampleBatch;
using testing::TemporaryDirectory;

Error OpenError(const std::string& path, OpenMode mode, SqliteLogOptions options = {}) {
  const auto log = OpenSqliteLog(path, mode, options);
  EXPECT_FALSE(log) << path << " was opened";
  return log ? Error{} : log.error();
}

TEST(OpenLog, CreatesAWalLogOfStrictTables) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("new.db");
  OpenForWriting(path);
  EXPECT_EQ(AskSql(path, "PRAGMA journal_mode"), "wal");
  EXPECT_EQ(AskSql(path, "PRAGMA user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(AskSql(path,
                   "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND "
                   "schema = 'main' "
                   "AND name NOT LIKE 'sqlite%'"),
            "0");
}

TEST(OpenLog, BringsEveryOlderVersionUpToDateAndKeepsItsRows) {
  for (int version = 0; version < kSchemaVersion; ++version) {
    const TemporaryDirectory directory;
    const std::string path = directory.File("old.db");
    RunSql(path, "CREATE TABLE t (a); DROP TABLE t");  // a database without tables
    for (int step = 0; step < version; ++step)
      RunSql(path, Migrations()[static_cast<std::size_t>(step)]);
    if (version > 0) {
      RunSql(path, fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                               kApplicationId, version));
      RunSql(path, "INSERT INTO target VALUES ('cpu', 'cpu', '{}', '{}', 'hot')");
    }
    const auto log = OpenForWriting(path);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->Targets().value().size(), version > 0 ? 1u : 0u);
    EXPECT_THAT(log->Verify().value(), ElementsAre());
    EXPECT_EQ(AskSql(path, "PRAGMA user_version"), std::to_string(kSchemaVersion));
  }
}

TEST(OpenLog, ReadsEveryOlderVersionWithoutChangingIt) {
  for (int version = 1; version < kSchemaVersion; ++version) {
    const TemporaryDirectory directory;
    const std::string path = directory.File("old.db");
    {
      const auto log = OpenForWriting(path);
      ASSERT_TRUE(log->Append(SampleBatch(3)));
    }
    // What the later steps made is taken out again.
    RunSql(path, "PRAGMA foreign_keys = OFF; DROP TABLE family_pin");
    if (version < 4) RunSql(path, "PRAGMA foreign_keys = OFF; DROP TABLE profile");
    if (version < 3) RunSql(path, "PRAGMA foreign_keys = OFF; DROP TABLE asked; DROP TABLE job");
    if (version < 2) RunSql(path, "DROP VIEW best_schedule; DROP VIEW session_progress");
    RunSql(path, fmt::format("PRAGMA user_version = {}", version));
    const auto log = OpenSqliteLog(path, OpenMode::kReadOnly);
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ((*log)->Targets().value().size(), 1u);
    EXPECT_THAT((*log)->Jobs().value(), ElementsAre());
    EXPECT_THAT((*log)->Verify().value(), ElementsAre());
    EXPECT_EQ(AskSql(path, "PRAGMA user_version"), std::to_string(version));
    EXPECT_EQ((*log)->FindProfile(1).value(), std::nullopt);
    EXPECT_EQ(AskSql(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'profile'"),
              version < 4 ? "0" : "1");
    EXPECT_EQ(AskSql(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'family_pin'"), "0");
  }
}

TEST(OpenLog, RefusesANewerVersionAndLeavesItAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  OpenForWriting(path);
  RunSql(path, fmt::format("PRAGMA user_version = {}", kSchemaVersion + 5));
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
    const Error error = OpenError(path, mode);
    EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
    EXPECT_THAT(error.message,
                HasSubstr(fmt::format("newer Kindred (schema {}", kSchemaVersion + 5)));
    EXPECT_THAT(error.message, HasSubstr("upgrade"));
  }
  EXPECT_EQ(AskSql(path, "PRAGMA user_version"), std::to_string(kSchemaVersion + 5));
}

TEST(OpenLog, ReadingNeedsAFileThatIsThere) {
  const TemporaryDirectory directory;
  const Error error = OpenError(directory.File("none.db"), OpenMode::kReadOnly);
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("there is no log"));
  EXPECT_FALSE(std::filesystem::exists(directory.File("none.db")));
  EXPECT_EQ(OpenError("", OpenMode::kReadOnly).kind, ErrorKind::kBadInput);
}

TEST(OpenLog, RefusesWhatIsNoLog) {
  const TemporaryDirectory directory;
  const std::string text = directory.File("notes.txt");
  std::ofstream(text) << std::string(5000, 'x');
  const std::string other = directory.File("other.db");
  RunSql(other, "CREATE TABLE bookmarks (url TEXT)");
  const std::string empty = directory.File("empty.db");
  std::ofstream(empty).close();
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
    EXPECT_THAT(OpenError(text, mode).message, HasSubstr("not a Kindred log"));
    EXPECT_EQ(OpenError(text, mode).kind, ErrorKind::kBadInput);
    EXPECT_THAT(OpenError(other, mode).message, HasSubstr("another program"));
    EXPECT_THAT(OpenError(directory.path(), mode).message, HasSubstr("is a directory"));
  }
  EXPECT_THAT(OpenError(empty, OpenMode::kReadOnly).message, HasSubstr("is empty"));
  EXPECT_EQ(AskSql(other, "SELECT name FROM sqlite_schema"), "bookmarks");
  EXPECT_EQ(AskSql(other, "PRAGMA journal_mode"), "delete");
  EXPECT_EQ(std::filesystem::file_size(text), 5000u);
}

TEST(OpenLog, SaysWhyItCannotCreateAFile) {
  const TemporaryDirectory directory;
  const Error missing = OpenError(directory.File("no/such/a.db"), OpenMode::kReadWrite);
  EXPECT_EQ(missing.kind, ErrorKind::kEnvironment);
  EXPECT_THAT(missing.message, HasSubstr("directory does not exist"));
  std::ofstream(directory.File("file")).close();
  EXPECT_THAT(OpenError(directory.File("file/a.db"), OpenMode::kReadWrite).message,
              HasSubstr("Not a directory"));
}

void CheckPermissions() {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  ASSERT_TRUE(OpenForWriting(path)->Append(SampleBatch(1)));
  chmod(path.c_str(), 0444);
  EXPECT_THAT(OpenError(path, OpenMode::kReadWrite).message, HasSubstr("Permission denied"));
  chmod(directory.path().c_str(), 0555);
  EXPECT_THAT(OpenError(directory.File("b.db"), OpenMode::kReadWrite).message,
              HasSubstr("Permission denied"));
  {
    const auto log =
        OpenSqliteLog(path, OpenMode::kReadOnly);  // without a place for the shared-memory file
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ((*log)->Epoch().value(), 4);
  }
  chmod(path.c_str(), 0);
  EXPECT_THAT(OpenError(path, OpenMode::kReadOnly).message, HasSubstr("Permission denied"));
  chmod(directory.path().c_str(), 0755);
}

TEST(OpenLog, SaysThatPermissionsAreMissing) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);  // root may write everywhere
    CheckPermissions();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OpenLog, ReadsFromAReadOnlyFileSystem) {
  const TemporaryDirectory directory;
  if (mount("none", directory.path().c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "no permission to mount";
  const std::string path = directory.File("a b?%#.db");
  ASSERT_TRUE(OpenForWriting(path)->Append(SampleBatch(1)));
  ASSERT_EQ(mount("none", directory.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=4m"), 0);
  {
    const auto log = OpenSqliteLog(path, OpenMode::kReadOnly);
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ((*log)->Epoch().value(), 4);
    EXPECT_THAT(OpenError(path, OpenMode::kReadWrite).message, HasSubstr("Read-only file system"));
    EXPECT_THAT(OpenError(directory.File("b.db"), OpenMode::kReadWrite).message,
                HasSubstr("Read-only file system"));
  }
  EXPECT_EQ(umount(directory.path().c_str()), 0);
}

TEST(OpenLog, AReadOnlyLogRefusesToAppend) {
  const TemporaryDirectory directory;
  OpenForWriting(directory.File("a.db"));
  const auto log = OpenSqliteLog(directory.File("a.db"), OpenMode::kReadOnly).value();
  const auto appended = log->Append(SampleBatch(1));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(appended.error().message, HasSubstr("cannot be written"));
}

TEST(OpenLog, SaysThatAnotherProcessHoldsTheLock) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.db");
  OpenForWriting(path);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto log = OpenSqliteLog(path, OpenMode::kReadWrite, {50}).value();
  const auto appended = log->Append(SampleBatch(1));
  ASSERT_FALSE(appended);
  EXPECT_THAT(appended.error().message, HasSubstr("locked by another process for 0.05 s"));
  EXPECT_EQ(log->Epoch().value(), 0) << "readers do not wait";
  sqlite3_close(other);
  EXPECT_TRUE(log->Append(SampleBatch(1)));
}

}  // namespace
}  // namespace kindred
