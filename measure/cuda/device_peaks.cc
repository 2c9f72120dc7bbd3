#include "measure/cuda/device_peaks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "measure/cuda/device_buffer.h"
#include "measure/cuda/launch_group.h"

namespace kindred {
namespace {

constexpr int kThreads = 256;
constexpr int kChains = 8;  // of multiply-adds in each thread, independent of each other
constexpr int kSteps = 4096;
constexpr int kRuns = 8;
constexpr std::int64_t kLeastCopy = 1 << 20;
constexpr std::int64_t kMostCopy = 1ll << 30;
constexpr std::int64_t kCacheSizes = 16;  // of copied data: what stays in the cache hardly counts

const std::string kCode = R"(
struct __align__(16) Four { float x, y, z, w; };
extern "C" __global__ void __launch_bounds__(256) peak_copy(const Four* from, Four* to, long long count) {
  const long long stride = (long long)gridDim.x * 256;
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += stride) to[i] = from[i];
}
#ifdef KINDRED_CUDA_EMULATION
static __device__ unsigned fma_f16x2(unsigned a, unsigned b, unsigned c) { return a * b + c; }
static __device__ int dot_i8x4(int a, int b, int c) { return a * b + c; }
#else
static __device__ unsigned fma_f16x2(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
static __device__ int dot_i8x4(int a, int b, int c) {
  int d;
  asm volatile("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
#endif
)";

// NAME, T and the step of a chain. The store never happens, and the compiler cannot know.
constexpr std::string_view kChainsCode = R"(
extern "C" __global__ void __launch_bounds__(256) NAME(T* out, T b, T never) {
  T x0 = b, x1 = x0 + b, x2 = x1 + b, x3 = x2 + b, x4 = x3 + b, x5 = x4 + b, x6 = x5 + b, x7 = x6 + b;
  for (int i = 0; i < 4096; ++i) {
    x0 = STEP(x0, b); x1 = STEP(x1, b); x2 = STEP(x2, b); x3 = STEP(x3, b);
    x4 = STEP(x4, b); x5 = STEP(x5, b); x6 = STEP(x6, b); x7 = STEP(x7, b);
  }
  const T sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
  if (sum == never) out[threadIdx.x] = sum;
}
)";

std::string ChainsCode(const std::string& name, const std::string& type, const std::string& step) {
  std::string code(kChainsCode);
  const auto replace = [&code](std::string_view what, const std::string& with) {
    for (std::size_t at = 0; (at = code.find(what, at)) != std::string::npos; at += with.size())
      code.replace(at, what.size(), with);
  };
  replace("NAME", name);
  replace("STEP", "step_" + name);
  replace("T ", type + " ");
  replace("T*", type + "*");
  return "static __device__ __forceinline__ " + type + " step_" + name + "(" + type + " x, " +
         type + " b) { return " + step + "; }" + code;
}

}  // namespace

KernelSource PeakSource() {
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.code = kCode + ChainsCode("peak_f32", "float", "x * b + b") +
                ChainsCode("peak_f64", "double", "x * b + b") +
                ChainsCode("peak_f16", "unsigned", "fma_f16x2(x, b, b)") +
                ChainsCode("peak_i8", "int", "dot_i8x4(b, b, x)");
  for (const char* entry : {"peak_copy", "peak_f32", "peak_f64", "peak_f16", "peak_i8"}) {
    source.steps.emplace_back().entry = entry;
    source.steps.back().block = {kThreads, 1, 1};
  }
  source.entry = source.steps.front().entry;
  return source;
}

Result<DevicePeaks> MeasurePeaks(Device& device, const std::string& image) {
  using Kind = KernelStep::Parameter::Kind;
  const DeviceFacts& facts = device.facts();
  const std::int64_t copied =
      std::min(std::clamp(kCacheSizes * facts.l2_bytes, kLeastCopy, kMostCopy),
               facts.memory_bytes / 8) /
      16 * 16;
  const std::int64_t blocks = std::max(1, facts.sms * (facts.threads_per_sm / kThreads));
  std::array<DeviceBuffer, 2> buffers;
  for (DeviceBuffer& buffer : buffers) {
    CudaResult code = DeviceBuffer::Make(device.api(), device.stream(), "peaks", copied, &buffer);
    if (code == 0) code = buffer.Fill(0);
    if (code != 0) return Environment("no memory for measuring peaks: " + device.api().Text(code));
  }
  const CudaPointer pointers[] = {buffers[0].data(), buffers[1].data()};
  // As bits of the parameters: the number of vectors, the factor, a sum that does not come.
  const auto best_ns = [&](const char* entry, std::array<std::int64_t, 2> numbers,
                           bool copies) -> Result<double> {
    KernelLaunch launch;
    launch.entry = entry;
    launch.grid = {blocks, 1, 1};
    launch.block = {kThreads, 1, 1};
    launch.parameters = {{Kind::kArgument, 0}};
    if (copies) launch.parameters.push_back({Kind::kArgument, 1});
    launch.parameters.push_back({Kind::kExtent, 0});
    if (!copies) launch.parameters.push_back({Kind::kExtent, 1});
    LoadedKernels kernels;
    CudaResult code = kernels.Load(device, image, std::span(&launch, 1), pointers, 0, numbers);
    GroupTimes times;
    if (code == 0) {
      times = RunGroup(device, kernels, kRuns, false);
      code = times.code;
    }
    if (code != 0)
      return Environment(std::string(entry) + " cannot be run: " + device.api().Text(code));
    return std::max(1.0, *std::min_element(times.run_ns.begin(), times.run_ns.end()));
  };
  const double operations = 2.0 * kChains * kSteps * kThreads * static_cast<double>(blocks);
  DevicePeaks peaks;
  KINDRED_TRY(const double copy, best_ns("peak_copy", {copied / 16, 0}, true));
  KINDRED_TRY(const double f32, best_ns("peak_f32", {0x3f000000, -1}, false));
  KINDRED_TRY(const double f64, best_ns("peak_f64", {0x3fe0000000000000, -1}, false));
  KINDRED_TRY(const double f16, best_ns("peak_f16", {0x38003800, -1}, false));
  KINDRED_TRY(const double i8, best_ns("peak_i8", {0x01010101, -1}, false));
  peaks.copy_gbps = 2 * static_cast<double>(copied) / copy;
  peaks.f32_gflops = operations / f32;
  peaks.f64_gflops = operations / f64;
  peaks.f16_gflops = 2 * operations / f16;
  peaks.i8_gops = 4 * operations / i8;
  return peaks;
}

}  // namespace kindred
