// The device prelude: what is chosen for a kernel, and, in the emulation, what it computes.
#include "schedules/internal/cuda_prelude.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

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

}  // namespace
}  // namespace kindred::internal
