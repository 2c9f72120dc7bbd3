// The row sketch against the interpreter: reductions, softmax, normalisations, over awkward
// extents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/sketches/row_plan.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred {
namespace {

using test::ParseCanonical;

std::string Softmax(int rows, int columns, const std::string& type = "f32") {
  return "input X: " + type + "[" + std::to_string(rows) + "," + std::to_string(columns) +
         "]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum[j](E[i,j])\n"
         "output Y[i,j] = E[i,j] / S[i]\n";
}

std::string LayerNorm(int rows, int columns) {
  const std::string n = std::to_string(columns);
  return "input X: f32[" + std::to_string(rows) + "," + n + "]\nweight g: f32[" + n +
         "]\nweight b: f32[" + n + "]\nS[m] = sum[k](X[m,k])\nU[m] = S[m] / " + n +
         "\nQ[m] = sum[k]((X[m,k] - U[m]) * (X[m,k] - U[m]))\nV[m] = Q[m] / " + n +
         "\noutput Y[m,k] = (X[m,k] - U[m]) / sqrt(V[m] + 1e-5) * g[k] + b[k]\n";
}

const char kMaskedSoftmax[] =
    "input X: f32[2,3,37]\ninput A: f32[3,37]\nL[h,i,j] = X[h,i,j] * 0.125 + A[i,j]\nM[h,i] = "
    "max[j](L[h,i,j])\n"
    "E[h,i,j] = exp(L[h,i,j] - M[h,i])\nS[h,i] = sum[j](E[h,i,j])\noutput Y[h,i,j] = E[h,i,j] / "
    "S[h,i]\n";
const char kMiddleSoftmax[] =
    "input X: f32[2,5,35]\nM[n,x] = max[c](X[n,c,x])\nE[n,c,x] = exp(X[n,c,x] - M[n,x])\n"
    "S[n,x] = sum[c](E[n,c,x])\noutput Y[n,c,x] = E[n,c,x] / S[n,x]\n";

TEST(RowSketch, AgreesWithTheInterpreter) {
  std::vector<Workload> workloads = {
      ParseCanonical("softmax_1x2", Softmax(1, 2)),
      ParseCanonical("softmax_3x7", Softmax(3, 7)),
      ParseCanonical("softmax_5x67", Softmax(5, 67)),
      ParseCanonical("softmax_2x257", Softmax(2, 257)),
      ParseCanonical("softmax_f64", Softmax(3, 37, "f64")),
      ParseCanonical("softmax_f16", Softmax(3, 37, "f16")),
      ParseCanonical("softmax_masked", kMaskedSoftmax),
      ParseCanonical("softmax_middle", kMiddleSoftmax),
      ParseCanonical(
          "log_softmax",
          "input X: f32[3,21]\nM[i] = max[j](X[i,j])\nS[i] = sum[j](exp(X[i,j] - M[i]))\n"
          "output Y[i,j] = X[i,j] - M[i] - log(S[i])\n"),
      ParseCanonical("layer_norm_5x12", LayerNorm(5, 12)),
      ParseCanonical("layer_norm_3x131", LayerNorm(3, 131)),
      ParseCanonical("layer_norm_1x768", LayerNorm(1, 768)),
      ParseCanonical(
          "residual_norm",
          "input X: f32[3,45]\ninput R: f32[3,45]\nweight g: f32[45]\nT[i,j] = X[i,j] + R[i,j]\n"
          "output H[i,j] = T[i,j] * 1\nQ[i] = sum[j](T[i,j] * T[i,j])\n"
          "output Y[i,j] = T[i,j] * rsqrt(Q[i] / 45 + 1e-6) * g[j]\n"),
      ParseCanonical(
          "group_norm",
          "input X: f32[2,3,4,19]\nS[n,g] = sum[c,x](X[n,g,c,x])\nU[n,g] = S[n,g] / 76\n"
          "Q[n,g] = sum[c,x]((X[n,g,c,x] - U[n,g]) * (X[n,g,c,x] - U[n,g]))\n"
          "weight w: f32[3,4]\n"
          "output Y[n,g,c,x] = (X[n,g,c,x] - U[n,g]) / sqrt(Q[n,g] / 76 + 1e-5) * w[g,c]\n"),
      ParseCanonical("global_pool",
                     "input X: f32[2,5,7,7]\noutput Y[n,c] = sum[y,x](X[n,c,y,x]) / 49\n"),
      ParseCanonical("sum_all", "input X: f32[13,11]\noutput Y[] = sum[i,j](X[i,j])\n"),
      ParseCanonical("sum_leading", "input X: f32[13,43]\noutput Y[j] = sum[i](X[i,j])\n"),
      ParseCanonical("sum_middle", "input X: f32[3,13,43]\noutput Y[i,j] = sum[k](X[i,k,j]) * 2\n"),
      ParseCanonical("sum_outer_inner", "input X: f32[5,7,21]\noutput Y[j] = sum[i,k](X[i,j,k])\n"),
      ParseCanonical("sum_strided", "input X: f32[5,42]\noutput Y[i] = sum[k=21](X[i,2*k])\n"),
      ParseCanonical(
          "several",
          "input X: f32[5,61]\noutput A[i] = sum[k](X[i,k])\noutput B[i] = max[k](X[i,k])\n"
          "output C[i] = min[k](X[i,k])\noutput D[i] = sum[k](X[i,k] * X[i,k])\n"),
      ParseCanonical("product", "input X: f32[5,33]\noutput P[i] = prod[k](X[i,k] * 0.5 + 1)\n"),
      ParseCanonical("argmax",
                     "input X: f32[4,39]\noutput I[i] = argmax[k](X[i,k])\noutput J: i32[i] = "
                     "argmin[k](X[i,k])\n"),
      ParseCanonical("argmax_leading", "input X: f32[9,21]\noutput I[j] = argmax[k](X[k,j])\n"),
      ParseCanonical(
          "sum_i32",
          "input X: i32[3,67]\noutput Y[i] = sum[k](X[i,k])\noutput Z[i] = max[k](X[i,k])\n"),
      ParseCanonical("sum_i8", "input X: i8[3,67]\noutput Y[i] = sum[k](X[i,k])\n"),
      ParseCanonical(
          "sum_i64",
          "input X: i64[3,67]\noutput Y[i] = sum[k](X[i,k])\noutput Z[i] = min[k](X[i,k])\n"),
      ParseCanonical("sum_bool", "input X: bool[3,67]\noutput Y[i] = sum[k](i32(X[i,k]))\n"),
      ParseCanonical("sum_bf16", "input X: bf16[3,67]\noutput Y[i] = sum[k](X[i,k])\n"),
      ParseCanonical("sum_f16", "input X: f16[3,67]\noutput Y: f16[i] = sum[k](X[i,k] * X[i,k])\n"),
      ParseCanonical("padded_columns",
                     "input X: f32[3,30]\noutput Y[i] = sum[k=35](padded(X[i,k-2], 0.5))\n"),
      ParseCanonical("wide_keep", Softmax(2, 9000)),
  };
  for (const int bytes : {64, 16}) {
    EXPECT_THAT(
        test::DifferentialTest(
            workloads, test::TestTarget(bytes),
            {.paths_per_sketch = 5, .sketch = "rows", .seed = static_cast<std::uint64_t>(bytes)}),
        testing::IsEmpty());
  }
}

TEST(RowSketch, SymbolicRowsAndColumns) {
  std::vector<Workload> workloads = {ParseCanonical(
      "softmax_symbolic",
      "symbol n in 1..80, likely 37\ninput X: f32[n,n]\nM[i] = max[j](X[i,j])\nE[i,j] = "
      "exp(X[i,j] - M[i])\n"
      "S[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n")};
  EXPECT_THAT(test::DifferentialTest(workloads, test::TestTarget(64),
                                     {.paths_per_sketch = 6, .sketch = "rows", .seed = 2}),
              testing::IsEmpty());
}

TEST(RowSketch, RunsInThreads) {
  Target target = test::TestTarget(64);
  target.threads = 2;
  EXPECT_THAT(test::DifferentialTest({ParseCanonical("softmax", Softmax(7, 35)),
                                      ParseCanonical("norm", LayerNorm(5, 40))},
                                     target, {.paths_per_sketch = 4, .sketch = "rows", .seed = 4}),
              testing::IsEmpty());
}

TEST(RowPlan, SoftmaxTakesThreePassesWithTheSumInThePassOfTheExponentials) {
  const Workload w = ParseCanonical("softmax", Softmax(5, 67));
  const auto plan = internal::PlanRows(w);
  EXPECT_EQ(plan.row_axes, 1);
  EXPECT_EQ(plan.passes.size(), 3u);
}

TEST(RowPlan, ColumnsThatAreContiguousAcrossRowsAreNotRows) {
  EXPECT_EQ(internal::PlanRows(
                ParseCanonical("leading", "input X: f32[13,43]\noutput Y[j] = sum[i](X[i,j])\n"))
                .row_axes,
            0);
  EXPECT_EQ(internal::PlanRows(ParseCanonical("middle", kMiddleSoftmax)).row_axes, 1);
}

TEST(RowSketch, LeavesContractionsToOthers) {
  const Workload w = ParseCanonical(
      "gemm",
      "input A: f32[64,64]\ninput B: f32[64,64]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n");
  EXPECT_THAT(MakeSpace(w, test::TestTarget())->Next({})->labels,
              testing::Not(testing::Contains("rows")));
}

}  // namespace
}  // namespace kindred
