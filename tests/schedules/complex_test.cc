// Complex numbers: what may be written, what it counts, and kernels of all sketches against the
// interpreter, whose complex arithmetic is the standard library's.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/lower_naive.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

#include <nlohmann/json.hpp>

namespace kindred {
namespace {

using test::ParseCanonical;

std::string ErrorOf(const std::string& body) {
  const auto w =
      ParseWorkload("input Z: c64[4,4]\ninput X: f32[4,4]\noutput Y[i,j] = " + body + "\n", "z.kd");
  return w ? "" : w.error().message;
}

TEST(Complex, ErrorsNameThePlace) {
  EXPECT_EQ(ErrorOf("Z[i,j] < Z[j,i]"),
            "z.kd:3:24: '<' of complex numbers; compare their real(...), imag(...) or abs(...)");
  EXPECT_THAT(ErrorOf("select(Z[i,j] == 0, 1.0, 2.0)"), testing::HasSubstr("z.kd:3:31: '==' of"));
  EXPECT_THAT(ErrorOf("max(Z[i,j], Z[j,i])"), testing::HasSubstr("max of complex numbers"));
  EXPECT_EQ(ErrorOf("max[k](Z[i,k]) + X[i,j]"),
            "z.kd:3:17: max of complex numbers; only sum reduces them");
  EXPECT_THAT(ErrorOf("prod[k](Z[i,k]) + X[i,j]"), testing::HasSubstr("3:17: prod of complex"));
  EXPECT_THAT(ErrorOf("argmax[k](Z[i,k]) + j"), testing::HasSubstr("3:17: argmax of complex"));
  EXPECT_THAT(ErrorOf("exp(Z[i,j])"), testing::HasSubstr("3:17: exp takes floats, not c64; take"));
  EXPECT_THAT(ErrorOf("real(X[i,j])"), testing::HasSubstr("real takes complex numbers (c64), not"));
  EXPECT_THAT(ErrorOf("f32(Z[i,j])"), testing::HasSubstr("3:17"));
  EXPECT_THAT(ErrorOf("f32(Z[i,j])"), testing::HasSubstr("casts c64 to f32; take its real(...)"));
  EXPECT_THAT(ErrorOf("complex(f64(X[i,j]), 0)"), testing::HasSubstr("complex takes f32, not f64"));
  EXPECT_THAT(ErrorOf("Z[i,j] * i"), testing::HasSubstr("mixes c64 and i64"));
  EXPECT_THAT(ErrorOf("Z[i,j] % 2"), testing::HasSubstr("3:24"));
  EXPECT_EQ(ErrorOf("Z[i,j] * X[i,j] + 2 * conj(Z[j,i]) / c64(i+1)"), "");
}

TEST(Complex, TextJsonAndKeyAgree) {
  const char* const texts[] = {
      "input A: c64[3,4]\nweight B: c64[4,5]\noutput C[m,n] = sum[k](A[m,k] * B[k,n])\n",
      "input Z: c64[6]\noutput Y[i] = conj(Z[i]) * 0.5 + complex(1, -2) / Z[i]\n",
      "input X: f32[6]\noutput Y[i] = complex(cos(X[i]), sin(X[i])) - c64(X[i])\n",
      "input Z: c64[6]\noutput M[i] = abs(Z[i])\noutput P[i] = real(Z[i]) * imag(Z[i])\n",
      "input Z: c64[6]\noutput Y[i=8] = padded(Z[i-1], 0) + select(i < 3, 1, padded(Z[i], 2))\n",
      "input X: f16[6]\ninput Z: c64[6]\noutput Y[i] = X[i] * Z[i]\noutput O: c64[i=3] = 1\n",
  };
  for (const char* text : texts) {
    const auto w = ParseWorkload(text);
    ASSERT_TRUE(w) << text << w.error().message;
    ASSERT_TRUE(CheckWorkload(*w)) << CheckWorkload(*w).error().message;
    const std::string printed = PrintWorkload(*w);
    const auto again = ParseWorkload(printed);
    ASSERT_TRUE(again) << printed << again.error().message;
    EXPECT_EQ(PrintWorkload(*again), printed);
    EXPECT_EQ(Canonicalize(*again).key, Canonicalize(*w).key);
    nlohmann::json json = WorkloadToJson(*w);
    json.erase("text");
    const auto from_json = WorkloadFromJson(json);
    ASSERT_TRUE(from_json) << json.dump() << from_json.error().message;
    EXPECT_EQ(PrintWorkload(*from_json), printed);
    EXPECT_TRUE(CheckWorkload(Canonicalize(*w).workload));
  }
  const auto key = [](const std::string& body) {
    return Canonicalize(
               *ParseWorkload("input Z: c64[6]\ninput X: f32[6]\noutput Y[i] = " + body + "\n"))
        .key;
  };
  EXPECT_EQ(key("Z[i] * c64(X[i]) + 0"), key("X[i] * Z[i]"));
  EXPECT_EQ(key("complex(X[i], 0) + Z[i]"), key("Z[i] + X[i]"));
  EXPECT_EQ(key("real(complex(X[i], imag(Z[i])))"), key("X[i] * 1"));
  EXPECT_EQ(key("conj(conj(Z[i]))"), key("Z[i]"));
  EXPECT_NE(key("conj(Z[i])"), key("Z[i]"));
  EXPECT_NE(key("c64(real(Z[i]))"), key("c64(imag(Z[i]))"));
}

TEST(Complex, OperationsAreCountedAsReal) {
  const auto flop = [](const std::string& text) { return Flop(*ParseWorkload(text)); };
  EXPECT_EQ(flop("input A: c64[3,4]\ninput B: c64[4,5]\noutput C[m,n] = sum[k](A[m,k] * B[k,n])\n"),
            3 * 4 * 5 * 8);
  EXPECT_EQ(flop("input Z: c64[10]\noutput Y[i] = Z[i] + Z[9-i]\n"), 20);
  EXPECT_EQ(flop("input Z: c64[10]\noutput Y[i] = Z[i] * 0.5\n"), 20);
  EXPECT_EQ(flop("input Z: c64[10]\noutput Y[i] = abs(conj(Z[i]))\n"), 40);
  EXPECT_EQ(flop("input Z: c64[10]\noutput Y[i] = 1 / Z[i]\n"), 110);
}

std::vector<Workload> Workloads() {
  return {
      ParseCanonical(
          "gemm",
          "input A: c64[11,21]\nweight B: c64[21,35]\noutput C[m,n] = sum[k](A[m,k] * B[k,n])\n"),
      ParseCanonical("gemm_transposed",
                     "input A: c64[7,21]\ninput B: c64[19,21]\ninput d: c64[19]\n"
                     "output C[m,n] = sum[k](A[m,k] * B[n,k]) * 0.5 + d[n]\n"),
      ParseCanonical("gemm_conjugate",
                     "input A: c64[6,9]\ninput B: c64[6,17]\n"
                     "output C[m,n] = sum[k](conj(A[k,m]) * B[k,n])\n"),
      ParseCanonical("gemm_with_reals",
                     "input A: f32[6,9]\ninput B: c64[9,17]\n"
                     "output C[m,n] = sum[k](A[m,k] * B[k,n])\n"),
      ParseCanonical("batched",
                     "input A: c64[3,5,8]\ninput B: c64[3,8,18]\n"
                     "output C[b,m,n] = sum[k](A[b,m,k] * B[b,k,n])\n"),
      ParseCanonical("convolution",
                     "input X: c64[1,2,6,9]\nweight W: c64[3,2,3,3]\n"
                     "output Y[n,o,y=6,x=9] = "
                     "sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"),
      ParseCanonical(
          "pointwise",
          "input A: c64[5,37]\ninput B: c64[5,37]\ninput s: f32[37]\n"
          "output P[i,j] = A[i,j] * B[i,j] + A[i,j]\noutput Q[i,j] = A[i,j] / B[i,j] * s[j]\n"
          "output R[i,j] = conj(A[i,j]) - s[j] * B[i,j] * A[i,j]\n"
          "output S[i,j] = -A[i,j] / s[j] * complex(0.5, -2) + 3\n"),
      ParseCanonical("parts",
                     "input Z: c64[5,37]\noutput M[i,j] = abs(Z[i,j])\n"
                     "output T[i,j] = complex(imag(Z[i,j]) * 2, sqrt(real(Z[i,j])))\n"),
      ParseCanonical("butterfly",
                     "input X: c64[4,2,16]\ninput X2: c64[16]\n"
                     "output Y[b,h=2,i] = X[b,0,i] + select(h == 0, 1.0, -1.0) * X2[i] * "
                     "X[b,1,i]\n"),
      ParseCanonical(
          "dft",
          "input X: c64[3,12]\n"
          "output Y[b,f=12] = sum[t](X[b,t] * complex(cos(-0.5235988 * f32(f * t % 12)), "
          "sin(-0.5235988 * f32(f * t % 12))))\n"),
      ParseCanonical("sums",
                     "input X: c64[5,61]\noutput S[i] = sum[k](X[i,k])\n"
                     "output D[i] = sum[k](conj(X[i,k]) * X[i,k])\n"),
      ParseCanonical("sum_leading", "input X: c64[9,21]\noutput S[j] = sum[i](X[i,j])\n"),
      ParseCanonical("transpose", "input X: c64[17,21]\noutput Y[j,i] = conj(X[i,j])\n"),
      ParseCanonical("select",
                     "input M: bool[3,20]\ninput X: c64[3,20]\ninput Z: c64[20]\n"
                     "output Y[i,j] = select(M[i,j], X[i,j], Z[j] * 0.25)\n"
                     "output P[i,j=22] = padded(X[i,j-1], 1)\n"),
      ParseCanonical("gather",
                     "input J: i32[6]\nweight E: c64[9,20]\noutput Y[t,f] = E[J[t],f] * 2\n"),
      ParseCanonical("chain",
                     "input X: c64[4,18]\nT[i,j] = X[i,j] * X[i,j]\nA[i] = sum[j](T[i,j])\n"
                     "output Y[i,j] = T[i,j] / A[i]\n"),
  };
}

TEST(Complex, AllSketchesAgreeWithTheInterpreter) {
  EXPECT_THAT(test::DifferentialTest(Workloads(), test::TestTarget(64), {.paths_per_sketch = 3}),
              testing::IsEmpty());
  EXPECT_THAT(
      test::DifferentialTest(Workloads(), test::TestTarget(16), {.paths_per_sketch = 2, .seed = 7}),
      testing::IsEmpty());
}

TEST(Complex, AgreeAsTheyAreBuiltWhenTuned) {
  Target target = test::TestTarget();
  target.compilers = {"gcc", "clang"};
  EXPECT_THAT(test::DifferentialTest(Workloads(), target,
                                     {.paths_per_sketch = 2, .seed = 5, .options = ""}),
              testing::IsEmpty());
}

TEST(Complex, PlainNestsAgreeWithTheInterpreter) {
  test::KernelBatch batch(test::TestTarget(), "");
  const std::vector<Workload> workloads = Workloads();
  for (const Workload& w : workloads) ASSERT_TRUE(batch.Add(w, LowerNaive(w), w.name));
  const auto built = batch.Build();
  ASSERT_TRUE(built) << built.error().message;
  for (int k = 0; k < batch.size(); ++k)
    EXPECT_EQ(test::CompareWithInterpreter(batch, k, workloads[static_cast<std::size_t>(k)], 4), "")
        << batch.Label(k);
}

TEST(Complex, ProductsAreTwoMultiplyAdds) {
  const Workload w = ParseCanonical(
      "gemm",
      "input A: c64[64,64]\nweight B: c64[64,64]\noutput C[m,n] = sum[k](A[m,k] * B[k,n])\n");
  const auto space = MakeSpace(w, test::TestTarget());
  ASSERT_THAT(space->Next({})->labels, testing::Contains("contraction"));
  Path path = {{"sketch", 3, "contraction"}};
  while (const auto decision = space->Next(path))
    path.push_back({decision->name, decision->options[0],
                    decision->labels.empty() ? "" : decision->labels[0]});
  const auto candidate = space->Lower(path);
  ASSERT_TRUE(candidate) << candidate.error().message;
  EXPECT_THAT(EmitC(*candidate->program, w, test::TestTarget()).code,
              testing::HasSubstr("acc_0 = acc_0 + __real__ av * bv_0 + __imag__ av * "
                                 "kd_turn_c64x8(bv_0);"));
}

}  // namespace
}  // namespace kindred
