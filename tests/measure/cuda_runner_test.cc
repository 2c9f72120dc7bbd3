// CUDA kernels through the real builder and a real worker, on the emulated device
// (tests/cuda_emulation/driver).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "schedules/canonical.h"
#include "schedules/emit_cuda.h"
#include "schedules/sketch.h"
#include "schedules/space.h"
#include "tests/measure/cuda_fixture.h"

namespace kindred {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_EQ(right.driver, "580.65.06 (CUDA 13.0)");
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
  const auto devices = ListCudaDevices(TestWorker());
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].name, "Kindred emulated device");
  EXPECT_EQ((*devices)[0].arch, "sm_90a");
  EXPECT_EQ((*devices)[0].uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  const auto target = ProbeCudaTarget("cuda:0", scratch_.path(), TestWorker());
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

TEST_F(CudaRunnerTest, HotRunsAreTimedToo) {
  cold_ = false;
  const auto outcomes = Measure({Kernel(kRight)});
  EXPECT_EQ(Name(outcomes[0].status), "ok") << outcomes[0].message;
  EXPECT_FALSE(outcomes[0].cold);
  EXPECT_GE(outcomes[0].samples.size(), 10u);
}

TEST_F(CudaRunnerTest, AbandonsWhatIsFarFromTheBest) {
  const auto outcomes = Measure({Kernel(kRight)}, 10);
  EXPECT_EQ(Name(outcomes[0].status), "abandoned") << outcomes[0].message;
  EXPECT_TRUE(outcomes[0].validated);
  EXPECT_EQ(outcomes[0].samples.size(), 1u);
}

// Two steps, with two parts of a workspace and more dynamic shared memory than 48 KiB.
KernelSource TwoSteps(std::int64_t shared_bytes) {
  KernelSource source = Kernel(kRight);
  source.code = R"(
extern "C" __global__ void __launch_bounds__(64) products(const float* A, const float* B, float* P, float* Q) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < 703) { P[i] = A[i] * B[i]; Q[i] = 1; }
}
extern "C" __global__ void sums(const float* P, const float* Q, float* C) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < 703) C[i] = P[i] + Q[i];
}
)";
  using Kind = KernelStep::Parameter::Kind;
  source.workspace_bytes = 2 * 2816;
  source.steps.clear();
  for (const char* entry : {"products", "sums"}) {
    KernelStep& step = source.steps.emplace_back();
    step.entry = entry;
    step.grid = {IntExpr(11), IntExpr(1), IntExpr(1)};
    step.block = {64, 1, 1};
    step.shared_bytes = shared_bytes;
  }
  source.steps[0].parameters = {
      {Kind::kArgument, 0}, {Kind::kArgument, 1}, {Kind::kWorkspace, 0}, {Kind::kWorkspace, 2816}};
  source.steps[1].parameters = {
      {Kind::kWorkspace, 0}, {Kind::kWorkspace, 2816}, {Kind::kArgument, 2}};
  return source;
}

TEST_F(CudaRunnerTest, RunsStepsWithAWorkspaceAndMuchSharedMemory) {
  const auto outcomes = Measure({TwoSteps(100 << 10), TwoSteps(0), TwoSteps(300 << 10)});
  EXPECT_EQ(Name(outcomes[0].status), "ok") << outcomes[0].message;
  EXPECT_EQ(Name(outcomes[1].status), "ok") << outcomes[1].message;
  EXPECT_EQ(Name(outcomes[2].status), "run_error") << outcomes[2].message;
}

// What the sketches emit: the plain schedule of each that applies.
TEST_F(CudaRunnerTest, RunsEmittedSchedules) {
  const auto target = ProbeCudaTarget("cuda:0", scratch_.path(), TestWorker());
  ASSERT_TRUE(target) << target.error().message;
  for (const char* text :
       {"input A: f32[33,20]\ninput B: f32[20,17]\ninput c: f32[17]\n"
        "P[i,j] = sum[k](A[i,k] * B[k,j])\noutput C[i,j] = max(P[i,j] + c[j], 0)\n",
        "input X: f16[6,70]\nM[i] = max[j](f32(X[i,j]))\n"
        "E[i,j] = exp(f32(X[i,j]) - M[i])\nS[i] = sum[j](E[i,j])\n"
        "output Y[i,j] = f16(E[i,j] / S[i])\n"}) {
    const auto parsed = ParseWorkload(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    workload_ = Canonicalize(*parsed).workload;
    const auto space = MakeSpace(workload_, *target);
    const Decision first = *space->Next({});
    std::vector<KernelSource> sources;
    for (std::size_t i = 0; i < first.options.size(); ++i) {
      Path path = {{first.name, first.options[i], first.labels[i]}};
      while (const auto next = space->Next(path))
        path.push_back(
            {next->name, next->options[0], next->labels.empty() ? std::string() : next->labels[0]});
      const auto lowered = space->Lower(path);
      ASSERT_TRUE(lowered) << lowered.error().message;
      sources.push_back(EmitCuda(*lowered->program, workload_));
    }
    EXPECT_GE(sources.size(), 2u);
    for (const Outcome& outcome : Measure(sources))
      EXPECT_TRUE(outcome.validated) << text << outcome.message;
  }
}

TEST_F(CudaRunnerTest, SymbolicExtentsReachGridAndKernel) {
  workload_ = *ParseWorkload(R"(
symbol n in 1..4096, likely 500
input A: f32[n]
output C[i] = A[i] * 2
)");
  KernelSource source = Kernel(kRight);
  source.code = R"(
extern "C" __global__ void __launch_bounds__(96) run(const float* A, float* C, long long n) {
  const long long i = blockIdx.x * 96 + threadIdx.x;
  if (i < n) C[i] = A[i] * 2;
}
)";
  using Kind = KernelStep::Parameter::Kind;
  source.arguments.erase(source.arguments.begin());
  for (int i : {0, 1}) {
    source.arguments[static_cast<std::size_t>(i)].tensor = i;
    source.arguments[static_cast<std::size_t>(i)].elements = Elements(workload_.tensors[0]);
  }
  source.steps[0].grid[0] = BinaryExpr(Op::kDiv, ExtentExpr(0) + 95, IntExpr(96));
  source.steps[0].parameters = {{Kind::kArgument, 0}, {Kind::kArgument, 1}, {Kind::kExtent, 0}};
  const auto outcomes = Measure({source});
  EXPECT_EQ(Name(outcomes[0].status), "ok") << outcomes[0].message;
}

TEST_F(CudaRunnerTest, SeveralDevicesShareABatch) {
  const Variable devices("KINDRED_FAKE_CUDA", "devices=2");
  target_.id = "cuda:all";
  std::vector<KernelSource> sources;
  for (int i = 0; i < 6; ++i) sources.push_back(RightAnd("  // " + std::to_string(i)));
  sources[3] = Kernel("  C[i] = 0;");
  const auto outcomes = Measure(sources);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    EXPECT_EQ(Name(outcomes[i].status), i == 3 ? "wrong_answer" : "ok") << outcomes[i].message;
}

TEST_F(CudaRunnerTest, StopsBetweenCandidates) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < 6; ++i) sources.push_back(RightAnd("  // " + std::to_string(i)));
  const auto outcomes = TryMeasure(sources, 0, [this] { return !finished_.empty(); });
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  EXPECT_GE(outcomes->size(), 1u);
  EXPECT_LT(outcomes->size(), 6u);
  EXPECT_EQ(outcomes->size(), finished_.size());
}

TEST_F(CudaRunnerTest, PeaksAreKept) {
  const auto first = ProbeCudaTarget("cuda:0", scratch_.path(), TestWorker());
  ASSERT_TRUE(first) << first.error().message;
  std::filesystem::remove_all(scratch_.path() + "/cubin");
  const auto second = ProbeCudaTarget("cuda:0", scratch_.path(), TestWorker());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() + "/cubin")) << "nothing was built";
  EXPECT_EQ(first->peak_f32_gflops, second->peak_f32_gflops);
}

TEST_F(CudaRunnerTest, SaysWhatIsNotThere) {
  const auto one_line = [](const auto& result, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, AllOf(HasSubstr(text), Not(HasSubstr("\n"))));
  };
  one_line(ProbeCudaTarget("cuda:7", scratch_.path(), TestWorker()),
           "there is no cuda:7: the driver sees 1 device");
  one_line(CudaDevicesOf("cuda:1x", TestWorker()), "names no CUDA device");
  one_line(CudaDevicesOf("cuda", TestWorker()), "names no CUDA device");
  const Variable nothing("KINDRED_CUDA_LIBRARIES", scratch_.path());
  one_line(ListCudaDevices(TestWorker()), "no NVIDIA driver: libcuda.so.1 was not found");
  one_line(CudaDevicesOf("cuda:all", TestWorker()), "no NVIDIA driver");
  one_line(ProbeCudaTarget("cuda:0", scratch_.path(), TestWorker()), "no NVIDIA driver");
  CudaRunnerOptions options;
  options.cache_directory = scratch_.path() + "/cache";
  options.program = TestWorker();
  one_line(MakeCudaRunner(target_, options), "no NVRTC");
}

}  // namespace
}  // namespace kindred
