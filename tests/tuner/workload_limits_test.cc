#include "tuner/workload_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string WhyNot(const std::string& text, const WorkloadLimits& limits) {
  return WhyNotTunable(Canonicalize(*ParseWorkload(text)).workload, Target{}, limits);
}

constexpr char kMatmul[] =
    "input A: f32[1000,2000]\nweight B: f32[2000,500]\n"
    "output Y[m,n] = sum[k](A[m,k] * B[k,n])\n";

TEST(WorkloadLimits, MemoryCountsWeightsTwiceAndTheReference) {
  const double tensors = 4.0 * (1000 * 2000 + 2 * 2000 * 500 + 1000 * 500);
  EXPECT_EQ(MeasuringBytes(*ParseWorkload(kMatmul)), tensors + 32.0 * 1000 * 500);
}

TEST(WorkloadLimits, AWorkloadWithinThemIsTunable) {
  EXPECT_THAT(WhyNot(kMatmul, {}), IsEmpty());
  EXPECT_THAT(WhyNot(kMatmul, {.memory_bytes = 1e9}), IsEmpty());
}

TEST(WorkloadLimits, EachHasItsCause) {
  EXPECT_THAT(WhyNot(kMatmul, {.memory_bytes = 1e6}), HasSubstr("memory"));
  // 2e9 operations at 50 GFLOP/s.
  EXPECT_THAT(WhyNot(kMatmul, {.run_s = 0.01}), HasSubstr("at least 0.04 s"));
}

TEST(WorkloadLimits, TheMachineHasMemory) { EXPECT_GT(MemoryBytes(), 1 << 26); }

}  // namespace
}  // namespace kindred
