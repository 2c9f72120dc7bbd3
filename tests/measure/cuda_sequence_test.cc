// Sequences of kernels replayed as one graph, through a worker on the emulated device.
#include "measure/cuda/cuda_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measure/cuda_fixture.h"

namespace kindred {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

class CudaSequenceTest : public CudaRunnerTest {
 protected:
  Result<SequenceTimes> Replay(const std::vector<KernelSource>& kernels,
                               const std::vector<int>& order) {
    CudaRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.program = TestWorker();
    options.limits.time_budget_s = 0.01;
    std::vector<SequencedKernel> parts;
    for (const KernelSource& kernel : kernels) parts.push_back({workload_, kernel});
    return ReplaySequence(target_, options, parts, order, 5);
  }
};

TEST_F(CudaSequenceTest, ReplaysEachPartAsOftenAsTheOrderSays) {
  KernelSource two = RightAnd("  // two");
  two.steps.push_back(two.steps.front());
  const auto once = Replay({Kernel(kRight), two}, {0});
  const auto all = Replay({Kernel(kRight), two}, {0, 1, 0});
  ASSERT_TRUE(once) << once.error().message;
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(once->launches, 1);
  EXPECT_EQ(all->launches, 4);
  EXPECT_EQ(all->driver, "580.65.06 (CUDA 13.0)");
  EXPECT_GE(all->graph_samples.size(), 10u);
  EXPECT_THAT(all->graph_samples, Each(Gt(0)));
  // On the emulated device kernels of one text and size take the same time, 500 ns apart.
  EXPECT_NEAR(all->kernels_ns, 4 * once->kernels_ns, 4);
  EXPECT_NEAR(all->graph_ns, all->kernels_ns + 4 * 500, 8);
  EXPECT_NEAR(once->graph_ns, once->kernels_ns + 500, 2);
  EXPECT_NEAR(all->launched_ns, all->graph_ns, 8);
}

TEST_F(CudaSequenceTest, WithoutCuptiKernelsAreNotTimedAlone) {
  for (const char* planted : {"cupti=35", "cupti_drops=1"}) {
    const Variable faults("KINDRED_FAKE_CUDA", planted);
    const auto times = Replay({Kernel(kRight)}, {0, 0});
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_EQ(times->kernels_ns, 0);
    EXPECT_GT(times->graph_ns, 0);
    EXPECT_THAT(times->untraced, HasSubstr("CUPTI"));
  }
}

TEST_F(CudaSequenceTest, SaysWhatFails) {
  const std::pair<const char*, const char*> cases[] = {
      {"graph=900", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {"illegal_address=// bad", "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {"no_memory=// bad", "CUDA_ERROR_OUT_OF_MEMORY"},
      {"crash=// bad", "no sequence was replayed"}};
  for (const auto& [planted, says] : cases) {
    const Variable faults("KINDRED_FAKE_CUDA", planted);
    const auto times = Replay({Kernel(kRight), RightAnd("  // bad")}, {0, 1});
    ASSERT_FALSE(times) << planted;
    EXPECT_THAT(times.error().message, HasSubstr(says));
  }
}

}  // namespace
}  // namespace kindred
