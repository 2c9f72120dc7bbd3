// Users' kernels on the emulated device: what is right, what is wrong, instances of templates,
// included files, and launches that the device refuses.
#include "measure/cuda/cuda_kernel_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/measure/cuda_fixture.h"

namespace kindred {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::int64_t kCount = 100;

// One block of 128 threads; `body` sees in, out, both and i.
KernelSource UserKernel(const std::string& body) {
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.code =
      "__global__ void user(float *__restrict__ out, const float *in, double *both) {\n"
      "  const int i = threadIdx.x;\n" +
      body + "\n}\n";
  source.entry = "user";
  source.compiler = "nvrtc";
  source.lower_names = true;
  using Access = KernelArgument::Access;
  source.arguments = {{0, "out", DataType::kF32, kCount, Access::kWrite, "row-major"},
                      {1, "in", DataType::kF32, kCount, Access::kRead, "row-major"},
                      {2, "both", DataType::kF64, 1, Access::kWrite, "row-major"}};
  KernelStep& step = source.steps.emplace_back();
  step.entry = "user";
  step.grid = {IntExpr(1), IntExpr(1), IntExpr(1)};
  step.block = {128, 1, 1};
  for (int i = 0; i < 3; ++i)
    step.parameters.push_back({KernelStep::Parameter::Kind::kArgument, i});
  return source;
}

const std::string kScale = "  if (i < 100) out[i] = 3 * in[i];\n";
const std::string kHalve = "  if (i == 0) both[0] = both[0] * 0.5 + 1;\n";

class CudaKernelRunnerTest : public testing::Test {
 protected:
  CudaKernelRunnerTest() : libraries_("KINDRED_CUDA_LIBRARIES", EmulatedLibraries()) {
    CudaRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.program = TestWorker();
    options.limits.time_budget_s = 0.01;
    Target target;
    target.id = "cuda:0";
    target.kind = DeviceKind::kCuda;
    target.gpu.arch = "sm_90a";
    KernelTask task;
    task.buffers = {
        {.name = "out", .elements = kCount, .read = false, .written = true},
        {.name = "in", .elements = kCount, .random = true},
        {.name = "both", .type = DataType::kF64, .elements = 1, .written = true, .value = 8}};
    auto runner = MakeCudaKernelRunner(target, task, options);
    if (!runner) throw std::runtime_error(runner.error().message);
    runner_ = std::move(*runner);
  }

  Outcome Take(const KernelSource& source) {
    auto outcome = runner_->TakeReference(source);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome{};
  }
  Outcome Measure(const KernelSource& source) {
    auto outcome = runner_->Measure(source, 0, false);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome{};
  }
  Outcome Measure(const std::string& body) { return Measure(UserKernel(body)); }

  const Variable libraries_;
  const Scratch scratch_;
  std::unique_ptr<KernelRunner> runner_;
};

TEST_F(CudaKernelRunnerTest, WhatTheReferenceWritesIsRight) {
  EXPECT_EQ(Take(UserKernel("  out[i + 100000] = 1;")).status, Status::kOutOfBounds);
  EXPECT_FALSE(runner_->has_reference());
  ASSERT_EQ(Take(UserKernel(kScale + kHalve)).status, Status::kOk);
  ASSERT_TRUE(runner_->has_reference());

  const Outcome right = Measure(kScale + "  // another text\n" + kHalve);
  EXPECT_EQ(right.status, Status::kOk) << right.message;
  EXPECT_TRUE(right.validated);
  EXPECT_GT(right.median_ns, 0);
  EXPECT_EQ(right.timer, "cupti");
  EXPECT_EQ(right.driver, "580.65.06 (CUDA 13.0)");
  EXPECT_THAT(right.compiler, HasSubstr("NVRTC"));

  const Outcome wrong = Measure(kScale + kHalve + "  if (i == 42) out[i] = -7;");
  EXPECT_EQ(wrong.status, Status::kWrongAnswer);
  EXPECT_THAT(wrong.message, AllOf(HasSubstr("out[42]"), HasSubstr("-7")));
  EXPECT_THAT(Measure(kHalve).message, HasSubstr("out[0] was never written"));
  const Outcome stale = Measure(kScale + "  if (i == 0) both[0] = 6;");
  EXPECT_EQ(stale.status, Status::kWrongAnswer);
  EXPECT_THAT(stale.message, HasSubstr("both[0] is 6, expected 5"));
}

TEST_F(CudaKernelRunnerTest, TroubleIsAnOutcomeAndTheReferenceOutlivesIt) {
  ASSERT_EQ(Take(UserKernel(kScale + kHalve)).status, Status::kOk);
  const std::vector<KernelSource> ahead = {UserKernel("not CUDA"), UserKernel(kScale + kHalve)};
  ASSERT_TRUE(runner_->BuildAhead(ahead, {}));
  EXPECT_EQ(Measure("not CUDA").status, Status::kBuildError);
  EXPECT_EQ(Measure(kScale + kHalve + "  out[i] = 0;").status, Status::kOutOfBounds);
  EXPECT_EQ(Measure(kScale + kHalve + "  out[i + 100000] = 0;").status, Status::kOutOfBounds);
  EXPECT_EQ(Measure("  if (i < 64) __syncthreads();\n" + kScale).status, Status::kCrash);
  EXPECT_EQ(Measure(kScale + kHalve).status, Status::kOk);

  KernelSource shared = UserKernel(kScale + kHalve);
  shared.steps[0].shared_bytes = 1 << 20;
  EXPECT_EQ(Measure(shared).status, Status::kRunError);
  KernelSource threads = UserKernel(kScale + kHalve);
  threads.steps[0].block = {64, 32, 1};
  EXPECT_EQ(Measure(threads).status, Status::kRunError);
  const Outcome much = Measure(
      "  __shared__ float much[20000];\n  much[i] = in[0];\n  __syncthreads();\n  both[0] = much[127 - i];\n" +
      kScale);
  EXPECT_EQ(much.status, Status::kBuildError);
  EXPECT_THAT(much.message, HasSubstr("too much shared data"));
  EXPECT_EQ(Measure(kScale + kHalve).status, Status::kOk);
}

TEST_F(CudaKernelRunnerTest, InstancesOfTemplatesIncludesAndMacros) {
  ASSERT_EQ(Take(UserKernel(kScale + kHalve)).status, Status::kOk);
  std::filesystem::create_directories(scratch_.path() + "/include");
  std::ofstream(scratch_.path() + "/include/factor.h") << "#define FACTOR 3\n";
  KernelSource source = UserKernel("");
  source.code =
      "#include \"factor.h\"\n"
      "template <class T, int kPer>\n"
      "__global__ void many(T *out, const T *in, double *both) {\n"
      "  __shared__ T tile[threads * kPer];\n"
      "  extern __shared__ float dynamic[];\n"
      "  #pragma unroll\n"
      "  for (int k = 0; k < kPer; ++k) {\n"
      "    const int i = threadIdx.x * kPer + k;\n"
      "    tile[i] = i < 100 ? in[i] : T(0);\n"
      "    dynamic[i] = 0;\n"
      "  }\n"
      "  __syncthreads();\n"
      "  const float4 four = make_float4(FACTOR, 0, 0, 0);\n"
      "  for (int i = threadIdx.x; i < min(100, 128u); i += blockDim.x)\n"
      "    out[i] = fmaf(four.x, tile[i], dynamic[127 - i]);\n"
      "  if (threadIdx.x == 0) both[0] = both[0] * 0.5 + 1;\n"
      "}\n";
  source.steps[0].entry = "many<float, 2>";
  source.steps[0].block = {64, 1, 1};
  source.steps[0].shared_bytes = 512;
  source.flags = {"-Dthreads=64", "-I" + scratch_.path() + "/include"};
  const Outcome right = Measure(source);
  EXPECT_EQ(right.status, Status::kOk) << right.message;
  // Built before: from the cache, with the same symbols.
  EXPECT_EQ(Measure(source).status, Status::kOk);

  KernelSource racing = source;
  racing.code.erase(racing.code.find("  __syncthreads"), 18);
  const Outcome race = Measure(racing);
  EXPECT_EQ(race.status, Status::kCrash);
  EXPECT_THAT(race.message, AnyOf(HasSubstr("race"), HasSubstr("uninitialised shared memory")));
}

TEST(CudaKernelRunner, SeveralDevicesAreRefused) {
  const Variable libraries("KINDRED_CUDA_LIBRARIES", EmulatedLibraries());
  const Scratch scratch;
  CudaRunnerOptions options;
  options.cache_directory = scratch.path() + "/cache";
  options.program = TestWorker();
  Target target;
  target.id = "cuda:0,1";
  const auto runner = MakeCudaKernelRunner(target, {}, options);
  ASSERT_FALSE(runner);
  EXPECT_EQ(ExitCode(runner.error()), 2);
  EXPECT_THAT(runner.error().message, HasSubstr("--target cuda:0"));
}

}  // namespace
}  // namespace kindred
