// f8, bf16 and f16: conversions of emitted C against data_type.h, bit by bit; kernels of all
// sketches against the interpreter, built as they are when tuned.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred {
namespace {

using test::Bytes;
using test::ParseCanonical;

Bytes BytesOf(const std::vector<float>& values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

float FloatAt(const Bytes& bytes, std::size_t i) {
  float value;
  std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
  return value;
}

// Numbers of the type, the middles between neighbours, and what lies beside these.
std::vector<float> AroundEveryNumber(DataType type) {
  std::vector<float> values;
  const int size = ByteSize(type);
  const std::uint32_t step = size == 1 ? 1 : 37;
  for (std::uint32_t bits = 0; bits < (1u << (8 * size)); bits += step) {
    std::byte here[2] = {std::byte(bits & 255), std::byte(bits >> 8)};
    const std::uint32_t next_bits = bits + 1;
    std::byte there[2] = {std::byte(next_bits & 255), std::byte((next_bits >> 8) & 255)};
    const auto a = static_cast<float>(LoadFloat(type, here));
    const auto b = static_cast<float>(LoadFloat(type, there));
    const float middle = (a + b) / 2;
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float v : {a, middle})
      for (const float w : {v, std::nextafter(v, infinity), std::nextafter(v, -infinity)})
        values.push_back(w);
  }
  for (const double v : {463.9, 464.0, 464.1, 480.0, 61439.0, 61440.0, 61441.0, 65519.9, 65520.0,
                         1e6, 1e38, 1e-30, 1e-40, 0.0})
    for (const double sign : {1.0, -1.0}) values.push_back(static_cast<float>(sign * v));
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(-std::numeric_limits<float>::infinity());
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

// Kernels of the pointwise workload, scalar and with vectors, by each compiler, and the plain nest.
void AddKernels(test::KernelBatch& batch, const Workload& w) {
  const Target target = test::TestTarget();
  const auto space = MakeSpace(w, target);
  for (const char* vectors : {"0", "1", "2"}) {
    const auto path = PathFromJson(
        *space, std::string(R"({"sketch": "elementwise", "vectors": )") + vectors + "}");
    ASSERT_TRUE(path) << path.error().message;
    for (const char* compiler : {"gcc", "clang"}) {
      Program program = *space->Lower(*path)->program;
      program.compiler = compiler;
      ASSERT_TRUE(batch.Add(w, program, std::string(vectors) + " " + compiler));
    }
  }
}

const DataType kTypes[] = {DataType::kF8E4M3, DataType::kF8E5M2, DataType::kBF16, DataType::kF16};

TEST(NarrowFloats, EveryNumberIsReadAsItIs) {
  for (const DataType type : kTypes) {
    const int count = 1 << (8 * ByteSize(type));
    const Workload w =
        ParseCanonical("read", "input X: " + std::string(Name(type)) + "[" + std::to_string(count) +
                                   "]\noutput Y[i] = f32(X[i])\n");
    Bytes codes(static_cast<std::size_t>(count * ByteSize(type)));
    for (int i = 0; i < count; ++i)
      std::memcpy(codes.data() + i * ByteSize(type), &i, static_cast<std::size_t>(ByteSize(type)));
    test::KernelBatch batch(test::TestTarget(), "");
    AddKernels(batch, w);
    const auto built = batch.Build();
    ASSERT_TRUE(built) << built.error().message;
    for (int k = 0; k < batch.size(); ++k) {
      const auto outputs = batch.Run(k, {codes});
      ASSERT_TRUE(outputs) << outputs.error().message;
      for (int i = 0; i < count; ++i) {
        const double want = LoadFloat(type, codes.data() + i * ByteSize(type));
        const float got = FloatAt(outputs->at(0), static_cast<std::size_t>(i));
        if (std::isnan(want) ? !std::isnan(got) : static_cast<double>(got) != want)
          FAIL() << Name(type) << " code " << i << " is read as " << got << ", not " << want
                 << " by " << batch.Label(k);
        if (std::isnan(want)) continue;
        ASSERT_EQ(std::signbit(got), std::signbit(want)) << Name(type) << " code " << i;
      }
    }
  }
}

TEST(NarrowFloats, StoresRoundToNearestEven) {
  for (const DataType type : kTypes) {
    const std::vector<float> x = AroundEveryNumber(type);
    const Workload w =
        ParseCanonical("store", "input X: f32[" + std::to_string(x.size()) +
                                    "]\noutput Y: " + std::string(Name(type)) + "[i] = X[i]\n");
    test::KernelBatch batch(test::TestTarget(), "");
    AddKernels(batch, w);
    const auto built = batch.Build();
    ASSERT_TRUE(built) << built.error().message;
    for (int k = 0; k < batch.size(); ++k) {
      const auto outputs = batch.Run(k, {BytesOf(x)});
      ASSERT_TRUE(outputs) << outputs.error().message;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = RoundTo(type, static_cast<double>(x[i]));
        const double got =
            LoadFloat(type, outputs->at(0).data() + i * static_cast<std::size_t>(ByteSize(type)));
        if (std::isnan(want) ? !std::isnan(got) : got != want)
          FAIL() << Name(type) << " of " << x[i] << " is " << got << ", not " << want << " by "
                 << batch.Label(k);
      }
    }
  }
}

std::vector<Workload> Workloads(const std::string& t) {
  return {
      ParseCanonical("quantise_" + t, "input X: f32[5,37]\ninput s: f32[5]\noutput Q: " + t +
                                          "[i,j] = X[i,j] * s[i]\n"),
      ParseCanonical(
          "dequantise_" + t,
          "input Q: " + t + "[5,37]\ninput s: f32[5]\noutput Y[i,j] = f32(Q[i,j]) * s[i]\n"),
      ParseCanonical("gemm_" + t, "input A: " + t + "[11,21]\nweight B: " + t +
                                      "[21,35]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n"),
      ParseCanonical("gemm_to_" + t, "input A: " + t + "[7,21]\ninput B: " + t +
                                         "[19,21]\noutput Y: " + t +
                                         "[m,n] = relu(sum[k](A[m,k] * B[n,k]))\n"),
      ParseCanonical("quantised_gemm_" + t,
                     "input A: f32[9,24]\nweight B: " + t + "[24,33]\nQ: " + t +
                         "[m,k] = A[m,k] * 3\noutput Y[m,n] = sum[k](Q[m,k] * B[k,n]) * 0.125\n"),
      ParseCanonical("convolution_" + t,
                     "input X: " + t + "[1,3,7,9]\nweight W: " + t +
                         "[5,3,3,3]\noutput Y[n,o,y=7,x=9] = "
                         "sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"),
      ParseCanonical("pool_" + t, "input X: " + t +
                                      "[2,8,34]\noutput Y[c,y=4,x=17] = "
                                      "max[r=2,s=2](X[c,2*y+r,2*x+s])\n"),
      ParseCanonical("softmax_" + t,
                     "input X: " + t +
                         "[3,41]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] "
                         "= sum[j](E[i,j])\noutput Y: " +
                         t + "[i,j] = E[i,j] / S[i]\n"),
      ParseCanonical("scales_" + t,
                     "input X: f32[4,40]\nA[i] = max[j](abs(X[i,j]))\noutput S[i] = A[i] / "
                     "400\noutput Q: " +
                         t + "[i,j] = X[i,j] / S[i]\n"),
      ParseCanonical("argmax_" + t, "input X: " + t + "[4,39]\noutput I[i] = argmax[k](X[i,k])\n"),
  };
}

TEST(NarrowFloats, AllSketchesAgreeWithTheInterpreter) {
  EXPECT_THAT(
      test::DifferentialTest(Workloads("f8e4m3"), test::TestTarget(64), {.paths_per_sketch = 2}),
      testing::IsEmpty());
  EXPECT_THAT(
      test::DifferentialTest(Workloads("f8e5m2"), test::TestTarget(32), {.paths_per_sketch = 2}),
      testing::IsEmpty());
}

TEST(NarrowFloats, AgreeAsTheyAreBuiltWhenTuned) {
  Target target = test::TestTarget();
  target.compilers = {"gcc", "clang"};
  EXPECT_THAT(test::DifferentialTest(Workloads("f8e4m3"), target,
                                     {.paths_per_sketch = 2, .seed = 5, .options = ""}),
              testing::IsEmpty());
}

TEST(NarrowFloats, PaddingWithInfinityIsRefusedWhereThereIsNone) {
  const auto w = ParseWorkload("input X: f8e4m3[4]\noutput Y[i] = padded(X[i-1], -inf)\n");
  ASSERT_FALSE(w);
  EXPECT_THAT(w.error().message, testing::HasSubstr(":2:30: f8e4m3 has no infinity"));
}

}  // namespace
}  // namespace kindred
