// Recordings are read whole, or as far as they go; what failed there is a failure with its cause.
#include "measure/recorded/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/measure/scratch.h"

namespace kindred {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead =
    R"({"device_name": "A", "kernel_name": "k", "tune_params_keys": ["x", "y"],
"tune_params": {"x": [1, 2, 4], "y": ["a", "b"]}, "objective": "time",
"cache": {
)";
constexpr std::string_view kEntries =
    R"("1,a": {"x": 1, "y": "a", "time": 2.5, "times": [2.0, 3.0], "timestamp": "t}"},
"2,a": {"x": 2, "y": "a", "time": "RuntimeFailedConfig"},
"4,a": {"x": 4, "y": "a", "time": NaN, "times": [1.0, Infinity]},
"4,b": {"x": 4, "y": "b", "time": 1e20},
"2,b": {"x": 2, "y": "b", "time": 1.5, "nested": {"deep": "NaN"}})";

std::string Whole() { return std::string(kHead) + std::string(kEntries) + "}\n}"; }

void ExpectAll(const Recording& recording) {
  ASSERT_EQ(recording.trials.size(), 5u);
  EXPECT_EQ(recording.trials[0].ms, 2.5);
  EXPECT_EQ(recording.trials[0].samples_ms, (std::vector<double>{2.0, 3.0}));
  EXPECT_EQ(recording.trials[1].ms, 0);
  EXPECT_EQ(recording.trials[1].failure, "RuntimeFailedConfig");
  EXPECT_EQ(recording.trials[2].ms, 0);
  EXPECT_THAT(recording.trials[2].failure, HasSubstr("not finite"));
  EXPECT_EQ(recording.not_finite, 1u);
  EXPECT_EQ(recording.trials[3].ms, 0);
  EXPECT_EQ(recording.trials[4].ms, 1.5);
  EXPECT_EQ(recording.trials[4].configuration, (std::vector<std::uint16_t>{1, 1}));
}

TEST(RecordingTest, ReadsACache) {
  const auto recording = ParseRecording(Whole(), "cache.json");
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_FALSE(recording->truncated);
  EXPECT_EQ(recording->kernel, "k");
  EXPECT_EQ(recording->device, "A");
  ExpectAll(*recording);
}

TEST(RecordingTest, ReadsAnUnfinishedCache) {
  for (const char* const end : {"", ",", ",\n", "\n", "}", R"(,"1,b": {"x": 1, "y)"}) {
    const auto recording =
        ParseRecording(std::string(kHead) + std::string(kEntries) + end, "cache.json");
    ASSERT_TRUE(recording) << end << ": " << recording.error().message;
    EXPECT_TRUE(recording->truncated);
    ExpectAll(*recording);
  }
}

// Wherever the file breaks off: the entries before are there, or it says that there are none.
TEST(RecordingTest, CutAnywhere) {
  const std::string whole = Whole();
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto recording = ParseRecording(whole.substr(0, length), "cache.json");
    if (!recording) {
      EXPECT_EQ(recording.error().kind, ErrorKind::kBadInput);
      EXPECT_EQ(most, 0u);
      continue;
    }
    EXPECT_GE(recording->trials.size(), most);
    most = recording->trials.size();
  }
  EXPECT_EQ(most, 5u);
}

TEST(RecordingTest, ReadsGzipAlsoWithoutItsEnd) {
  Scratch scratch;
  const std::string path = scratch.path() + "/cache.json.gz";
  std::string long_text(kHead);
  for (int i = 0; i < 4'000; ++i)
    long_text += "\"" + std::to_string(i) + R"(": {"x": )" + std::to_string(1 << (i % 3)) +
                 R"(, "y": "a", "time": )" + std::to_string(1 + i) + ".5},\n";
  const gzFile out = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(out, long_text.data(), static_cast<unsigned>(long_text.size())),
            static_cast<int>(long_text.size()));
  gzclose(out);
  const auto whole = ReadRecording(path);
  ASSERT_TRUE(whole) << whole.error().message;
  // Three configurations, each recorded often: the first counts.
  ASSERT_EQ(whole->trials.size(), 3u);
  EXPECT_EQ(whole->trials[1].ms, 2.5);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto half = ReadRecording(path);
  ASSERT_TRUE(half) << half.error().message;
  EXPECT_TRUE(half->truncated);
  EXPECT_EQ(half->trials.size(), 3u);
}

TEST(RecordingTest, ReadsT4) {
  const auto recording = ParseRecording(R"({"results": [
    {"configuration": {"x": 4, "y": "a"}, "invalidity": "correct", "times": {"runtimes": [1, 2]},
     "measurements": [{"name": "power", "value": 9}, {"name": "time", "value": 1.5}]},
    {"configuration": {"x": 2, "y": "a"}, "invalidity": "compile", "measurements": []},
    {"configuration": {"x": 2, "y": "b"}, "invalidity": "runtime",
     "measurements": [{"name": "time", "value": "RuntimeFailedConfig"}]}], "schema_version": "1.0.0"})",
                                        "t4.json");
  ASSERT_TRUE(recording) << recording.error().message;
  ASSERT_EQ(recording->trials.size(), 3u);
  ASSERT_EQ(recording->parameters.size(), 2u);
  EXPECT_EQ(Repr(Value(recording->parameters[0].values)), "[2, 4]");
  EXPECT_EQ(recording->trials[0].ms, 1.5);
  EXPECT_EQ(recording->trials[0].configuration[0], 1);
  EXPECT_EQ(recording->trials[0].samples_ms, (std::vector<double>{1, 2}));
  EXPECT_EQ(recording->trials[1].failure, "compile");
  EXPECT_EQ(recording->trials[2].failure, "RuntimeFailedConfig");
}

TEST(RecordingTest, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto recording = ParseRecording(text, "some.json");
    return recording ? "nothing" : recording.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("some.json: is neither"));
  EXPECT_THAT(message("[1, 2]"), HasSubstr("is neither"));
  EXPECT_THAT(message(R"({"cache": {}})"), HasSubstr("has no configurations"));
  EXPECT_THAT(message(R"({"cache": {"1": {"x": 1, "time": 1}}})"), HasSubstr("tune_params"));
  EXPECT_THAT(message(R"({"tune_params": {"x": [1]}, "cache": {"1": {"time": 1}}})"),
              HasSubstr("no value for the parameter 'x'"));
  EXPECT_THAT(message(R"({"tune_params": {"x": [1]}, "cache": {"1": {"x": 2, "time": 1}}})"),
              HasSubstr("2 is no value of the parameter 'x'"));
  const auto missing = ReadRecording("/nowhere/cache.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace kindred
