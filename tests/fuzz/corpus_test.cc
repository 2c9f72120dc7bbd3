// Replays tests/fuzz/corpus through the fuzz targets: what was found once stays fixed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/fuzz_target.h"

namespace kindred::fuzz {
namespace {

struct FuzzTarget {
  std::string_view name;  // its folder in tests/fuzz/corpus
  void (*run)(std::string_view bytes);
};

constexpr FuzzTarget kTargets[] = {
    {"workload_text", FuzzWorkloadText},
    {"workload_json", FuzzWorkloadJson},
    {"log_lines", FuzzLogLines},
    {"log_file", FuzzLogFile},
    {"onnx", FuzzOnnx},
    {"http", FuzzHttp},
};

std::vector<std::filesystem::path> FilesIn(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

class Corpus : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Corpus, HoldsThePromise) {
  const auto folder = std::filesystem::path(KINDRED_FUZZ_CORPUS) / GetParam().name;
  const auto files = FilesIn(folder);
  EXPECT_FALSE(files.empty()) << folder;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(path);
    std::printf("%s\n", path.filename().c_str());
    GetParam().run(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace kindred::fuzz
