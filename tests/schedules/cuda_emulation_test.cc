// Kernels with one planted mistake each, and their right twins.
#include "tests/cuda_emulation/emulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "schedules/internal/cuda_prelude.h"

namespace kindred::cuda_emulation {
namespace {

using ::testing::HasSubstr;

std::span<std::byte> Bytes(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

// A kernel `k` of (const float* a, float* b) by its body.
std::string Kernel(std::string_view body) {
  const std::string text = fmt::format(
      "extern \"C\" __global__ void k(const float* __restrict__ a, float* __restrict__ b) {{\n{}}}\n",
      body);
  return internal::CudaPrelude(text) + text;
}

struct Outcome {
  Report report;
  std::vector<float> out;
};

// a[i] = i + 1.
Outcome Emulate(std::string_view body, Launch launch, std::size_t in, std::size_t out) {
  const std::string entries[] = {"k"};
  auto module = Module::Compile(Kernel(body), entries);
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  if (!module) return {};
  std::vector<float> a(in);
  std::iota(a.begin(), a.end(), 1.f);
  Outcome outcome;
  outcome.out.assign(out, -1.f);
  const Argument buffers[] = {Bytes(a), Bytes(outcome.out)};
  auto report = (*module)->Run("k", launch, buffers);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  if (report) outcome.report = *report;
  return outcome;
}

std::string TextOf(const Report& report) {
  if (!report.finding) return "nothing found";
  return fmt::format("{}: {}", Name(report.finding->mistake), report.finding->message);
}

std::string Replace(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

#define EXPECT_CLEAN(outcome)                       \
  do {                                              \
    const Report clean_ = (outcome).report;         \
    EXPECT_FALSE(clean_.finding) << TextOf(clean_); \
  } while (false)
#define EXPECT_FOUND(outcome, kind)                                      \
  do {                                                                   \
    const Report found_ = (outcome).report;                              \
    ASSERT_TRUE(found_.finding) << "the mistake was not found";          \
    EXPECT_EQ(found_.finding->mistake, Mistake::kind) << TextOf(found_); \
  } while (false)

// Each thread reads what its neighbour wrote to shared memory.
constexpr std::string_view kNeighbour = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(float, tile, 0, 64);
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tile[t] = a[i];
  kd_syncthreads();
  b[i] = tile[63 - t];
)";
const Launch kTwoBlocks = {.grid = {2, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 256};

TEST(CudaEmulation, RunsBlocksAndBarriers) {
  for (const std::uint64_t order : {0, 7}) {
    Launch launch = kTwoBlocks;
    launch.block_order = order;
    const Outcome outcome = Emulate(kNeighbour, launch, 128, 128);
    EXPECT_CLEAN(outcome);
    EXPECT_EQ(outcome.report.barriers, 2);
    for (int i = 0; i < 128; ++i)
      EXPECT_EQ(outcome.out[static_cast<std::size_t>(i)],
                static_cast<float>(i / 64 * 64 + 64 - i % 64));
  }
}

std::string Without(std::string_view text, std::string_view what) {
  return Replace(std::string(text), what, "");
}

TEST(CudaEmulation, FindsAMissingBarrier) {
  const Outcome outcome = Emulate(Without(kNeighbour, "kd_syncthreads();"), kTwoBlocks, 128, 128);
  // Thread 0 reads what thread 63 has not written yet.
  EXPECT_FOUND(outcome, kUninitialised);
  EXPECT_THAT(outcome.report.finding->message, HasSubstr("bytes 252 to 255 of tile"));
}

// A tile that is filled and read in turn needs two barriers.
constexpr std::string_view kTwoSteps = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(float, tile, 0, 64);
  const int t = threadIdx.x;
  float sum = 0;
  for (int step = 0; step < 2; ++step) {
    tile[t] = a[step * 64 + t];
    kd_syncthreads();
    sum += tile[63 - t];
    /* before the next step */ kd_syncthreads();
  }
  b[t] = sum;
)";

TEST(CudaEmulation, FindsAMissingBarrierBeforeTheNextWrite) {
  const Launch launch = {.block = {64, 1, 1}, .shared_bytes = 256};
  const Outcome right = Emulate(kTwoSteps, launch, 128, 64);
  EXPECT_CLEAN(right);
  EXPECT_EQ(right.out[0], 64.f + 128.f);
  const Outcome wrong =
      Emulate(Without(kTwoSteps, "/* before the next step */ kd_syncthreads();"), launch, 128, 64);
  EXPECT_FOUND(wrong, kRace);
  EXPECT_THAT(wrong.report.finding->message, HasSubstr("no barrier in between"));
}

TEST(CudaEmulation, FindsDivergentBarriers) {
  const Launch launch = {.block = {64, 1, 1}};
  EXPECT_FOUND(Emulate("if (threadIdx.x < 32) kd_syncthreads();\n", launch, 1, 1),
               kBarrierDivergence);
  EXPECT_FOUND(Emulate("if (threadIdx.x == 3) return;\nkd_syncthreads();\n", launch, 1, 1),
               kBarrierDivergence);
  const Outcome two =
      Emulate("if (threadIdx.x < 32)\nkd_syncthreads();\nelse\nkd_syncthreads();\n", launch, 1, 1);
  EXPECT_FOUND(two, kBarrierDivergence);
  EXPECT_CLEAN(Emulate("if (blockDim.x == 64) kd_syncthreads();\n", launch, 1, 1));
}

TEST(CudaEmulation, FindsAnOffByOneTail) {
  const Launch launch = {.block = {64, 1, 1}};
  constexpr std::string_view kBody =
      "const int i = threadIdx.x;\n"
      "if (i < 50) b[i] = a[i];\n";
  const Outcome right = Emulate(kBody, launch, 50, 50);
  EXPECT_CLEAN(right);
  EXPECT_EQ(right.out[49], 50.f);
  const Outcome wrong = Emulate(Replace(std::string(kBody), "i < 50", "i <= 50"), launch, 50, 50);
  EXPECT_FOUND(wrong, kOutOfBounds);
  EXPECT_THAT(
      wrong.report.finding->message,
      AllOf(HasSubstr("thread (50,0,0)"), HasSubstr("bytes 200 to 203"), HasSubstr("line")));
  EXPECT_FOUND(Emulate(Replace(std::string(kBody), "a[i]", "a[0]; b[50] = 1"), launch, 50, 50),
               kOutOfBounds);
}

TEST(CudaEmulation, KeepsSharedArraysApart) {
  constexpr std::string_view kBody = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(float, first, 0, 32);
  KD_SHARED(float, second, 128, 32);
  const int t = threadIdx.x;
  first[t] = a[t];
  second[t] = a[t];
  b[t] = first[t] + second[t];
)";
  const Launch launch = {.block = {32, 1, 1}, .shared_bytes = 256};
  EXPECT_CLEAN(Emulate(kBody, launch, 32, 32));
  const Outcome wrong = Emulate(
      Replace(std::string(kBody), "b[t]", "if (t == 31) first[32] = 0;\nb[t]"), launch, 32, 32);
  EXPECT_FOUND(wrong, kOutOfBounds);
  EXPECT_THAT(wrong.report.finding->message, HasSubstr("bytes 128 to 131 of first"));
  // Arrays that overlap share their history.
  EXPECT_FOUND(Emulate(Replace(std::string(kBody), "second, 128", "second, 64"), launch, 32, 32),
               kRace);
  Launch small = launch;
  small.shared_bytes = 255;
  EXPECT_FOUND(Emulate(kBody, small, 32, 32), kOutOfBounds);
}

// A transpose through a tile whose columns are exchanged by an xor.
constexpr std::string_view kSwizzle = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(float, tile, 0, 256);
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  tile[row * 16 + (column ^ row)] = a[row * 16 + column];
  kd_syncthreads();
  b[row * 16 + column] = tile[column * 16 + (row ^ column)];
)";

TEST(CudaEmulation, AWrongSwizzleGivesWrongResults) {
  const Launch launch = {.block = {256, 1, 1}, .shared_bytes = 1024};
  const auto wrong_results = [&](const Outcome& outcome) {
    int wrong = 0;
    for (std::size_t i = 0; i < 256; ++i)
      wrong += outcome.out[i] != static_cast<float>(i % 16 * 16 + i / 16 + 1);
    return wrong;
  };
  const Outcome right = Emulate(kSwizzle, launch, 256, 256);
  EXPECT_CLEAN(right);
  EXPECT_EQ(wrong_results(right), 0);
  const Outcome wrong = Emulate(
      Replace(std::string(kSwizzle), "(row ^ column)", "(row ^ (column & 7))"), launch, 256, 256);
  EXPECT_CLEAN(wrong);
  EXPECT_EQ(wrong_results(wrong), 128);
}

// Two stages of cp.async.
constexpr std::string_view kStages = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(float, stages, 0, 256);
  const int t = threadIdx.x;
  for (int stage = 0; stage < 2; ++stage) {
    kd_cp_async<16>(stages + stage * 128 + 4 * t, a + stage * 128 + 4 * t, stage == 1 && t == 31 ? 8 : 16);
    kd_cp_async_commit();
  }
  kd_cp_async_wait<1>();
  kd_syncthreads();
  b[t] = stages[t];
  kd_cp_async_wait<0>();
  kd_syncthreads();
  b[t] += stages[255 - t];
)";

TEST(CudaEmulation, FindsAMissingCopyWait) {
  const Launch launch = {.block = {32, 1, 1}, .shared_bytes = 1024};
  const Outcome right = Emulate(kStages, launch, 254, 32);
  EXPECT_CLEAN(right);
  EXPECT_EQ(right.out[0], 1.f + 0.f);
  EXPECT_EQ(right.out[2], 3.f + 254.f);
  EXPECT_FOUND(Emulate(Without(kStages, "kd_cp_async_wait<0>();"), launch, 254, 32), kCopyInFlight);
  EXPECT_FOUND(Emulate(Without(kStages, "kd_cp_async_wait<1>();"), launch, 254, 32), kCopyInFlight);
  EXPECT_FOUND(Emulate(Replace(std::string(kStages), "wait<1>", "wait<2>"), launch, 254, 32),
               kCopyInFlight);
  // The wait is the own thread's only.
  EXPECT_FOUND(Emulate(Replace(std::string(kStages), "kd_syncthreads();\n  b[t] =", "b[t] ="),
                       launch, 254, 32),
               kRace);
  EXPECT_FOUND(Emulate(kStages, launch, 252, 32), kOutOfBounds);
  EXPECT_FOUND(
      Emulate(Replace(std::string(kStages), "a + stage", "a + 1 + stage"), launch, 300, 32),
      kMisaligned);
}

// The sum of a warp's values.
constexpr std::string_view kWarpSum = R"(
  float x = a[threadIdx.x];
  for (int i = 16; i > 0; i /= 2) x += kd_shfl_xor(0xffffffffu, x, i);
  b[threadIdx.x] = x;
)";

TEST(CudaEmulation, FindsAWrongShuffleMask) {
  const Launch launch = {.block = {64, 1, 1}};
  const Outcome right = Emulate(kWarpSum, launch, 64, 64);
  EXPECT_CLEAN(right);
  EXPECT_EQ(right.out[5], 32.f * 33 / 2);
  EXPECT_EQ(right.out[63], 32.f * 33 / 2 + 32 * 32);
  EXPECT_FOUND(
      Emulate(Replace(std::string(kWarpSum), "0xffffffffu", "0x0000ffffu"), launch, 64, 64),
      kWarpMask);
  // Half of the warp, which reads the other half.
  const std::string half =
      Replace(std::string(kWarpSum), "for (", "if (threadIdx.x % 32 < 16) for (");
  EXPECT_FOUND(Emulate(Replace(half, "0xffffffffu", "0x0000ffffu"), launch, 64, 64), kWarpMask);
  EXPECT_CLEAN(Emulate(Replace(Replace(half, "0xffffffffu", "0x0000ffffu"), "16; i", "8; i"),
                       launch, 64, 64));
  // Lanes that never come, or are gone.
  EXPECT_FOUND(Emulate(half, launch, 64, 64), kWarpMask);
  EXPECT_FOUND(Emulate(half + "kd_syncthreads();\n", launch, 64, 64), kBarrierDivergence);
}

TEST(CudaEmulation, ShufflesVotesAndWidths) {
  const Outcome outcome = Emulate(R"(
  const int t = threadIdx.x;
  const unsigned all = 0xffffffffu;
  float r = kd_shfl(all, a[t], 3, 8) == a[t / 8 * 8 + 3];
  r += 2 * (kd_shfl_down(all, a[t], 2, 16) == a[t % 16 < 14 ? t + 2 : t]);
  r += 4 * (kd_shfl_up(all, (double)a[t], 1) == a[t > 0 ? t - 1 : t]);
  r += 8 * (kd_ballot(all, t % 2) == 0xaaaaaaaau);
  r += 16 * (kd_all(all, t < 32) && !kd_all(all, t < 31) && kd_any(all, t == 7) && !kd_any(all, t > 40));
  const kd_c64 z = kd_shfl_xor(all, kd_complex_c64(a[t], -a[t]), 1);
  b[t] = r + 32 * (z.re == a[t ^ 1] && z.im == -a[t ^ 1]);
)",
                                  {.block = {32, 1, 1}}, 32, 32);
  EXPECT_CLEAN(outcome);
  EXPECT_THAT(outcome.out, ::testing::Each(63.f));
}

TEST(CudaEmulation, OnlyAWarpBarrierOrdersAWarp) {
  constexpr std::string_view kBody = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(float, tile, 0, 32);
  const int t = threadIdx.x;
  tile[t] = a[t];
  kd_syncwarp();
  b[t] = tile[31 - t];
)";
  const Launch launch = {.block = {32, 1, 1}, .shared_bytes = 128};
  EXPECT_CLEAN(Emulate(kBody, launch, 32, 32));
  EXPECT_FOUND(Emulate(Replace(std::string(kBody), "kd_syncwarp()", "kd_any(0xffffffffu, 1)"),
                       launch, 32, 32),
               kRace);
}

TEST(CudaEmulation, FindsMisalignedVectors) {
  constexpr std::string_view kBody =
      "kd_store<2>(b + 2 * threadIdx.x, kd_load<2>(a + 2 * threadIdx.x));\n";
  const Launch launch = {.block = {16, 1, 1}};
  const Outcome right = Emulate(kBody, launch, 34, 34);
  EXPECT_CLEAN(right);
  EXPECT_EQ(right.out[31], 32.f);
  EXPECT_FOUND(Emulate(Replace(std::string(kBody), "b + 2", "b + 1 + 2"), launch, 34, 34),
               kMisaligned);
  EXPECT_FOUND(Emulate(Replace(std::string(kBody), "a + 2", "a + 1 + 2"), launch, 34, 34),
               kMisaligned);
}

TEST(CudaEmulation, FindsWritesToConstAndStaleReads) {
  const Launch launch = {.block = {1, 1, 1}};
  EXPECT_FOUND(Emulate("const_cast<float*>(a)[0] = 1;\n", launch, 1, 1), kReadOnly);
  EXPECT_FOUND(Emulate("b[0] = 1;\nb[1] = kd_load_global<1>(b).v[0];\n", launch, 1, 2), kReadOnly);
  EXPECT_CLEAN(
      Emulate("b[0] = 1;\nb[1] = kd_load<1>(b).v[0] + kd_load_global<1>(a).v[0];\n", launch, 1, 2));
}

// Each block leaves a part; the last one adds them up.
constexpr std::string_view kLastBlock = R"(
  KD_SHARED_MEMORY(16);
  KD_SHARED(int, last, 0, 1);
  const int t = threadIdx.x;
  b[blockIdx.x * 32 + t] = a[blockIdx.x * 32 + t];
  kd_threadfence();
  kd_syncthreads();
  if (t == 0) last[0] = kd_atomic_add(b + 128, 1.f) == gridDim.x - 1;
  kd_syncthreads();
  if (!last[0]) return;
  float sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += b[i * 32 + t];
  b[129 + t] = sum;
)";

TEST(CudaEmulation, OrdersBlocksByFenceAndAtomic) {
  Launch launch = {.grid = {4, 1, 1}, .block = {32, 1, 1}, .shared_bytes = 4};
  const std::string body =
      Replace(std::string(kLastBlock), "gridDim.x - 1", "2.f");  // b starts at -1
  const Outcome right = Emulate(body, launch, 128, 161);
  EXPECT_CLEAN(right);
  EXPECT_EQ(right.out[129], 1.f + 33.f + 65.f + 97.f);
  EXPECT_FOUND(Emulate(Without(body, "kd_threadfence();"), launch, 128, 161), kRace);
  EXPECT_FOUND(Emulate("b[0] = blockIdx.x;\n", launch, 1, 1), kRace);
  EXPECT_FOUND(Emulate("if (threadIdx.x == 0) b[0] += 1;\n", launch, 1, 1), kRace);
  const Outcome sum = Emulate("kd_atomic_add(b, 1.f);\n", launch, 1, 1);
  EXPECT_CLEAN(sum);
  EXPECT_EQ(sum.out[0], 127.f);
  EXPECT_FOUND(Emulate("if (threadIdx.x == 5) b[0] = 2;\nkd_atomic_add(b, 1.f);\n", launch, 1, 1),
               kRace);
}

// Also where the mistake lies in a function of the prelude that the compiler has put in place.
TEST(CudaEmulation, NamesTheLineOfTheKernel) {
  constexpr std::string_view kBody = "b[0] = kd_shfl_xor(1u, a[0], 0);\n";
  const std::string text = Kernel(kBody);
  const auto before = std::count(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("b[0] =")), '\n');
  const Outcome outcome = Emulate(kBody, {.block = {2, 1, 1}}, 1, 1);
  EXPECT_FOUND(outcome, kWarpMask);
  EXPECT_THAT(outcome.report.finding->message, HasSubstr(fmt::format("line {}: ", before + 1)));
}

TEST(CudaEmulation, EndsEndlessLoops) {
  Launch launch = {.block = {1, 1, 1}};
  launch.max_accesses = 1000;
  EXPECT_FOUND(Emulate("for (;;) kd_atomic_add(b, a[0]);\n", launch, 1, 1), kTooManyAccesses);
}

TEST(CudaEmulation, RefusesWhatDoesNotSuitTheKernel) {
  const std::string entries[] = {"k"};
  auto bad = Module::Compile(Kernel("nonsense;\n"), entries);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("nonsense"));
  auto module = Module::Compile(Kernel("b[0] = a[0];\n"), entries);
  ASSERT_TRUE(module);
  std::vector<float> a(1), b(1);
  const Argument buffers[] = {Bytes(a), Bytes(b)};
  EXPECT_FALSE((*module)->Run("other", {}, buffers));
  EXPECT_FALSE((*module)->Run("k", {}, std::span(buffers).first(1)));
  EXPECT_FALSE((*module)->Run("k", {.block = {2048, 1, 1}}, buffers));
  EXPECT_TRUE((*module)->Run("k", {}, buffers));
}

// A sum in two steps by a part of the workspace.
TEST(CudaEmulation, RunsTheStepsOfASource) {
  const std::string kernels = R"(
extern "C" __global__ void part(const float* __restrict__ x, float* __restrict__ sums, const long long n) {
  float sum = 0;
  for (long long i = threadIdx.x; i < n; i += 32) sum += x[i];
  sums[threadIdx.x] = sum;
}
extern "C" __global__ void whole(const float* __restrict__ sums, float* __restrict__ y) {
  float sum = sums[threadIdx.x];
  for (int i = 16; i > 0; i /= 2) sum += kd_shfl_xor(0xffffffffu, sum, i);
  if (threadIdx.x == 0) y[0] = sum;
}
)";
  using Parameter = KernelStep::Parameter;
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.code = internal::CudaPrelude(kernels) + kernels;
  source.workspace_bytes = 256 + 128;
  const ExprPtr one = IntExpr(1);
  source.steps.push_back({"part",
                          {one, one, one},
                          {32, 1, 1},
                          0,
                          {{Parameter::Kind::kArgument, 0},
                           {Parameter::Kind::kWorkspace, 256},
                           {Parameter::Kind::kExtent, 0}}});
  source.steps.push_back({"whole",
                          {one, one, one},
                          {32, 1, 1},
                          0,
                          {{Parameter::Kind::kWorkspace, 256}, {Parameter::Kind::kArgument, 1}}});
  std::vector<float> x(50), y(1);
  std::iota(x.begin(), x.end(), 1.f);
  const std::int64_t extents[] = {50};
  const std::span<std::byte> buffers[] = {Bytes(x), Bytes(y)};
  auto report = RunSource(source, extents, buffers);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->finding) << TextOf(*report);
  EXPECT_EQ(y[0], 25.f * 51);
  source.workspace_bytes = 256 + 124;
  report = RunSource(source, extents, buffers);
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->finding);
  EXPECT_THAT(report->finding->message, HasSubstr("part: line"));
}

}  // namespace
}  // namespace kindred::cuda_emulation
