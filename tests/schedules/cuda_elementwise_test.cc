// The pointwise CUDA sketch against the interpreter, in the emulation: vectors and their tails,
// tiles of transposes, conditions, conversions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred::test {
namespace {

TEST(CudaElementwise, EqualsTheInterpreter) {
  const std::vector<Workload> workloads = {
      ParseCanonical(
          "outputs_of_outputs",
          "input X: f32[1027]\noutput Y[i] = relu(X[i])\noutput Z[i] = Y[i] * Y[i] + X[i]\n"),
      ParseCanonical("transpose_add",
                     "input X: f32[40,70]\ninput Z: f32[70,40]\noutput Y[i,j] = X[j,i] + Z[i,j]\n"),
      ParseCanonical("transpose_heads",
                     "input X: f16[2,9,3,17]\noutput Y: f16[b,h,d,t] = X[b,t,h,d]\n"),
      ParseCanonical(
          "concat",
          "input A: f32[2,3,16]\ninput B: f32[2,4,16]\ninput C: f32[2,1,16]\n"
          "output Y[n,c=8,x] = select(c < 3, A[n,c,x], select(c < 7, B[n,c-3,x], C[n,c-7,x]))\n"),
      ParseCanonical("concat_last",
                     "input A: f32[3,8]\ninput B: f32[3,12]\n"
                     "output Y[i,j=20] = select(j < 8, A[i,j], B[i,j-8])\n"),
      ParseCanonical("pad",
                     "input X: f32[2,5,7]\noutput Y[c,y=8,x=12] = padded(X[c, y-1, x-3], 0.5)\n"),
      ParseCanonical("gather",
                     "input J: i64[6]\nweight E: f32[9,36]\noutput Y[t,f] = E[J[t],f] * 3\n"),
      ParseCanonical("casts",
                     "input X: f32[39]\ninput H: f16[39]\ninput G: bf16[39]\ninput I: i32[39]\n"
                     "output A: i8[i] = i8(I[i])\noutput B: f16[i] = H[i] * X[i]\n"
                     "output C: bf16[i] = G[i] + X[i]\noutput E: i64[i] = i64(I[i]) * 3\n"
                     "output F: bool[i] = I[i] > 0\noutput G2[i] = f64(X[i]) + 1\n"),
      ParseCanonical("integers",
                     "input A: i32[35]\ninput B: i64[35]\ninput C: i32[35]\n"
                     "output Y[i] = A[i] / C[i] + A[i] % 7 - min(A[i], 3)\n"
                     "output Z[i] = abs(B[i]) * i + max(B[i], -4)\n"),
      ParseCanonical("causal",
                     "input X: f32[20,20]\noutput Y[i,j] = select(j <= i, X[i,j], -inf)\n"),
      ParseCanonical(
          "symbolic",
          "symbol n in 1..64, likely 13\ninput X: f32[n,6]\noutput Y[i,j] = exp(X[i,j])\n"),
      ParseCanonical("transpose_whole", "input X: f32[128,64]\noutput Y[i,j] = X[j,i]\n"),
      ParseCanonical("transpose_f16", "input X: f16[3,72,40]\noutput Y: f16[n,i,j] = X[n,j,i]\n"),
      ParseCanonical("transpose_i8", "input X: i8[96,80]\noutput Y: i8[i,j] = X[j,i]\n"),
      ParseCanonical("transpose_f64", "input X: f64[33,17]\noutput Y: f64[i,j] = X[j,i]\n"),
      ParseCanonical("channels_last", "input X: f32[2,3,1025]\noutput Y[n,x,c] = X[n,c,x] + 1\n"),
      ParseCanonical("channels_first",
                     "input X: bf16[2,1023,3]\noutput Y: bf16[n,c,x] = X[n,x,c]\n"),
      ParseCanonical("same_last", "input X: f16[5,7,24]\noutput Y: f16[j,i,k] = X[i,j,k]\n"),
      ParseCanonical("bias_odd",
                     "input X: f32[3,1023]\ninput b: f32[1023]\noutput Y[i,j] = X[i,j] + b[j]\n"),
      ParseCanonical(
          "mixed_odd",
          "input X: f16[7,33]\ninput Z: f32[7,33]\noutput Y: i8[i,j] = i8(X[i,j] + Z[i,j])\n"),
      ParseCanonical("gather_vectors",
                     "input J: i32[17]\nweight E: f16[9,1000]\noutput Y: f16[t,f] = E[J[t],f]\n"),
  };
  EXPECT_THAT(DifferentialTest(workloads, *NamedCudaTarget("h200"),
                               {.paths_per_sketch = 5, .sketch = "elementwise"}),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace kindred::test
