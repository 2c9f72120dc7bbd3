// Latencies: a measured one is the log's, with the bounds of its median; others have an error bar.
#include "tuner/prediction.h"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "schedules/emit_c.h"
#include "schedules/text_form.h"
#include "search/searcher.h"
#include "tuner/record_mapping.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;

constexpr const char* kMatmul =
    "input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n";
constexpr const char* kWider =
    "input A: f32[64,96]\nweight B: f32[96,160]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n";

void WriteTrial(TuningLog& log, const Target& target, std::vector<double> samples) {
  const CanonicalWorkload canonical = Canonicalize(*ParseWorkload(kMatmul));
  const auto space = MakeSpace(canonical.workload, target);
  const Candidate candidate = MakeRandomSearcher(*space, 3)->Propose(1).at(0);
  const KernelSource kernel = EmitC(*candidate.program, canonical.workload, target);
  LogBatch batch;
  batch.targets.push_back(ToRecord(target));
  batch.workloads.push_back(ToRecord(canonical, "matmul"));
  SessionRecord session;
  session.id = "s";
  session.target = batch.targets[0].id;
  batch.sessions.push_back(session);
  batch.kernels.push_back(ToRecord(kernel, canonical.workload));
  Outcome outcome;
  outcome.samples = std::move(samples);
  outcome.median_ns = 5000;
  outcome.validated = true;
  batch.trials.push_back(ToRecord(
      {"s", 0, 0, canonical.key.Hex(), batch.targets[0].id, "random", 6000, batch.kernels[0].hash},
      candidate, kernel, outcome));
  const auto written = log.Append(batch);
  ASSERT_TRUE(written) << written.error().message;
}

TEST(Prediction, IsTheLogsWhereItWasMeasured) {
  const auto log = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  const Target target;
  std::vector<double> samples;
  for (int i = -8; i <= 8; ++i) samples.push_back(5000 + 10 * i);
  WriteTrial(*log, target, samples);
  const auto estimate = EstimateLatency(log.get(), {*ParseWorkload(kMatmul), target, {}});
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_TRUE(estimate->measured());
  EXPECT_EQ(estimate->ns, 5000);
  EXPECT_EQ(estimate->low_ns, 4960);   // rank 4 of 17
  EXPECT_EQ(estimate->high_ns, 5050);  // rank 13
  EXPECT_NEAR(estimate->gflops, 2.0 * 64 * 96 * 80 / 5000, 1e-9);

  const auto sibling = EstimateLatency(log.get(), {*ParseWorkload(kWider), target, {}});
  ASSERT_TRUE(sibling) << sibling.error().message;
  EXPECT_EQ(sibling->match, MatchLevel::kSibling);
  EXPECT_FALSE(sibling->measured());
}

TEST(Prediction, HasAnErrorBarOtherwise) {
  const auto estimate = EstimateLatency(nullptr, {*ParseWorkload(kMatmul), Target(), {}});
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_EQ(estimate->match, MatchLevel::kDefault);
  EXPECT_GT(estimate->low_ns, 0);
  // Nothing is known of the errors: one standard deviation is taken for a factor of two.
  EXPECT_NEAR(estimate->high_ns / estimate->ns, std::exp2(1.645), 1e-9);
  EXPECT_NEAR(estimate->ns / estimate->low_ns, std::exp2(1.645), 1e-9);
}

TEST(Prediction, RanksSchedulesByTheModel) {
  const KernelQuery query{*ParseWorkload(kMatmul), Target(), {}};
  const auto ranked = RankSchedules(nullptr, query, 5);
  ASSERT_TRUE(ranked) << ranked.error().message;
  ASSERT_EQ(ranked->size(), 5u);
  std::set<std::string> keys;
  for (std::size_t i = 0; i < ranked->size(); ++i) {
    keys.insert((*ranked)[i].candidate.key.Hex());
    if (i > 0) {
      EXPECT_LE((*ranked)[i - 1].prediction.ns, (*ranked)[i].prediction.ns);
    }
  }
  EXPECT_EQ(keys.size(), 5u);
}

TEST(Prediction, BoundsOfFewSamplesAreTheMedian) {
  EXPECT_EQ(MedianBounds({1, 2, 3, 4, 9}, 3), std::pair(3.0, 3.0));
  EXPECT_EQ(MedianBounds({6, 5, 4, 3, 2, 1}, 3.5), std::pair(1.0, 6.0));
}

TEST(Prediction, PointsAreSpreadWithBothEnds) {
  const std::vector<std::int64_t> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(SpreadOver(values, 3), ElementsAre(1, 5, 9));
  EXPECT_THAT(SpreadOver(values, 2), ElementsAre(1, 9));
  EXPECT_THAT(SpreadOver(values, 1), ElementsAre(5));
  EXPECT_THAT(SpreadOver(values, 9), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(SpreadOver(values, 20).size(), 9u);
  EXPECT_EQ(SpreadOver(values, 6).size(), 6u);
}

}  // namespace
}  // namespace kindred
