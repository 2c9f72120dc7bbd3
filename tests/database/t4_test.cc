#include "database/exchange/t4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/database/sample_log.h"

namespace kindred {
namespace {

using ::testing::HasSubstr;

TEST(T4, HoldsTheLastTrialOfEachConfiguration) {
  LogBatch batch = kindred::testing::SampleBatch(2);
  ASSERT_FALSE(batch.trials.empty());
  const std::string workload = batch.trials[0].workload;
  std::size_t failed = 0, all = 0;
  for (TrialRecord& trial : batch.trials) {
    if (trial.workload != workload) continue;
    trial.schedule = R"({"x":)" + std::to_string(all) + R"(,"y":"a"})";
    trial.schedule_key = std::to_string(all++);
    if (trial.status != "ok") ++failed;
  }
  // Once more, and slower: what counts.
  TrialRecord again = batch.trials[0];
  again.round = batch.trials.back().round + 1;
  again.position = 0;
  again.median_ns = 5e6;
  batch.trials.push_back(again);
  const auto log = kindred::testing::InMemory(batch);
  std::ostringstream out;
  const auto count = ExportT4(*log, workload, "", out);
  ASSERT_TRUE(count) << count.error().message;
  EXPECT_EQ(*count, static_cast<std::int64_t>(all));
  const auto results = nlohmann::json::parse(out.str())["results"];
  ASSERT_EQ(results.size(), all);
  std::size_t incorrect = 0;
  for (const auto& result : results) {
    if (result["invalidity"] != "correct") ++incorrect;
    if (result["configuration"]["x"] == 0) {
      EXPECT_EQ(result["measurements"][0]["value"], 5.0);
    }
    EXPECT_EQ(result["measurements"].empty(), result["invalidity"] != "correct");
  }
  EXPECT_EQ(incorrect, failed);
  EXPECT_GT(failed, 0u);
}

TEST(T4, SaysWhatIsNotThere) {
  const auto log = kindred::testing::InMemory(kindred::testing::SampleBatch(1));
  std::ostringstream out;
  const auto unknown = ExportT4(*log, "00112233445566778899aabbccddeeff", "", out);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no workload"));
  const std::string workload = kindred::testing::SampleTrial(0, 0).workload;
  const auto elsewhere = ExportT4(*log, workload, "cuda:7", out);
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("no trials"));
}

}  // namespace
}  // namespace kindred
