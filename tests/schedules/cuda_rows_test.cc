// The row CUDA sketch against the interpreter, in the emulation: every owner of a row, every kind
// of reduction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred::test {
namespace {

TEST(CudaRows, EqualTheInterpreter) {
  const std::vector<Workload> workloads = {
      ParseCanonical("softmax",
                     "input X: f32[5,77]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\n"
                     "S[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n"),
      ParseCanonical("layer_norm",
                     "input X: f32[3,131]\nweight g: f32[131]\nA[i] = sum[j](X[i,j]) / 131\n"
                     "V[i] = sum[j]((X[i,j] - A[i]) * (X[i,j] - A[i]))\n"
                     "output Y[i,j] = (X[i,j] - A[i]) * rsqrt(V[i] / 131 + 0.00001) * g[j]\n"),
      ParseCanonical("all", "input X: f32[7,41]\noutput Y[] = sum[i,j](X[i,j])\n"),
      ParseCanonical("two_axes", "input X: f16[4,9,5]\noutput Y: f16[i] = max[j,k](X[i,j,k])\n"),
      ParseCanonical("product", "input X: f64[9,35]\noutput Y[i] = prod[j](X[i,j])\n"),
      ParseCanonical("integers", "input X: i32[9,300]\noutput Y[i] = sum[j](X[i,j])\n"),
      ParseCanonical("argmax", "input X: f32[6,99]\noutput Y: i64[i] = argmax[j](X[i,j])\n"),
      ParseCanonical("complex",
                     "input X: c64[4,70]\ninput s: f32[4]\n"
                     "output Y: c64[i] = sum[j](X[i,j] * 2 + conj(X[i,j]) * c64(s[i]) / 3)\n"),
      ParseCanonical("short_rows", "input X: f32[300,2]\noutput Y[i] = sum[j](X[i,j] * 2)\n"),
      ParseCanonical("vectors", "input X: f32[5,1000]\noutput Y[i] = sum[j](X[i,j] * X[i,j])\n"),
      ParseCanonical("vectors_f16",
                     "input X: f16[3,1024]\nweight g: f16[1024]\nS[i] = sum[j](X[i,j] * X[i,j])\n"
                     "output Y: f16[i,j] = X[i,j] * rsqrt(S[i] / 1024 + 0.001) * g[j]\n"),
      ParseCanonical("arg_vectors", "input X: f32[6,100]\noutput Y: i64[i] = argmax[j](X[i,j])\n"),
      ParseCanonical("two_columns",
                     "input X: f32[2,3,5,8]\nA[n,g] = sum[c,x](X[n,g,c,x]) / 40\n"
                     "output Y[n,g,c,x] = X[n,g,c,x] - A[n,g]\n"),
  };
  const Target target = *NamedCudaTarget("h200");
  for (const Workload& w : workloads)
    EXPECT_THAT(MakeSpace(w, target)->Next({})->labels, ::testing::Contains("rows")) << w.name;
  EXPECT_THAT(DifferentialTest(workloads, target, {.paths_per_sketch = 6, .sketch = "rows"}),
              ::testing::IsEmpty());
}

TEST(CudaRows, NeighboursInOtherRows) {
  const std::vector<Workload> workloads = {
      ParseCanonical("columns", "input X: f32[50,36]\noutput Y[j] = sum[i](X[i,j])\n"),
      ParseCanonical("odd_columns", "input X: f16[33,17]\noutput Y: f16[j] = max[i](X[i,j])\n"),
      ParseCanonical("arg", "input X: f32[20,36]\noutput Y: i64[j] = argmin[i](X[i,j])\n"),
      ParseCanonical("softmax_of_channels",
                     "input X: f32[2,7,12]\nM[n,x] = max[c](X[n,c,x])\n"
                     "E[n,c,x] = exp(X[n,c,x] - M[n,x])\nS[n,x] = sum[c](E[n,c,x])\n"
                     "output Y[n,c,x] = E[n,c,x] / S[n,x]\n"),
      ParseCanonical("channels_i8", "input X: i8[40,48]\noutput Y: i32[j] = sum[i](i32(X[i,j]))\n"),
  };
  const Target target = *NamedCudaTarget("h200");
  for (const Workload& w : workloads)
    EXPECT_THAT(MakeSpace(w, target)->Next({})->labels, ::testing::Contains("rows")) << w.name;
  EXPECT_THAT(DifferentialTest(workloads, target, {.paths_per_sketch = 8, .sketch = "rows"}),
              ::testing::IsEmpty());
}

TEST(CudaRows, BlocksShareLongRows) {
  const std::vector<Workload> workloads = {
      ParseCanonical("long", "input X: f32[3,4100]\noutput Y[i] = sum[j](X[i,j])\n"),
      ParseCanonical("long_odd", "input X: f16[2,4099]\noutput Y: f32[i] = max[j](f32(X[i,j]))\n"),
      ParseCanonical("softmax",
                     "input X: f32[2,2500]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\n"
                     "S[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n"),
      ParseCanonical("columns", "input X: f32[2000,20]\noutput Y[j] = sum[i](X[i,j])\n"),
      ParseCanonical(
          "masked",
          "input X: f32[3,2048]\nC[i,j] = select(j <= i, X[i,j], -inf)\nM[i] = max[j](C[i,j])\n"
          "E[i,j] = exp(C[i,j] - M[i])\nS[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n"),
  };
  EXPECT_THAT(DifferentialTest(workloads, *NamedCudaTarget("h200"),
                               {.paths_per_sketch = 8, .sketch = "rows"}),
              ::testing::IsEmpty());
}

TEST(CudaRows, ValuesOfOtherRowsAreNotRows) {
  const Workload w = ParseCanonical(
      "read_by_others", "input X: f32[9,9]\nS[i] = sum[j](X[i,j])\noutput Y[i=9] = S[8-i]\n");
  EXPECT_THAT(MakeSpace(w, *NamedCudaTarget("h200"))->Next({})->labels,
              ::testing::Not(::testing::Contains("rows")));
}

}  // namespace
}  // namespace kindred::test
