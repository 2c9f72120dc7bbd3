// A damaged log is either refused with a message or answers every question with a value or an
// error.
//
// Input: a whole SQLite file, or patches of a small log, four bytes each: a place (three bytes,
// modulo the log's length) and what is written there. An odd number of patches is opened for
// reading, an even one for writing too.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "database/exchange/json_lines.h"
#include "database/sqlite_log.h"
#include "tests/database/sample_log.h"
#include "tests/fuzz/fuzz_target.h"

namespace kindred::fuzz {
namespace {

constexpr std::string_view kMagic = "SQLite format 3";

// The bytes of a log with every kind of row.
std::string SmallLog(const std::string& path) {
  {
    const auto log = OpenSqliteLog(path, OpenMode::kReadWrite);
    Require(log && (*log)->Append(testing::SampleBatch(2)), "a small log");
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Patched(std::string log, std::string_view patches) {
  for (std::size_t i = 0; i + 4 <= patches.size(); i += 4) {
    std::size_t place = 0;
    for (std::size_t k = 0; k < 3; ++k)
      place = place << 8 | static_cast<unsigned char>(patches[i + k]);
    log[place % log.size()] = patches[i + 3];
  }
  return log;
}

void Write(const std::string& path, std::string_view bytes) {
  for (const char* suffix : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path + suffix);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

template <typename T>
void Answered(const Result<T>& result) {
  Require(result || !result.error().message.empty(), "an error has a message");
}

void AskEverything(const TuningLog& log) {
  Answered(log.Counts());
  Answered(log.Epoch());
  Answered(log.Targets());
  Answered(log.Workloads());
  Answered(log.Families());
  Answered(log.Sessions());
  Answered(log.Tasks("s1"));
  Answered(log.Progress("s1"));
  Answered(log.Trials({}));
  Answered(log.Jobs());
  Answered(log.Asked());
  Answered(log.FindModel("cpu", "pooled"));
  Answered(log.FamilyOf("w1"));
  Answered(log.BestSchedule("w1", "cpu"));
  Answered(log.BestSchedules("cpu"));
  Answered(log.MeasuredSince(0));
  Answered(log.Verify());
  std::ostringstream out;
  Answered(ExportJsonLines(log, {}, out));
}

}  // namespace

void FuzzLogFile(std::string_view bytes) {
  static const testing::TemporaryDirectory folder;
  static const std::string small = SmallLog(folder.File("small.db"));
  const std::string path = folder.File("log.db");
  Write(path, bytes.starts_with(kMagic) ? std::string(bytes) : Patched(small, bytes));
  const bool writes = bytes.size() / 4 % 2 == 0;
  const auto log = OpenSqliteLog(path, writes ? OpenMode::kReadWrite : OpenMode::kReadOnly);
  Answered(log);
  if (!log) return;
  AskEverything(**log);
  if (writes) Answered((*log)->Append(testing::SampleBatch(3)));
}

}  // namespace kindred::fuzz
