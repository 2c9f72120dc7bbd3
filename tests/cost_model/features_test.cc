#include "cost_model/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "cost_model/internal/feature_list.h"
#include "cost_model/prior.h"
#include "tests/cost_model/gemm_program.h"

namespace kindred {
namespace {

using test::GemmProgram;
using test::GemmWorkload;
using test::NaiveGemmProgram;
using test::TestTarget;

TEST(Features, NamesAreDistinctAndMatchTheValues) {
  const auto names = FeatureNames(DeviceKind::kCpu);
  EXPECT_GE(names.size(), 60u);
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  const test::GemmShape shape{96, 256, 64};
  const std::vector<float> features =
      ExtractFeatures(GemmProgram(shape, {}), GemmWorkload(shape), TestTarget());
  ASSERT_EQ(features.size(), names.size());
  for (std::size_t i = 0; i < features.size(); ++i)
    EXPECT_TRUE(std::isfinite(features[i])) << names[i];
}

TEST(Features, DependOnNothingButTheProgram) {
  const test::GemmShape shape{96, 256, 64};
  const Workload workload = GemmWorkload(shape);
  const Program first = GemmProgram(shape, {}), second = NaiveGemmProgram(shape);
  const std::vector<float> before = ExtractFeatures(first, workload, TestTarget());
  const std::vector<float> other = ExtractFeatures(second, workload, TestTarget());
  EXPECT_NE(before, other);
  EXPECT_EQ(ExtractFeatures(first, workload, TestTarget()), before);
}

TEST(Features, OrderOfLoopsShowsInTheTraffic) {
  const test::GemmShape shape{1536, 64, 2048};
  const Workload workload = GemmWorkload(shape);
  const auto beyond = [&](bool rows_outer) {
    return ExtractFeatures(GemmProgram(shape, {.rows_outer = rows_outer}), workload, TestTarget());
  };
  // A is 12 MB: read once if its rows are the outer loop, once per column of tiles if not.
  EXPECT_GT(beyond(false)[kTimeL2], beyond(true)[kTimeL2] + 0.5f);
}

TEST(Features, BuildDecisionsAndScratchShow) {
  const test::GemmShape shape{96, 256, 64};
  Program program = GemmProgram(shape, {});
  program.compiler = "clang";
  program.flags = {"-mprefer-vector-width=512", "-ffoo"};
  program.AddBuffer({"w", DataType::kF32, 1 << 20, Scope::kWorkspace, -1, ""});
  const std::vector<float> features = ExtractFeatures(program, GemmWorkload(shape), TestTarget());
  EXPECT_EQ(features[kClang], 1);
  EXPECT_EQ(features[kWideVectors], 1);
  EXPECT_EQ(features[kNoSlp], 0);
  EXPECT_EQ(features[kOtherFlags], 1);
  EXPECT_EQ(features[kWorkspace], 1);  // 4 MB of 2 MB
}

TEST(Features, PrepareIsNotTimed) {
  const test::GemmShape shape{96, 256, 64};
  const Workload workload = GemmWorkload(shape);
  Program program = GemmProgram(shape, {});
  const std::vector<float> before = ExtractFeatures(program, workload, TestTarget());
  program.prepare = program.body;
  EXPECT_EQ(ExtractFeatures(program, workload, TestTarget()), before);
}

TEST(Prior, OrdersProgramsAsAnyoneWould) {
  const test::GemmShape shape{384, 512, 256};
  const Workload workload = GemmWorkload(shape);
  const Target target = TestTarget();
  const auto prior = [&](const Program& program) {
    return PriorNs(ExtractFeatures(program, workload, target), workload, target);
  };
  const double roofline = RooflineNs(workload, target);
  EXPECT_DOUBLE_EQ(roofline, 2.0 * 384 * 512 * 256 / 160);
  const double good = prior(GemmProgram(shape, {.rows = 12, .vectors = 2}));
  const double narrow = prior(GemmProgram(shape, {.rows = 2, .vectors = 1}));
  const double naive = prior(NaiveGemmProgram(shape));
  EXPECT_GE(good, roofline);
  EXPECT_LT(good, 3 * roofline);
  EXPECT_GT(narrow, 1.5 * good);
  EXPECT_GT(naive, 5 * narrow);
}

TEST(Prior, RooflineOfSmallDataIsTheCachesOwn) {
  const Target target = TestTarget();
  const Workload small = GemmWorkload({16, 16, 1}), large = GemmWorkload({4096, 4096, 1});
  EXPECT_NEAR(RooflineNs(small, target), CompulsoryBytes(small) / 300.0, 1e-9);
  EXPECT_NEAR(RooflineNs(large, target), CompulsoryBytes(large) / 12.0, 1e-3);
}

}  // namespace
}  // namespace kindred
