// A small log with every kind of row, and files to put it in.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "database/sqlite_log.h"
#include "database/tuning_log.h"

namespace kindred::testing {

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::string File(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Trial `position` of `round` in SampleBatch's session, 100 + position ns, status ok.
TrialRecord SampleTrial(std::int64_t round, std::int64_t position);

// One target, two workloads in one family, one session with both as tasks, one kernel, one model,
// no trials.
LogBatch SampleContext();

// SampleContext with `rounds` rounds of four trials; one in each round failed.
LogBatch SampleBatch(int rounds);

// A log in memory that holds `batch`.
std::unique_ptr<TuningLog> InMemory(const LogBatch& batch);

// Opens for reading and writing; fails the test where that fails.
std::unique_ptr<TuningLog> OpenForWriting(const std::string& path);

// Runs SQL with the SQLite library itself, behind Kindred's back.
void RunSql(const std::string& path, const std::string& sql);
// The first column of the first row, as text.
std::string AskSql(const std::string& path, const std::string& sql);

}  // namespace kindred::testing
