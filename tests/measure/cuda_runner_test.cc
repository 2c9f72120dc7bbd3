// CUDA kernels written for every way to go wrong, through the real builder and a real worker, on
// the emulated device (tests/cuda_emulation/driver).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "measure/cuda/cuda_runner.h"
#include "schedules/text_form.h"
#include "tests/measure/scratch.h"

namespace kindred {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScaled = R"(
input A: f32[37,19]
input B: f32[37,19]
output C[i,j] = A[i,j] * B[i,j] + 1
)";
constexpr int kElements = 37 * 19;

// One kernel of 96 threads a block; `body` sees i < kElements.
KernelSource Kernel(const std::string& body) {
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.code =
      "extern \"C\" __global__ void __launch_bounds__(96) run(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {\n"
      "  const int i = blockIdx.x * 96 + threadIdx.x;\n"
      "  if (i >= 703) return;\n" +
      body + "\n}\n";
  source.entry = "run";
  using Access = KernelArgument::Access;
  source.arguments = {{0, "A", DataType::kF32, kElements, Access::kRead, "row-major"},
                      {1, "B", DataType::kF32, kElements, Access::kRead, "row-major"},
                      {2, "C", DataType::kF32, kElements, Access::kWrite, "row-major"}};
  KernelStep& step = source.steps.emplace_back();
  step.entry = "run";
  step.grid = {IntExpr(8), IntExpr(1), IntExpr(1)};
  step.block = {96, 1, 1};
  for (int i = 0; i < 3; ++i)
    step.parameters.push_back({KernelStep::Parameter::Kind::kArgument, i});
  return source;
}

const std::string kRight = "  C[i] = A[i] * B[i] + 1;";

KernelSource RightAnd(const std::string& more) { return Kernel(kRight + "\n" + more); }

// Sets an environment variable as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty())
      unsetenv(name_);
    else
      setenv(name_, before_.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::string before_;
};

class CudaRunnerTest : public testing::Test {
 protected:
  CudaRunnerTest()
      : libraries_("KINDRED_CUDA_LIBRARIES", KINDRED_TEST_CUDA_LIBRARIES),
        workload_(*ParseWorkload(kScaled)) {
    target_.id = "cuda:0";
    target_.kind = DeviceKind::kCuda;
    target_.gpu.arch = "sm_90a";
  }

  void Start() {
    runner_.reset();
    CudaRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.program = KINDRED_TEST_WORKER;
    options.limits.run_timeout_s = 20;
    options.limits.time_budget_s = 0.01;
    options.cold = cold_;
    auto runner = MakeCudaRunner(target_, options);
    if (!runner) throw std::runtime_error(runner.error().message);
    runner_ = std::move(*runner);
  }

  Result<std::vector<Outcome>> TryMeasure(const std::vector<KernelSource>& sources,
                                          double incumbent_ns = 0) {
    if (!runner_) Start();
    MeasureJob job;
    job.workload = &workload_;
    job.candidates = sources;
    job.seed = 5;
    job.incumbent_ns = incumbent_ns;
    job.finished = [this](std::size_t index, const Outcome& outcome) {
      EXPECT_EQ(index, finished_.size());
      finished_.push_back(outcome);
    };
    finished_.clear();
    return runner_->Measure(job, {});
  }

  std::vector<Outcome> Measure(const std::vector<KernelSource>& sources, double incumbent_ns = 0) {
    auto outcomes = TryMeasure(sources, incumbent_ns);
    EXPECT_TRUE(outcomes) << outcomes.error().message;
    if (!outcomes) return std::vector<Outcome>(sources.size());
    EXPECT_EQ(outcomes->size(), sources.size());
    EXPECT_EQ(finished_.size(), sources.size());
    return std::move(*outcomes);
  }

  const Variable libraries_;
  const Scratch scratch_;
  Workload workload_;
  Target target_;
  bool cold_ = true;
  std::vector<Outcome> finished_;
  std::unique_ptr<Runner> runner_;
};

TEST_F(CudaRunnerTest, TimesARightKernelAndFindsAWrongOne) {
  const auto outcomes = Measure({Kernel(kRight), Kernel("  C[i] = A[i] * B[i];"), Kernel(kRight)});
  const Outcome& right = outcomes[0];
  EXPECT_EQ(Name(right.status), "ok") << right.message;
  EXPECT_TRUE(right.validated);
  EXPECT_GE(right.samples.size(), 10u);
  EXPECT_GT(right.median_ns, 2000);
  EXPECT_EQ(right.timer, "cupti");
  EXPECT_TRUE(right.cold);
  EXPECT_EQ(right.sm_clock_mhz, 1000);
  EXPECT_EQ(right.throttled, "");
  EXPECT_EQ(right.facts.registers, 32);
  EXPECT_EQ(right.compiler, "NVRTC 13.0");
  EXPECT_GT(right.run_s, 0);
  EXPECT_EQ(Name(outcomes[1].status), "wrong_answer");
  EXPECT_THAT(outcomes[1].message, HasSubstr("output C[0,0] is "));
  EXPECT_TRUE(outcomes[2].validated);
  EXPECT_EQ(outcomes[2].run_s, 0) << "equal kernels are run once";
  const MeasureTimes times = runner_->times();
  EXPECT_GT(times.run_s, 0);
  EXPECT_GT(times.device_busy_s, 0);
  EXPECT_GE(times.device_wanted_s, times.device_busy_s);
}

TEST_F(CudaRunnerTest, DescribesTheDevice) {
  const auto devices = ListCudaDevices(KINDRED_TEST_WORKER);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].name, "Kindred emulated device");
  EXPECT_EQ((*devices)[0].arch, "sm_90a");
  EXPECT_EQ((*devices)[0].uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  const auto target = ProbeCudaTarget("cuda:0", scratch_.path(), KINDRED_TEST_WORKER);
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->id, "cuda:0");
  EXPECT_EQ(target->kind, DeviceKind::kCuda);
  EXPECT_EQ(target->model, "Kindred emulated device");
  EXPECT_EQ(target->gpu.arch, "sm_90a");
  EXPECT_EQ(target->gpu.sms, 2);
  EXPECT_EQ(target->gpu.shared_bytes_per_block, 227 << 10);
  EXPECT_EQ(target->l2_bytes, 64 << 10);
  EXPECT_GT(target->memory_gbps, 0);
  EXPECT_GT(target->peak_f32_gflops, 0);
  EXPECT_GT(target->peak_f64_gflops, 0);
  EXPECT_GT(target->peak_i8_gops, 0);
  EXPECT_GT(target->gpu.peak_f16_gflops, 0);
  std::size_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.path() + "/peaks"))
    kept += entry.path().filename() == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f-13.0.json" ? 1 : 0;
  EXPECT_EQ(kept, 1u);
}

// ---- what can go wrong

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

}  // namespace
}  // namespace kindred
