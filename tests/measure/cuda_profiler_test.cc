// Hardware counters: through a worker on the emulated device; and our metrics' names and
// declarations against NVIDIA's library and headers, where there are any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "measure/cuda/cuda_profiler.h"
#include "measure/cuda/range_profiler.h"
#include "measure/cuda/range_profiler_api.h"
#include "tests/measure/cuda_fixture.h"

#ifdef KINDRED_TEST_CUPTI_HEADER
#include <cupti_version.h>
#if CUPTI_API_VERSION >= 130000
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define KINDRED_TEST_RANGE_PROFILER_HEADERS
#endif
#endif

namespace kindred {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class CudaProfilerTest : public CudaRunnerTest {
 protected:
  std::unique_ptr<CudaProfiler> Profiler() {
    CudaRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.program = TestWorker();
    options.limits.run_timeout_s = run_timeout_s_;
    options.cold = cold_;
    auto profiler = CudaProfiler::Make(target_, options);
    EXPECT_TRUE(profiler) << profiler.error().message;
    return std::move(*profiler);
  }
};

TEST_F(CudaProfilerTest, CountsRunsOfOneLaunchAndOfSeveral) {
  KernelSource two = Kernel(kRight);
  two.steps.push_back(two.steps.front());
  for (const bool cold : {true, false}) {
    cold_ = cold;
    const auto profiler = Profiler();
    // The emulated counters end in the number of kernels of the range.
    for (const auto& [kernel, launches] : {std::pair(Kernel(kRight), 1), std::pair(two, 2)}) {
      const auto counted = profiler->Profile(workload_, kernel, 5);
      ASSERT_TRUE(counted) << counted.error().message;
      EXPECT_THAT(*counted, Contains(Pair("dram_read_bytes", 100 + launches)));
      EXPECT_THAT(*counted, Contains(Pair("dram_written_bytes", 200 + launches)));
      EXPECT_THAT(*counted, Contains(Pair("shared_bank_conflicts", 700 + launches)));
      EXPECT_THAT(*counted, Not(Contains(Key("tensor_pipe_percent"))))
          << "what the device does not count is left out";
      EXPECT_EQ(counted->size(), CounterMetrics().size() - 1);
    }
  }
}

TEST_F(CudaProfilerTest, SaysInOneLineWhyThereAreNone) {
  const Variable faults("KINDRED_FAKE_CUDA", "profiler=35");
  const auto counted = Profiler()->Profile(workload_, Kernel(kRight), 5);
  ASSERT_FALSE(counted);
  EXPECT_THAT(counted.error().message,
              AllOf(HasSubstr("no hardware counters: CUPTI"),
                    HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"), Not(HasSubstr("\n"))));
}

TEST_F(CudaProfilerTest, AKernelThatFailsCostsNoOther) {
  const Variable faults("KINDRED_FAKE_CUDA", "illegal_address=// bad,hang=// slow");
  run_timeout_s_ = 3;
  const auto profiler = Profiler();
  const auto failed = profiler->Profile(workload_, RightAnd("  // bad"), 5);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(profiler->Profile(workload_, Kernel(kRight), 5));
  EXPECT_FALSE(profiler->Profile(workload_, RightAnd("  // slow"), 5));
  EXPECT_TRUE(profiler->Profile(workload_, Kernel(kRight), 5));
}

// What the library itself says, which needs no device. It opens another one in a way that
// AddressSanitizer ends the process for (RTLD_DEEPBIND).
TEST(CounterMetrics, AreKnownFromComputeCapability80On) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "not tested under AddressSanitizer";
#endif
  unsetenv("KINDRED_CUDA_LIBRARIES");
  const auto api = RangeProfilerApi::Load();
  if (!api) GTEST_SKIP() << "not tested: " << api.error().message;
  for (const char* chip : {"GA100", "GA102", "AD102", "GH100", "GB100"}) {
    CuptiHostInitialize host = {};
    host.bytes = KINDRED_CUPTI_SIZE(CuptiHostInitialize, host);
    host.profiler = kCuptiRangeProfiler;
    host.chip = chip;
    ASSERT_EQ((*api)->host_initialize(&host), 0) << chip;
    for (const CounterMetric& metric : CounterMetrics()) {
      const char* name = metric.cupti;
      CuptiHostMetrics add = {};
      add.bytes = KINDRED_CUPTI_SIZE(CuptiHostMetrics, count);
      add.host = host.host;
      add.names = &name;
      add.count = 1;
      EXPECT_EQ((*api)->host_add_metrics(&add), 0) << chip << " " << metric.cupti;
    }
    CuptiHost end = {};
    end.bytes = KINDRED_CUPTI_SIZE(CuptiHost, host);
    end.host = host.host;
    EXPECT_EQ((*api)->host_deinitialize(&end), 0);
  }
}

#ifdef KINDRED_TEST_RANGE_PROFILER_HEADERS
#define SAME_END(Ours, our_field, Theirs, their_field)                       \
  static_assert(offsetof(Ours, our_field) == offsetof(Theirs, their_field)); \
  static_assert(sizeof(Ours::our_field) == sizeof(Theirs::their_field));     \
  static_assert(sizeof(Ours) == sizeof(Theirs))

SAME_END(CuptiBlock, reserved, CUpti_Profiler_Initialize_Params, pPriv);
SAME_END(CuptiChipName, chip, CUpti_Device_GetChipName_Params, pChipName);
SAME_END(CuptiAvailability, image, CUpti_Profiler_GetCounterAvailability_Params,
         pCounterAvailabilityImage);
SAME_END(CuptiHostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME_END(CuptiHost, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
SAME_END(CuptiHostMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME_END(CuptiHostImage, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
static_assert(offsetof(CuptiHostImage, image) ==
              sizeof(CUpti_Profiler_Host_GetConfigImageSize_Params));
SAME_END(CuptiHostEvaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
SAME_END(CuptiRangeEnable, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
SAME_END(CuptiRange, profiler, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
SAME_END(CuptiRange, profiler, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject);
SAME_END(CuptiRange, profiler, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
SAME_END(CuptiRangeDataSize, data_bytes, CUpti_RangeProfiler_GetCounterDataSize_Params,
         counterDataSize);
SAME_END(CuptiRangeDataSize, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
         maxNumRangeTreeNodes);
SAME_END(CuptiRangeData, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
         pCounterData);
SAME_END(CuptiRangeConfig, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
SAME_END(CuptiRangeConfig, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME_END(CuptiRangeConfig, least_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
SAME_END(CuptiRangePush, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);
SAME_END(CuptiRangeStop, all_passes_are, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
SAME_END(CuptiRangeDecode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
static_assert(kCuptiRangeProfiler == CUPTI_PROFILER_TYPE_RANGE_PROFILER);
static_assert(kCuptiUserRange == CUPTI_UserRange);
static_assert(kCuptiUserReplay == CUPTI_UserReplay);
#endif

}  // namespace
}  // namespace kindred
