// The row CUDA sketch against the interpreter, in the emulation: every owner of a row, every kind
// of reduction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"

namespace kindred::test {
namespace {

Workload Parse(const std::string& name, const std::string& text) {
  auto workload = ParseWorkload(text, name);
  EXPECT_TRUE(workload) << name << (workload ? "" : workload.error().message);
  Workload canonical = workload ? Canonicalize(*workload).workload : Workload{};
  canonical.name = name;
  return canonical;
}

TEST(CudaRows, EqualTheInterpreter) {
  const std::vector<Workload> workloads = {
      Parse("softmax",
            "input X: f32[5,77]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\n"
            "S[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n"),
      Parse("layer_norm",
            "input X: f32[3,131]\nweight g: f32[131]\nA[i] = sum[j](X[i,j]) / 131\n"
            "V[i] = sum[j]((X[i,j] - A[i]) * (X[i,j] - A[i]))\n"
            "output Y[i,j] = (X[i,j] - A[i]) * rsqrt(V[i] / 131 + 0.00001) * g[j]\n"),
      Parse("all", "input X: f32[7,41]\noutput Y[] = sum[i,j](X[i,j])\n"),
      Parse("two_axes", "input X: f16[4,9,5]\noutput Y: f16[i] = max[j,k](X[i,j,k])\n"),
      Parse("product", "input X: f64[9,35]\noutput Y[i] = prod[j](X[i,j])\n"),
      Parse("integers", "input X: i32[9,300]\noutput Y[i] = sum[j](X[i,j])\n"),
      Parse("argmax", "input X: f32[6,99]\noutput Y: i64[i] = argmax[j](X[i,j])\n"),
      Parse("complex",
            "input X: c64[4,70]\ninput s: f32[4]\n"
            "output Y: c64[i] = sum[j](X[i,j] * 2 + conj(X[i,j]) * c64(s[i]) / 3)\n"),
      Parse("short_rows", "input X: f32[300,2]\noutput Y[i] = sum[j](X[i,j] * 2)\n"),
  };
  const Target target = *NamedCudaTarget("h200");
  for (const Workload& w : workloads)
    EXPECT_THAT(MakeSpace(w, target)->Next({})->labels, ::testing::Contains("rows")) << w.name;
  EXPECT_THAT(DifferentialTest(workloads, target, {.paths_per_sketch = 6, .sketch = "rows"}),
              ::testing::IsEmpty());
}

TEST(CudaRows, ValuesOfOtherRowsAreNotRows) {
  const Workload w =
      Parse("read_by_others", "input X: f32[9,9]\nS[i] = sum[j](X[i,j])\noutput Y[i=9] = S[8-i]\n");
  EXPECT_THAT(MakeSpace(w, *NamedCudaTarget("h200"))->Next({})->labels,
              ::testing::Not(::testing::Contains("rows")));
}

}  // namespace
}  // namespace kindred::test
