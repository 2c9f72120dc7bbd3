// The elementwise sketch against the interpreter: chains, transposes, concatenation, padding,
// gathers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/internal/segments.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred {
namespace {

using test::ParseCanonical;

TEST(ElementwiseSketch, AgreesWithTheInterpreter) {
  std::vector<Workload> workloads = {
      ParseCanonical("one", "input X: f32[1]\noutput Y[i] = exp(X[i])\n"),
      ParseCanonical("scalar", "input X: f32[]\noutput Y[] = tanh(X[])\n"),
      ParseCanonical(
          "gelu_chain",
          "input X: f32[3,67]\ninput b: f32[67]\nA[i,j] = X[i,j] + b[j]\nB[i,j] = gelu(A[i,j])\n"
          "output Y[i,j] = B[i,j] * A[i,j]\noutput Z[i,j] = silu(B[i,j])\n"),
      ParseCanonical(
          "outputs_of_outputs",
          "input X: f32[131]\noutput Y[i] = relu(X[i])\noutput Z[i] = Y[i] * Y[i] + X[i]\n"),
      ParseCanonical("prelu",
                     "input X: f32[2,5,33]\nweight a: f32[5]\n"
                     "output Y[n,c,x] = select(X[n,c,x] > 0, X[n,c,x], a[c] * X[n,c,x])\n"),
      ParseCanonical("transpose", "input X: f32[19,37]\noutput Y[i,j] = X[j,i] * 2\n"),
      ParseCanonical("transpose_heads", "input X: f32[2,9,3,17]\noutput Y[b,h,d,t] = X[b,t,h,d]\n"),
      ParseCanonical("transpose_add",
                     "input X: f32[40,70]\ninput Z: f32[70,40]\noutput Y[i,j] = X[j,i] + Z[i,j]\n"),
      ParseCanonical(
          "concat",
          "input A: f32[2,3,17]\ninput B: f32[2,4,17]\ninput C: f32[2,1,17]\n"
          "output Y[n,c=8,x] = select(c < 3, A[n,c,x], select(c < 7, B[n,c-3,x], C[n,c-7,x]))\n"),
      ParseCanonical("concat_last",
                     "input A: f32[3,5]\ninput B: f32[3,6]\n"
                     "output Y[i,j=11] = select(j < 5, A[i,j], B[i,j-5])\n"),
      ParseCanonical("pad",
                     "input X: f32[2,5,7]\noutput Y[c,y=8,x=12] = padded(X[c, y-1, x-3], 0.5)\n"),
      ParseCanonical("pad_falling", "input X: f32[9]\noutput Y[i=13] = padded(X[10-i], -1)\n"),
      ParseCanonical("pad_strided",
                     "input X: f32[9,9]\noutput Y[i=7,j=7] = padded(X[2*i-2, 2*j-3], -1)\n"),
      ParseCanonical("slice", "input X: f32[11,13]\noutput Y[i=4,j=5] = X[2*i+1, 2*j+3]\n"),
      ParseCanonical("reverse", "input X: f32[77]\noutput Y[i=77] = X[76-i]\n"),
      ParseCanonical("gather",
                     "input J: i64[6]\nweight E: f32[9,35]\noutput Y[t,f] = E[J[t],f] * 3\n"),
      ParseCanonical("gather_columns",
                     "input J: i32[21]\ninput X: f32[4,9]\noutput Y[i,t] = X[i,J[t]]\n"),
      ParseCanonical(
          "where",
          "input M: bool[5,33]\ninput A: f32[5,33]\ninput B: f32[33]\n"
          "output Y[i,j] = select(M[i,j], A[i,j], B[j])\noutput N: bool[i,j] = not M[i,j] or "
          "A[i,j] < B[j]\n"),
      ParseCanonical("causal",
                     "input X: f32[20,20]\noutput Y[i,j] = select(j <= i, X[i,j], -inf)\n"),
      ParseCanonical("one_hot",
                     "input X: f32[3,9]\noutput Y[i,j] = select(j == 4, X[i,j] * 2, X[i,j])\n"),
      ParseCanonical(
          "rotary",
          "input X: f32[5,8]\ninput C: f32[5,8]\ninput S: f32[5,8]\n"
          "output Y[t,d] = X[t,d] * C[t,d] + select(d < 4, -X[t,d+4], X[t,d-4]) * S[t,d]\n"),
      ParseCanonical(
          "mathematics",
          "input X: f32[53]\ninput P: f32[53]\n"
          "output A[i] = log(P[i]) + sqrt(P[i]) * rsqrt(P[i]) - erf(X[i])\n"
          "output B[i] = floor(X[i] * 9) + ceil(X[i] * 9) + round(X[i] * 9) + abs(X[i])\n"
          "output C[i] = sin(X[i] * 20) + cos(X[i] * 20) + tan(X[i]) + pow(P[i], X[i]) + "
          "pow(X[i], 2)\n"),
      ParseCanonical(
          "mathematics_f64",
          "input X: f64[21]\ninput P: f64[21]\n"
          "output A[i] = log(P[i]) + sqrt(P[i]) * rsqrt(P[i]) - erf(X[i]) + tanh(X[i]) * "
          "exp(X[i])\n"
          "output B[i] = floor(X[i] * 9) + ceil(X[i] * 9) + round(X[i] * 9) + abs(X[i])\n"),
      ParseCanonical(
          "casts",
          "input X: f32[39]\ninput H: f16[39]\ninput G: bf16[39]\ninput I: i32[39]\n"
          "output A: i8[i] = i8(I[i])\noutput B: f16[i] = H[i] * X[i]\noutput C: bf16[i] = G[i] "
          "+ X[i]\n"
          "output D[i] = f32(I[i]) * 0.5\noutput E: i64[i] = i64(I[i]) * 3\n"
          "output F: bool[i] = I[i] > 0\noutput G2[i] = f64(X[i]) + 1\n"),
      ParseCanonical(
          "integers",
          "input A: i32[35]\ninput B: i64[35]\ninput C: i32[35]\n"
          "output Y[i] = A[i] / C[i] + A[i] % 7 - min(A[i], 3)\n"
          "output Z[i] = abs(B[i]) * i + max(B[i], -4)\noutput W: u8[i] = u8(A[i]) + u8(1)\n"),
      ParseCanonical("reshape",
                     "input X: f32[6,4]\noutput Y[i=8,j=3] = X[(i*3+j)/4, (i*3+j)%4] * 2\n"),
      ParseCanonical("broadcast",
                     "input a: f32[5]\ninput b: f32[37]\noutput Y[i,j] = a[i] * b[j]\n"),
      ParseCanonical("computed_axis", "output Y[i=5,j=40] = f32(i * 3 - j)\n"),
  };
  for (const int bytes : {64, 32}) {
    EXPECT_THAT(test::DifferentialTest(workloads, test::TestTarget(bytes),
                                       {.paths_per_sketch = 5,
                                        .sketch = "elementwise",
                                        .seed = static_cast<std::uint64_t>(bytes)}),
                testing::IsEmpty());
  }
}

TEST(ElementwiseSketch, CastsToNarrowFloats) {
  EXPECT_THAT(test::DifferentialTest(
                  {ParseCanonical(
                      "narrow",
                      "input X: f32[39]\noutput D[i] = f32(bf16(X[i])) + f32(f16(X[i])) * X[i]\n")},
                  test::TestTarget(), {.paths_per_sketch = 4, .sketch = "elementwise"}),
              testing::IsEmpty());
}

TEST(ElementwiseSketch, DoesNotTakeReductions) {
  const Workload w = ParseCanonical("sum", "input X: f32[3,9]\noutput Y[i] = sum[j](X[i,j])\n");
  const auto space = MakeSpace(w, test::TestTarget());
  EXPECT_THAT(space->Next({})->labels, testing::Not(testing::Contains("elementwise")));
}

// A concatenation of three and a padding on both sides: the parts have no conditions left.
TEST(Segments, ConditionsDisappear) {
  for (const char* text :
       {"input A: f32[2,3]\ninput B: f32[2,4]\ninput C: f32[2,1]\n"
        "output Y[n,c=8] = select(c < 3, A[n,c], select(c < 7, B[n,c-3], C[n,c-7]))\n",
        "input X: f32[2,5]\noutput Y[n,c=9] = padded(X[n,c-2], 0)\n"}) {
    const Workload w = ParseCanonical("parts", text);
    const auto segments = internal::CutStage(w, w.stages[0], 32);
    EXPECT_EQ(segments.size(), 3u);
    for (const auto& s : segments)
      Visit(*s.stage.body, [&](const Expr& e) { EXPECT_NE(e.op, Op::kSelect) << text; });
  }
}

}  // namespace
}  // namespace kindred
