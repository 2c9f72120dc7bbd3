#include "tuner/record_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/cuda_targets.h"
#include "schedules/emit_kernel.h"
#include "schedules/text_form.h"
#include "tuner/plain_program.h"

namespace kindred {
namespace {

TEST(RecordMapping, EveryStatusComesBack) {
  for (int i = 0; i <= static_cast<int>(Status::kAbandoned); ++i) {
    TrialRecord record;
    record.status = Name(static_cast<Status>(i));
    const auto outcome = ToOutcome(record);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->status, static_cast<Status>(i));
  }
}

TEST(RecordMapping, AStatusOfANewerVersionIsNoFailureOfTheCandidate) {
  TrialRecord record;
  record.id = 17;
  record.status = "melted";
  const auto outcome = ToOutcome(record);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(outcome.error().message,
              testing::AllOf(testing::HasSubstr("trial 17"), testing::HasSubstr("'melted'"),
                             testing::HasSubstr("newer")));
}

// Kernels of every step and parameter kind come back from the log as they went in.
TEST(RecordMapping, CudaKernelsComeBack) {
  for (
      const char* text :
      {"input X: f32[64,96]\nweight W: f32[96,80]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n",
       "symbol n in 1..4096, likely 128\ninput X: f32[n,96]\nT[i] = sum[j](X[i,j])\noutput Y[i,j] = "
       "X[i,j] / T[i]\n"}) {
    const auto parsed = ParseWorkload(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Workload workload = Canonicalize(*parsed).workload;
    const Target target = *NamedCudaTarget("h200");
    const auto plain = PlainProgram(workload, target);
    ASSERT_TRUE(plain) << plain.error().message;
    const KernelSource kernel = EmitKernel(*plain, workload, target);
    ASSERT_FALSE(kernel.steps.empty());
    const auto back = ToKernel(ToRecord(kernel, workload));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->language, KernelSource::Language::kCuda);
    EXPECT_EQ(back->workspace_bytes, kernel.workspace_bytes);
    ASSERT_EQ(back->steps.size(), kernel.steps.size());
    const std::vector<std::int64_t> extents(workload.symbols.size(), 77);
    for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
      const KernelStep &was = kernel.steps[i], &is = back->steps[i];
      EXPECT_EQ(is.entry, was.entry);
      EXPECT_EQ(GridOf(is, extents), GridOf(was, extents));
      EXPECT_EQ(is.block, was.block);
      EXPECT_EQ(is.shared_bytes, was.shared_bytes);
      ASSERT_EQ(is.parameters.size(), was.parameters.size());
      for (std::size_t p = 0; p < was.parameters.size(); ++p) {
        EXPECT_EQ(is.parameters[p].kind, was.parameters[p].kind);
        EXPECT_EQ(is.parameters[p].value, was.parameters[p].value);
      }
    }
  }
}

TEST(RecordMapping, HowAGpuWasTimedComesBack) {
  Outcome outcome;
  outcome.median_ns = 100;
  outcome.driver = "580.65.06 (CUDA 13.0)";
  outcome.timer = "events";
  outcome.cold = true;
  outcome.sm_clock_mhz = 1755;
  outcome.throttled = "power";
  const TrialRecord record = ToRecord({}, {}, {}, outcome);
  EXPECT_EQ(record.cache_state, "cold");
  EXPECT_EQ(record.driver, "580.65.06 (CUDA 13.0)");
  const auto back = ToOutcome(record);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->driver, "580.65.06 (CUDA 13.0)");
  EXPECT_EQ(back->timer, "events");
  EXPECT_TRUE(back->cold);
  EXPECT_EQ(back->sm_clock_mhz, 1755);
  EXPECT_EQ(back->throttled, "power");
}

TEST(RecordMapping, WhatWasNotTimedHasTheTargetsCaches) {
  Outcome outcome;
  outcome.status = Status::kBuildError;
  TrialOrigin origin;
  origin.cache_state = "cold";
  EXPECT_EQ(ToRecord(origin, {}, {}, outcome).cache_state, "cold");
  EXPECT_EQ(ToRecord(origin, {}, {}, outcome).conditions, "{}");
}

TEST(RecordMapping, DamagedStepsAreBadInput) {
  KernelRecord record;
  record.package = R"({"language":"cuda","steps":[{"kind":"launch","entry":"k"}],"arguments":[]})";
  const auto kernel = ToKernel(record);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind, ErrorKind::kBadInput);
}

TEST(RecordMapping, GpusOfAKindHaveOneFingerprint) {
  const Target h200 = *NamedCudaTarget("h200"), h100 = *NamedCudaTarget("h100");
  EXPECT_NE(ToRecord(h200).fingerprint, ToRecord(h100).fingerprint);
  EXPECT_EQ(ToRecord(h200).cache_state, "cold");
  EXPECT_EQ(ToRecord(Target{}).cache_state, "hot");
  Target renamed = h200;
  renamed.id = "cuda:1";
  renamed.memory_gbps *= 0.9;
  EXPECT_EQ(ToRecord(renamed).fingerprint, ToRecord(h200).fingerprint);
  const auto back = ToTarget(ToRecord(h200));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->gpu.sms, h200.gpu.sms);
}

}  // namespace
}  // namespace kindred
