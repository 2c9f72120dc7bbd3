#include "database/exchange/json_lines.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/database/sample_log.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InMemory;
using testing::OpenForWriting;
using testing::SampleBatch;
using testing::SampleContext;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

std::string Export(const TuningLog& log, const TrialFilter& filter = {}) {
  std::ostringstream out;
  const auto written = ExportJsonLines(log, filter, out);
  EXPECT_TRUE(written) << written.error().message;
  return out.str();
}

Result<AppendSummary> Import(const std::string& text, TuningLog& log) {
  std::istringstream in(text);
  return ImportJsonLines(in, "trials.jsonl", log);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(JsonLines, ExportImportExportGivesTheSameBytes) {
  const auto log = InMemory(SampleBatch(3));
  const std::string text = Export(*log);
  const auto copy = OpenForWriting(":memory:");
  const auto summary = Import(text, *copy);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->added, 12);
  EXPECT_EQ(Export(*copy), text);

  EXPECT_EQ(copy->Trials({}).value(), log->Trials({}).value());
  EXPECT_EQ(copy->Tasks("s1").value(), log->Tasks("s1").value());
  EXPECT_EQ(copy->Workloads().value(), log->Workloads().value());
  EXPECT_EQ(copy->Targets().value(), log->Targets().value());
  EXPECT_EQ(copy->Families().value(), log->Families().value());
  EXPECT_TRUE(copy->FindSession("s1").value()->imported);
  EXPECT_EQ(copy->FindSession("s1").value()->seed, log->FindSession("s1").value()->seed);
  EXPECT_EQ(copy->BestSchedule("w1", "cpu").value(), log->BestSchedule("w1", "cpu").value());
  EXPECT_THAT(copy->Verify().value(), ElementsAre());
}

TEST(JsonLines, EachLineStandsAlone) {
  const auto log = InMemory(SampleBatch(2));
  const auto lines = Lines(Export(*log));
  ASSERT_EQ(lines.size(), 8u);
  const Json line = Json::parse(lines[5]);
  EXPECT_EQ(line["workload"]["text"], "output Y[i] = X[i] + 1\n");
  EXPECT_EQ(line["target"]["fingerprint"]["model"], "Sample CPU");
  EXPECT_EQ(line["trial"]["schedule"]["rows"], 8);
  EXPECT_EQ(line["trial"]["samples"].size(), 3u);
  EXPECT_THAT(line["kernel"]["code"].get<std::string>(), HasSubstr("int entry("));
  const auto copy = OpenForWriting(":memory:");
  EXPECT_EQ(Import(lines[5] + "\n\n", *copy)->added, 1);
  EXPECT_THAT(copy->Verify().value(), ElementsAre()) << "a part of a session is fine when imported";
}

TEST(JsonLines, ImportingAgainAddsNothing) {
  const auto log = InMemory(SampleBatch(3));
  const std::string text = Export(*log);
  const auto again = Import(text, *log);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->added, 0);
  EXPECT_EQ(again->skipped, 12);
  EXPECT_FALSE(log->FindSession("s1").value()->imported) << "what is stored stays";
  EXPECT_EQ(Export(*log), text);
  const auto doubled = OpenForWriting(":memory:");
  EXPECT_EQ(Import(text + text, *doubled)->added, 12);
}

TEST(JsonLines, ExportsWhatTheFilterLetsThrough) {
  const auto log = InMemory(SampleBatch(400));
  TrialFilter filter;
  filter.workload = "w1";
  EXPECT_EQ(Lines(Export(*log, filter)).size(), 800u);
  filter.limit = 701;
  EXPECT_EQ(Lines(Export(*log, filter)).size(), 701u);
}

struct BadLine {
  const char* name;
  void (*change)(Json& line);
  const char* message;
};

class BadJsonLine : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadJsonLine, IsNamedWithItsNumberAndNothingIsImported) {
  auto lines = Lines(Export(*InMemory(SampleBatch(2))));
  Json line = Json::parse(lines[2 + 1]);
  GetParam().change(line);
  lines[3] = line.dump();
  std::string text;
  for (const auto& each : lines) text += each + "\n";
  const auto log = OpenForWriting(":memory:");
  const auto summary = Import(text, *log);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(summary.error().message, StartsWith("trials.jsonl:4: "));
  EXPECT_THAT(summary.error().message, HasSubstr(GetParam().message));
  EXPECT_EQ(log->Counts().value().workloads, 0);
  EXPECT_EQ(log->Epoch().value(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadJsonLine,
    ::testing::Values(
        BadLine{"NotATrial", [](Json& line) { line = Json::array(); }, "not a JSON object"},
        BadLine{"OtherKind", [](Json& line) { line["kindred"] = "model"; }, "not a trial"},
        BadLine{"Newer", [](Json& line) { line["version"] = 9; }, "newer Kindred (format 9"},
        BadLine{"UnknownPart", [](Json& line) { line["extra"] = 1; }, "unknown field 'extra'"},
        BadLine{"UnknownField", [](Json& line) { line["trial"]["colour"] = 1; },
                "trial: unknown field 'colour'"},
        BadLine{"MissingPart", [](Json& line) { line.erase("workload"); }, "no object 'workload'"},
        BadLine{"MissingField", [](Json& line) { line["trial"].erase("status"); },
                "trial: field 'status' is missing"},
        BadLine{"WrongType", [](Json& line) { line["task"]["weight"] = "3"; },
                "task: field 'weight' must be a number"},
        BadLine{"WrongSample", [](Json& line) { line["trial"]["samples"][1] = "x"; },
                "must be a list of numbers"},
        BadLine{"NegativeSample", [](Json& line) { line["trial"]["samples"][1] = -1; },
                "no positive number"},
        BadLine{"NegativeSeed", [](Json& line) { line["session"]["seed"] = -1; },
                "'seed' must be a whole number from 0"},
        BadLine{"Status", [](Json& line) { line["trial"]["status"] = ""; }, "it has no status"},
        BadLine{"OtherWorkload", [](Json& line) { line["trial"]["workload"] = "w9"; },
                "not of the same workload"},
        BadLine{"OtherTarget", [](Json& line) { line["session"]["target"] = "gpu"; },
                "not of the same target"},
        BadLine{"ChangedCode", [](Json& line) { line["kernel"]["code"] = "system(\"x\");"; },
                "the line was changed"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(JsonLines, RefusesTruncatedAndDeeplyNestedLines) {
  const std::string text = Export(*InMemory(SampleBatch(1)));
  const auto log = OpenForWriting(":memory:");
  const auto truncated = Import(text.substr(0, text.size() - 10), *log);
  ASSERT_FALSE(truncated);
  EXPECT_THAT(truncated.error().message, StartsWith("trials.jsonl:4: not a JSON object"));
  const auto nested = Import(std::string(1000000, '['), *log);
  ASSERT_FALSE(nested);
  EXPECT_THAT(nested.error().message, HasSubstr("nested too deeply"));
  EXPECT_EQ(log->Counts().value().workloads, 0);
}

TEST(JsonLines, RefusesAConflictingTrial) {
  const auto log = InMemory(SampleBatch(1));
  LogBatch other = SampleBatch(1);
  other.trials[1].median_ns = 1;
  other.trials[1].samples = {1};
  const auto summary = Import(Export(*InMemory(other)), *log);
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().message,
              HasSubstr("another trial at session s1, round 0, position 1"));
}

}  // namespace
}  // namespace kindred
