// The window CUDA sketch against the interpreter, in the emulation: both layouts, padding, strides,
// dilation, what comes before and after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred::test {
namespace {

TEST(CudaWindow, EqualsTheInterpreter) {
  const std::vector<Workload> workloads = {
      ParseCanonical(
          "depthwise",
          "input X: f32[2,3,9,12]\nweight W: f32[3,3,3]\n"
          "output Y[n,c,y=9,x=12] = sum[r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[c,r,s])\n"),
      ParseCanonical("depthwise_nhwc_relu",
                     "input X: f16[1,8,7,16]\nweight W: f16[3,3,16]\nweight b: f16[16]\n"
                     "A: f16[n,y=8,x=7,c] = sum[r,s](padded(X[n,y+r-1,x+s-1,c], 0) * W[r,s,c])\n"
                     "output Y: f16[n,y,x,c] = relu(A[n,y,x,c] + b[c])\n"),
      ParseCanonical(
          "max_pool",
          "input X: f32[2,3,17,17]\noutput Y[n,c,y=8,x=8] = max[r=3,s=3](X[n,c,2*y+r,2*x+s])\n"),
      ParseCanonical("average_pool_nhwc",
                     "input X: bf16[2,8,8,24]\nA[n,y=4,x=4,c] = sum[r=2,s=2](X[n,2*y+r,2*x+s,c])\n"
                     "output Y: bf16[n,y,x,c] = A[n,y,x,c] * 0.25\n"),
      ParseCanonical("dilated_f64",
                     "input X: f64[2,11,13]\nweight W: f64[2,3,3]\n"
                     "output Y: f64[c,y=7,x=9] = sum[r,s](X[c,y+2*r,x+2*s] * W[c,r,s])\n"),
      ParseCanonical("along_a_line", "input X: f32[3,33]\noutput Y[c,x=29] = min[s=5](X[c,x+s])\n"),
      ParseCanonical(
          "integers",
          "input X: i32[3,8,8]\noutput Y: i32[c,y=7,x=7] = max[r=2,s=2](X[c,y+r,x+s])\n"),
  };
  const Target target = *NamedCudaTarget("h200");
  for (const Workload& w : workloads)
    EXPECT_THAT(MakeSpace(w, target)->Next({})->labels, ::testing::Contains("window")) << w.name;
  EXPECT_THAT(DifferentialTest(workloads, target, {.paths_per_sketch = 6, .sketch = "window"}),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace kindred::test
