// CUDA kernels written, and devices planted, for every way to go wrong, through the real builder
// and a real worker on the emulated device. What comes before and after must not suffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/measure/cuda_fixture.h"

namespace kindred {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CudaFailures : public CudaRunnerTest {
 protected:
  // The outcome of `bad`, with a right kernel before and after it that must not suffer. `planted`
  // is KINDRED_FAKE_CUDA.
  Outcome Between(const KernelSource& bad, const std::string& planted = "") {
    const Variable faults("KINDRED_FAKE_CUDA", planted);
    Start();  // workers keep the environment that they began with
    const auto outcomes = Measure({Kernel(kRight), bad, RightAnd("  // again")});
    for (const std::size_t right : {0, 2}) {
      EXPECT_EQ(Name(outcomes[right].status), "ok") << outcomes[right].message;
      EXPECT_TRUE(outcomes[right].validated);
    }
    EXPECT_FALSE(outcomes[1].validated) << outcomes[1].message;
    EXPECT_TRUE(outcomes[1].samples.empty());
    return outcomes[1];
  }
};

#define EXPECT_SAYS(outcome, expected_status, text)                      \
  do {                                                                   \
    const Outcome said = (outcome);                                      \
    EXPECT_EQ(Name(said.status), Name(expected_status)) << said.message; \
    EXPECT_THAT(said.message, HasSubstr(text));                          \
  } while (false)

TEST_F(CudaFailures, StickyErrorsCostOneCandidate) {
  EXPECT_SAYS(Between(RightAnd("  // bad"), "illegal_address=// bad"), Status::kOutOfBounds,
              "CUDA_ERROR_ILLEGAL_ADDRESS");
  for (const auto& [name, says] :
       {std::pair("misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"),
        std::pair("assert", "CUDA_ERROR_ASSERT"), std::pair("ecc", "CUDA_ERROR_ECC_UNCORRECTABLE"),
        std::pair("launch_failed", "CUDA_ERROR_LAUNCH_FAILED")})
    EXPECT_SAYS(Between(RightAnd("  // bad"), std::string(name) + "=// bad"), Status::kCrash, says);
}

TEST_F(CudaFailures, RefusedLaunches) {
  EXPECT_SAYS(Between(RightAnd("  // bad"), "invalid_launch=// bad"), Status::kRunError,
              "CUDA_ERROR_INVALID_VALUE");
  EXPECT_SAYS(Between(RightAnd("  // bad"), "no_memory=// bad"), Status::kOutOfMemory,
              "CUDA_ERROR_OUT_OF_MEMORY");
  KernelSource wide = RightAnd("  // wide");
  wide.steps[0].block = {2048, 1, 1};
  EXPECT_SAYS(Between(wide), Status::kRunError, "CUDA_ERROR_INVALID_VALUE");
}

TEST_F(CudaFailures, TooMuchMemoryIsRefusedBeforeItIsTaken) {
  KernelSource large = RightAnd("  // large");
  large.workspace_bytes = 1ll << 40;
  EXPECT_SAYS(Between(large), Status::kOutOfMemory,
              "a workspace of 1099511627776 bytes; a candidate may have 1073741824 more than its "
              "workload's intermediate tensors (0)");
  large.workspace_bytes = 600 << 20;
  EXPECT_SAYS(Between(large), Status::kOutOfMemory,
              "629145600 bytes; the device has 536870912, and the workload's tensors take 8436");
}

TEST_F(CudaFailures, IntermediateTensorsAreNotACandidatesOwn) {
  KernelSource source = RightAnd("  // workspace");
  source.workspace_bytes = 4096;
  memory_bytes_ = 4000;
  EXPECT_EQ(Name(Measure({source})[0].status), "out_of_memory");
  workload_ = *ParseWorkload(R"(
input A: f32[37,19]
input B: f32[37,19]
P[i,j] = A[i,j] * B[i,j]
output C[i,j] = P[i,j] + 1
)");
  source.arguments[2].tensor = 3;
  const auto outcomes = Measure({source});
  EXPECT_EQ(Name(outcomes[0].status), "ok") << outcomes[0].message;
}

TEST_F(CudaFailures, AHangEndsAtItsDeadline) {
  run_timeout_s_ = 3;
  EXPECT_SAYS(Between(RightAnd("  // bad"), "hang=// bad"), Status::kRunTimeout,
              "did not end within 3 s");
}

TEST_F(CudaFailures, ACrashOfTheDriver) {
  EXPECT_SAYS(Between(RightAnd("  // bad"), "crash=// bad"), Status::kCrash, "SIGABRT");
}

TEST_F(CudaFailures, WrongResults) {
  EXPECT_SAYS(Between(RightAnd("  // bad"), "wrong=// bad"), Status::kWrongAnswer, "output C[0,0]");
  EXPECT_SAYS(Between(Kernel("  if (i != 702) C[i] = A[i] * B[i] + 1;")), Status::kWrongAnswer,
              "output C[36,18] was never written");
  // Right only as long as the output holds what it held before the first run.
  EXPECT_SAYS(Between(Kernel("  C[i] = C[i] == C[i] ? 0 : A[i] * B[i] + 1;")), Status::kWrongAnswer,
              "in a repeated run");
}

TEST_F(CudaFailures, WritesBesideABuffer) {
  EXPECT_SAYS(Between(RightAnd("  if (i == 0) C[753] = 1;")), Status::kOutOfBounds,
              "output C was written 200 bytes past its end");
  EXPECT_SAYS(Between(RightAnd("  if (i == 0) C[-3] = 1;")), Status::kOutOfBounds,
              "out of bounds: line");
  KernelSource input = RightAnd("  A[i] = 3;");
  const std::string declared = "const float* __restrict__ A";
  input.code.replace(input.code.find(declared), declared.size(), "float* A");
  EXPECT_SAYS(Between(input), Status::kOutOfBounds, "input A was written");
}

TEST_F(CudaFailures, MistakesThatTheEmulationFinds) {
  EXPECT_SAYS(Between(RightAnd("  if (i < 2) C[700] = A[700] * B[700] + 1;")), Status::kCrash,
              "race: line");
}

TEST_F(CudaFailures, ABuildThatTheDriverRefuses) {
  EXPECT_SAYS(Between(Kernel("  nonsense;")), Status::kBuildError, "CUDA_ERROR_INVALID_IMAGE");
}

TEST_F(CudaFailures, ALostDeviceEndsTheBatchAndKeepsWhatIsFinished) {
  const std::string file = scratch_.path() + "/lost";
  const Variable faults("KINDRED_FAKE_CUDA", "lost=// bad,lost_file=" + file);
  const std::vector<KernelSource> sources = {Kernel(kRight), RightAnd("  // bad"),
                                             RightAnd("  // again")};
  const auto outcomes = TryMeasure(sources);
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(outcomes.error().message,
              AllOf(HasSubstr("cuda:0 is lost"), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"),
                    HasSubstr("does not come back"), HasSubstr("CUDA_ERROR_NO_DEVICE")));
  ASSERT_EQ(finished_.size(), 1u);
  EXPECT_TRUE(finished_[0].validated);
  // Once it is there again, so is the runner.
  std::filesystem::remove(file);
  const auto later = Measure({sources[2]});
  EXPECT_EQ(Name(later[0].status), "ok") << later[0].message;
}

TEST_F(CudaFailures, WithoutCuptiEventsHaveToDo) {
  for (const char* planted : {"cupti=35", "cupti=999", "cupti_drops=1"}) {
    for (const bool cold : {true, false}) {
      cold_ = cold;
      const Variable faults("KINDRED_FAKE_CUDA", planted);
      Start();
      const auto outcomes = Measure({Kernel(kRight)});
      EXPECT_EQ(Name(outcomes[0].status), "ok") << outcomes[0].message;
      EXPECT_EQ(outcomes[0].timer, "events") << planted;
      EXPECT_GT(outcomes[0].median_ns, 2000);
    }
  }
}

TEST_F(CudaFailures, AThrottledDeviceIsWaitedFor) {
  const Variable faults("KINDRED_FAKE_CUDA", "throttled=4");
  Start();
  const auto outcomes = Measure({Kernel(kRight), RightAnd("  // again")});
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(Name(outcome.status), "ok") << outcome.message;
    EXPECT_EQ(outcome.throttled, "");
    EXPECT_GE(outcome.samples.size(), 10u);
  }
}

}  // namespace
}  // namespace kindred
