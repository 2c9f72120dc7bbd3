// The device prelude: what is chosen for a kernel, and, in the emulation, what it computes.
#include "schedules/internal/cuda_prelude.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "measure/cuda/nvrtc.h"
#include "schedules/data_type.h"
#include "tests/cuda_emulation/emulation.h"

namespace kindred::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CudaPrelude, HasWhatAKernelNeedsAndNoMore) {
  EXPECT_EQ(CudaPrelude("void f(int kd, float kd_of_mine);"), "");
  const std::string text = CudaPrelude("x = kd_conj_c64(x); KD_SHARED(float, s, 0, 1);");
  EXPECT_THAT(text, Not(HasSubstr("kd_vec")));
  EXPECT_THAT(text, Not(HasSubstr("kd_mul_c64")));
  EXPECT_LT(text.find("struct alignas(8) kd_c64"), text.find("kd_complex_c64("));
  EXPECT_LT(text.find("kd_complex_c64("), text.find("kd_c64 kd_conj_c64("));
  EXPECT_EQ(text.find("#ifndef KINDRED_CUDA_EMULATION"), 0u);
}

TEST(CudaPrelude, EveryWordIsDefinedOnce) {
  std::set<std::string> words;
  for (const auto parts : {PreludeDeviceParts(), PreludeMathParts()})
    for (const PreludePart& part : parts) {
      std::istringstream in{std::string(part.words)};
      for (std::string word; in >> word;) {
        EXPECT_TRUE(words.insert(word).second) << word;
        EXPECT_THAT(std::string(part.text), HasSubstr(word));
      }
    }
}

// Runs `body` once per element i of `in`, which writes out[i].
template <class Out, class In>
std::vector<Out> Map(std::string_view parameters, std::string_view body, std::vector<In> in) {
  const std::string text = fmt::format(
      "extern \"C\" __global__ void k({}) {{\n  const int i = blockIdx.x * 256 + threadIdx.x;\n"
      "  {}\n}}\n",
      parameters, body);
  in.resize((in.size() + 255) / 256 * 256);
  std::vector<Out> out(in.size());
  const std::string entries[] = {"k"};
  auto module = cuda_emulation::Module::Compile(CudaPrelude(text) + text, entries);
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  if (!module) return out;
  const cuda_emulation::Argument arguments[] = {std::as_writable_bytes(std::span(in)),
                                                std::as_writable_bytes(std::span(out))};
  const auto report = (*module)->Run(
      "k", {.grid = {static_cast<unsigned>(in.size() / 256), 1, 1}, .block = {256, 1, 1}},
      arguments);
  EXPECT_TRUE(report && !report->finding);
  return out;
}

std::vector<float> AwkwardFloats() {
  std::vector<float> values = {0.f,     -0.f,    1.f,     65504.f,  65519.9f,  65520.f, 1e30f,
                               448.f,   463.9f,  464.f,   464.1f,   57344.f,   61439.f, 61440.f,
                               5.9e-8f, 2.9e-8f, 9.8e-4f, INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 3000; ++i)
    values.push_back(
        std::ldexp(static_cast<float>(static_cast<int>(i * 2654435761u)) * 0x1p-31f, i % 44 - 26));
  return values;
}

template <class Bits>
void ExpectConversions(DataType type) {
  const std::string name(Name(type));
  const std::vector<float> values = AwkwardFloats();
  const auto stored =
      Map<Bits>(fmt::format("const float* __restrict__ in, kd_{}* __restrict__ out", name),
                fmt::format("out[i] = kd_f32_to_{}(in[i]);", name), values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Bits bits = 0;
    StoreFloat(type, values[i], reinterpret_cast<std::byte*>(&bits));
    const double expected = LoadFloat(type, reinterpret_cast<const std::byte*>(&bits));
    const double actual = LoadFloat(type, reinterpret_cast<const std::byte*>(&stored[i]));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(actual)) << name << " " << values[i];
    else
      EXPECT_EQ(stored[i], bits) << name << " " << values[i];
  }
  std::vector<Bits> all(std::size_t{1} << (8 * sizeof(Bits)));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Bits>(i);
  const auto loaded =
      Map<float>(fmt::format("const kd_{}* __restrict__ in, float* __restrict__ out", name),
                 fmt::format("out[i] = kd_{}_to_f32(in[i]);", name), all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto expected =
        static_cast<float>(LoadFloat(type, reinterpret_cast<const std::byte*>(&all[i])));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(loaded[i])) << name << " " << i;
    else
      EXPECT_EQ(std::bit_cast<int>(loaded[i]), std::bit_cast<int>(expected)) << name << " " << i;
  }
}

TEST(CudaPrelude, ConvertsNarrowFloats) {
  ExpectConversions<std::uint16_t>(DataType::kF16);
  ExpectConversions<std::uint16_t>(DataType::kBF16);
  ExpectConversions<std::uint8_t>(DataType::kF8E4M3);
  ExpectConversions<std::uint8_t>(DataType::kF8E5M2);
}

TEST(CudaPrelude, DividesToMinusInfinity) {
  std::vector<int> values;
  for (int i = -20; i <= 20; ++i) values.push_back(i);
  for (const int by : {3, -3, 1, 7}) {
    const auto quotients = Map<long long>(
        "const int* __restrict__ in, long long* __restrict__ out",
        fmt::format("out[i] = 1000 * kd_floordiv_i64(in[i], {0}) + kd_floormod_i32(in[i], {0}) + "
                    "kd_floormod_i64(in[i], {0}) - kd_floordiv_i32(in[i], {0});",
                    by),
        values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto quotient = static_cast<long long>(std::floor(1. * values[i] / by));
      EXPECT_EQ(quotients[i], 999 * quotient + 2 * (values[i] - quotient * by)) << values[i];
    }
  }
}

// Every function of the prelude.
constexpr std::string_view kUses = R"(
extern "C" __global__ void __launch_bounds__(256, 2) k(
    const float* __restrict__ a, const kd_f16* __restrict__ h, float* __restrict__ o, kd_f8e4m3* q,
    kd_f8e5m2* r, kd_bf16* b, kd_c64* c, long long* l, int* n, double* d, signed char* i8) {
  KD_SHARED_MEMORY(128);
  KD_SHARED(float, tile, 0, 1024);
  KD_SHARED(kd_f16, stage, 4096, 1024);
  const unsigned all = 0xffffffffu;
  const int t = threadIdx.x + blockIdx.y * blockDim.z * gridDim.x;
  kd_cp_async<16>(tile + 4 * t, a + 4 * t);
  kd_cp_async<8>(stage + 4 * t, h + 4 * t, t < 100 ? 8 : 0);
  kd_cp_async<4>(stage + 4 * t, h + 4 * t);
  kd_cp_async_commit();
  kd_cp_async_wait<0>();
  kd_syncthreads();
  const kd_vec<float, 4> v = kd_load<4>(tile + 4 * t);
  const kd_vec<float, 2> s = kd_load_stream<2>(a + 2 * t);
  const kd_vec<kd_f16, 8> hh = kd_load_global<8>(h + 8 * t);
  const kd_vec<signed char, 1> i1 = kd_load_global<1>(i8 + t);
  const kd_vec<signed char, 2> i2 = kd_load_stream<2>(i8 + 2 * t);
  const kd_vec<signed char, 16> i16 = kd_load_global<16>(i8 + 16 * t);
  float x = v.v[0] + s.v[1] + kd_f16_to_f32(hh.v[7]) + kd_bf16_to_f32(b[t]) + i2.v[1] + i16.v[15];
  x += kd_f8e4m3_to_f32(q[t]) + kd_f8e5m2_to_f32(r[t]) + kd_from_bits_f32(kd_bits_f32(x) + 1);
  x = kd_max_f32(kd_min_f32(x, 3.f), kd_abs_f32(x)) + kd_sqrt_f32(x) + kd_rsqrt_f32(x);
  x += kd_floor_f32(x) + kd_ceil_f32(x) + kd_round_f32(x) + kd_exp_f32(x) + kd_log_f32(x);
  x += kd_erf_f32(x) + kd_tanh_f32(x) + kd_sin_f32(x) + kd_cos_f32(x) + kd_tan_f32(x);
  x = kd_fma_f32(kd_pow_f32(x, 2.5f), kd_floormod_f32(x, 3.f), 1.f);
  x += kd_exp_fast_f32(x) + kd_log_fast_f32(x) + kd_tanh_fast_f32(x) + kd_sin_fast_f32(x);
  x += kd_cos_fast_f32(x) + kd_pow_fast_f32(x, x) + kd_div_fast_f32(x, x) + kd_rsqrt_fast_f32(x);
  x += kd_sqrt_fast_f32(x);
  double y = kd_max_f64(kd_min_f64(x, 3.), kd_abs_f64(x)) + kd_sqrt_f64(x) + kd_rsqrt_f64(x);
  y += kd_floor_f64(y) + kd_ceil_f64(y) + kd_round_f64(y) + kd_exp_f64(y) + kd_log_f64(y);
  y += kd_erf_f64(y) + kd_tanh_f64(y) + kd_sin_f64(y) + kd_cos_f64(y) + kd_tan_f64(y);
  y = kd_fma_f64(kd_pow_f64(y, 2.5), kd_floormod_f64(y, 3.), 1.);
  int m = kd_floordiv_i32(t, 3) + kd_floormod_i32(t, 5) + kd_min_i32(t, 7) + kd_max_i32(t, 9);
  long long w = kd_floordiv_i64(m, 3) + kd_floormod_i64(m, 5) + kd_min_i64(m, 7) + kd_max_i64(m, 9);
  m += kd_abs_i32(m);
  w += kd_abs_i64(w);
  kd_c64 z = kd_complex_c64(x, x);
  z = kd_div_c64(kd_mul_c64(z, z), kd_sub_c64(kd_add_c64(z, kd_conj_c64(z)), kd_neg_c64(z)));
  z = kd_shrink_c64(kd_scale_c64(z, x), 3.f);
  x += kd_abs_c64(z) + kd_real_c64(z) + kd_imag_c64(z) + kd_shfl_xor(all, x, 16);
  y += kd_shfl_down(all, y, 1);
  w += kd_shfl(all, w, 0) + kd_shfl(all, 3u, 0, 16);
  z = kd_shfl_up(all, z, 1);
  if (kd_all(all, x > 1) || kd_any(all, x > 2)) x += kd_ballot(all, t & 1);
  kd_syncwarp();
  kd_threadfence();
  kd_threadfence_block();
  o[t] = kd_atomic_add(o, x) + kd_atomic_add(d, y) + kd_atomic_add(l, w) + kd_atomic_add(n, m);
  n[t] = kd_atomic_max(l, w) + kd_atomic_min(n, m);
  kd_store<4>(o + 4 * t + 4, v);
  kd_store_stream<4>(o + 4 * t + 4096, v);
  kd_store_stream<1>(i8 + t, i1);
  kd_store<2>(b + 2 * t + 512, kd_f32x2_to_bf16x2(x, x));
  const kd_vec<kd_f16, 2> pair = kd_f32x2_to_f16x2(x, x);
  q[t] = kd_f32_to_f8e4m3(x + kd_f16_to_f32(pair.v[1]) + kd_f16_to_f32(kd_f32_to_f16(x)));
  r[t] = kd_f32_to_f8e5m2(x);
  b[t] = kd_f32_to_bf16(x);
  c[t] = z;
}
)";

TEST(CudaPrelude, TheEmulationHasAllOfIt) {
  const std::string uses(kUses);
  for (const auto parts : {PreludeDeviceParts(), PreludeMathParts()})
    for (const PreludePart& part : parts) {
      std::istringstream in{std::string(part.words)};
      for (std::string word; in >> word;) EXPECT_THAT(CudaPrelude(uses) + uses, HasSubstr(word));
    }
  const std::string entries[] = {"k"};
  const auto module = cuda_emulation::Module::Compile(CudaPrelude(uses) + uses, entries);
  EXPECT_TRUE(module) << module.error().message;
}

TEST(CudaPrelude, NvrtcCompilesAllOfIt) {
  const auto nvrtc = Nvrtc::Load();
  if (!nvrtc) GTEST_SKIP() << "not tested, there is no NVRTC: " << nvrtc.error().message;
  const std::string uses(kUses);
  for (const std::string architecture : {"sm_80", "sm_89", "sm_90a", "sm_100"}) {
    const auto& known = (*nvrtc)->architectures();
    if (std::find(known.begin(), known.end(), std::stoi(architecture.substr(3))) == known.end())
      continue;  // an older NVRTC
    const std::string options[] = {"--std=c++17", "--gpu-architecture=" + architecture};
    const auto result = (*nvrtc)->Compile(CudaPrelude(uses) + uses, options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->ok) << architecture << "\n" << result->log;
  }
}

}  // namespace
}  // namespace kindred::internal
