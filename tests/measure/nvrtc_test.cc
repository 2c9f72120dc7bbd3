// NVRTC where it is installed (scripts/setup does so), and what is said where it is not. No GPU is
// needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "measure/cuda/cubin_facts.h"
#include "measure/cuda/device_peaks.h"
#include "measure/cuda/nvrtc_builder.h"
#include "measure/cuda/nvrtc_process.h"
#include "tests/measure/scratch.h"

namespace kindred {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

NvrtcBuilderOptions Options(const Scratch& scratch, const std::string& architecture) {
  NvrtcBuilderOptions options;
  options.cache_directory = scratch.path() + "/cache";
  options.architecture = architecture;
  options.program = KINDRED_TEST_WORKER;
  return options;
}

// Two kernels: asynchronous copies into shared memory, and one that uses them all by itself.
KernelSource Copies(int bytes = 16) {
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.entry = "copies";
  source.code = R"(
extern "C" __global__ void __launch_bounds__(128) copies(const float* __restrict__ a, float* __restrict__ b) {
  extern __shared__ __align__(16) float tile[];
  const int t = threadIdx.x;
  const unsigned to = (unsigned)__cvta_generic_to_shared(tile + 4 * t);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a + 4 * t) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  b[t] = tile[127 - t] + __shfl_xor_sync(0xffffffffu, tile[t], 1);
}
extern "C" __global__ void second(float* b) {
  __shared__ float kept[64];
  kept[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = expf(kept[threadIdx.x ^ 1]);
}
)";
  source.steps.resize(2);
  source.steps[0].shared_bytes = bytes * 128;
  return source;
}

#define SKIP_WITHOUT_NVRTC()                                                        \
  do {                                                                              \
    auto process = NvrtcProcess::Start(KINDRED_TEST_WORKER);                        \
    ASSERT_TRUE(process);                                                           \
    if (const auto version = process->Version(); !version) {                        \
      GTEST_SKIP() << "not tested, there is no NVRTC: " << version.error().message; \
    }                                                                               \
  } while (false)

TEST(Nvrtc, CompilesForEachArchitectureWithoutAGpu) {
  SKIP_WITHOUT_NVRTC();
  const Scratch scratch;
  for (const char* architecture : {"sm_80", "sm_89", "sm_90a", "sm_100"}) {
    auto builder = NvrtcBuilder::Make(Options(scratch, architecture));
    if (!builder && builder.error().kind == ErrorKind::kUnsupported) {
      std::cout << builder.error().message << "\n";  // an older NVRTC
      continue;
    }
    ASSERT_TRUE(builder) << builder.error().message;
    const KernelSource sources[] = {Copies()};
    const auto built = (*builder)->Build(sources);
    ASSERT_TRUE(built) << built.error().message;
    ASSERT_EQ(built->size(), 1u);
    const BuiltKernel& kernel = built->front();
    ASSERT_EQ(kernel.status, Status::kOk) << architecture << ": " << kernel.message;
    EXPECT_THAT((*builder)->compiler(), HasSubstr("NVRTC 1"));
    EXPECT_GT(kernel.facts.registers, 4);
    EXPECT_LT(kernel.facts.registers, 100);
    EXPECT_EQ(kernel.facts.spill_bytes, 0);
    EXPECT_GE(kernel.facts.shared_bytes, 16 * 128 + 64 * 4);
    EXPECT_GT(kernel.facts.code_bytes, 200);
    std::ifstream file(kernel.library, std::ios::binary);
    std::string magic(4, ' ');
    file.read(magic.data(), 4);
    EXPECT_EQ(magic,
              "\x7f"
              "ELF");
  }
}

TEST(Nvrtc, CompilesTheKernelsThatMeasurePeaks) {
  SKIP_WITHOUT_NVRTC();
  const Scratch scratch;
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    auto builder = NvrtcBuilder::Make(Options(scratch, architecture));
    ASSERT_TRUE(builder) << builder.error().message;
    const KernelSource sources[] = {PeakSource()};
    const auto built = (*builder)->Build(sources);
    ASSERT_TRUE(built) << built.error().message;
    EXPECT_EQ(built->front().status, Status::kOk) << built->front().message;
    EXPECT_EQ(built->front().facts.spill_bytes, 0);
  }
}

TEST(Nvrtc, InstancesHaveTheSymbolsThatItSays) {
  SKIP_WITHOUT_NVRTC();
  const Scratch scratch;
  std::ofstream(scratch.path() + "/factor.h") << "#define FACTOR 3\n";
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.code =
      "#include \"factor.h\"\n"
      "extern \"C\" __global__ void plain(float* x) { x[0] = wide; }\n"
      "__global__ void overloaded(float* x) { x[1] = FACTOR; }\n"
      "template <class T, int n> __global__ void many(T* x) { x[n] = 2; }\n";
  source.flags = {"-Dwide=8", "-I" + scratch.path(), "--std=c++14"};
  source.lower_names = true;
  for (const char* name : {"plain", "overloaded", "many<float, 64>"}) {
    KernelStep& step = source.steps.emplace_back();
    step.entry = name;
  }
  for (int time = 0; time < 2; ++time) {  // compiled, then from the cache
    auto builder = NvrtcBuilder::Make(Options(scratch, "sm_90a"));
    ASSERT_TRUE(builder) << builder.error().message;
    const auto built = (*builder)->Build({&source, 1});
    ASSERT_TRUE(built) << built.error().message;
    ASSERT_EQ(built->front().status, Status::kOk) << built->front().message;
    EXPECT_THAT(built->front().lowered,
                ::testing::ElementsAre("plain", "_Z10overloadedPf", "_Z4manyIfLi64EEvPT_"));
    EXPECT_EQ((*builder)->counters().compiler_runs, time == 0 ? 1 : 0);
  }
  source.steps[2].entry = "none<3>";
  const KernelSource refused[] = {source};
  auto builder = NvrtcBuilder::Make(Options(scratch, "sm_90a"));
  ASSERT_TRUE(builder);
  const auto built = (*builder)->Build(refused);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ((*built)[0].status, Status::kBuildError);
  EXPECT_THAT((*built)[0].message, HasSubstr("none"));
}

TEST(NvrtcBuilder, KeepsWhatItBuilt) {
  SKIP_WITHOUT_NVRTC();
  const Scratch scratch;
  auto builder = NvrtcBuilder::Make(Options(scratch, "sm_80"));
  ASSERT_TRUE(builder) << builder.error().message;
  KernelSource broken = Copies();
  broken.code += "nonsense;\n";
  const KernelSource sources[] = {Copies(), broken, Copies(), Copies(32)};
  const auto built = (*builder)->Build(sources);
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_EQ(built->size(), 4u);
  EXPECT_EQ((*built)[1].status, Status::kBuildError);
  EXPECT_THAT((*built)[1].message, HasSubstr("kernel.cu(18): error"));
  EXPECT_EQ((*built)[0].library, (*built)[2].library);
  EXPECT_NE((*built)[0].library, (*built)[3].library);
  EXPECT_EQ((*built)[3].facts.shared_bytes - (*built)[0].facts.shared_bytes, 16 * 128);
  EXPECT_EQ((*builder)->counters().compiler_runs, 3);
  EXPECT_EQ((*builder)->counters().cache_hits, 1);

  auto later = NvrtcBuilder::Make(Options(scratch, "sm_80"));
  ASSERT_TRUE(later);
  const auto again = (*later)->Build(std::span(sources).first(1));
  ASSERT_TRUE(again);
  EXPECT_EQ((*later)->counters().compiler_runs, 0);
  EXPECT_EQ((*again)[0].facts.registers, (*built)[0].facts.registers);
  EXPECT_EQ((*again)[0].build_s, 0);
  int asked = 0;
  const KernelSource fresh[] = {Copies(), Copies(48), Copies(64), Copies(80)};
  NvrtcBuilderOptions one_job = Options(scratch, "sm_80");
  one_job.jobs = 1;
  auto single = NvrtcBuilder::Make(one_job);
  ASSERT_TRUE(single);
  const auto stopped = (*single)->Build(fresh, [&] { return asked++ >= 1; });
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->size(), 2u);
}

TEST(NvrtcBuilder, ASlowCompilationMeetsItsDeadline) {
  SKIP_WITHOUT_NVRTC();
  const Scratch scratch;
  NvrtcBuilderOptions options = Options(scratch, "sm_80");
  options.jobs = 1;
  options.timeout_s = 1;
  auto builder = NvrtcBuilder::Make(options);
  ASSERT_TRUE(builder) << builder.error().message;
  KernelSource slow = Copies();  // a template that takes for ever
  slow.code =
      "template <int n, int m> struct F { static const int v = F<n - 1, m>::v + F<n - 1, m + (1 << (n % 30))>::v; };\n"
      "template <int m> struct F<0, m> { static const int v = m; };\n"
      "extern \"C\" __global__ void copies(int* a) { a[0] = F<29, 0>::v; }\n";
  const KernelSource sources[] = {slow, Copies()};
  const auto built = (*builder)->Build(sources);
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_EQ(built->size(), 2u);
  EXPECT_EQ((*built)[0].status, Status::kBuildTimeout) << (*built)[0].message;
  EXPECT_EQ((*built)[1].status, Status::kOk) << (*built)[1].message;
}

TEST(NvrtcBuilder, RefusesWhatNvrtcDoesNotKnow) {
  SKIP_WITHOUT_NVRTC();
  const Scratch scratch;
  const auto builder = NvrtcBuilder::Make(Options(scratch, "sm_20"));
  ASSERT_FALSE(builder);
  EXPECT_EQ(builder.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(builder.error().message, AllOf(HasSubstr("'sm_20'"), HasSubstr("sm_80")));
}

TEST(NvrtcBuilder, SaysWhatIsMissing) {
  const Scratch scratch;
  std::ofstream(scratch.path() + "/libnvrtc.so.13") << "no library";
  const char* before = std::getenv("KINDRED_CUDA_LIBRARIES");
  const std::string kept = before == nullptr ? "" : before;
  setenv("KINDRED_CUDA_LIBRARIES", scratch.path().c_str(), 1);
  const auto builder = NvrtcBuilder::Make(Options(scratch, "sm_80"));
  if (before == nullptr)
    unsetenv("KINDRED_CUDA_LIBRARIES");
  else
    setenv("KINDRED_CUDA_LIBRARIES", kept.c_str(), 1);
  ASSERT_FALSE(builder);
  EXPECT_EQ(builder.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(builder.error().message,
              AllOf(HasSubstr("no NVRTC"), HasSubstr("nvidia-cuda-nvrtc"),
                    HasSubstr("KINDRED_CUDA_LIBRARIES"), ::testing::Not(HasSubstr("\n"))));
}

TEST(CubinFacts, ReadsPtxasLog) {
  const BuildFacts facts = FactsOfCubin(
      "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
      "ptxas         .     0 bytes stack frame, 12 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem, 360 bytes cmem[0]\n"
      "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 255 registers, 360 bytes cmem[0]\n",
      "no cubin");
  EXPECT_EQ(facts.registers, 255);
  EXPECT_EQ(facts.spill_bytes, 40);
  EXPECT_EQ(facts.shared_bytes, 256);
  EXPECT_EQ(facts.code_bytes, 0);
}

}  // namespace
}  // namespace kindred
