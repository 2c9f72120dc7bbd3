// The plain loop nest and the generic sketch against the interpreter, on everything the language
// says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/lower_naive.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/interpreter.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

Workload Parse(const std::string& name, const std::string& text) {
  auto workload = ParseWorkload(text, name);
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().message);
  if (!workload) return {};
  workload->name = name;
  return *workload;
}

std::vector<Workload> Samples(bool canonical) {
  std::vector<Workload> workloads;
  for (const SampleWorkload& s : SmallWorkloads()) {
    Workload w = Parse(s.name, s.text);
    if (canonical) w = Canonicalize(w).workload;
    w.name = s.name;
    workloads.push_back(std::move(w));
  }
  return workloads;
}

TEST(PlainLoopNest, AgreesWithTheInterpreter) {
  const Target target = test::TestTarget();
  test::KernelBatch batch(target, "-O2");
  const auto workloads = Samples(false);
  for (const Workload& w : workloads) {
    const auto added = batch.Add(w, LowerNaive(w), w.name);
    ASSERT_TRUE(added) << w.name << ": " << added.error().message;
  }
  const auto built = batch.Build();
  ASSERT_TRUE(built) << built.error().message;
  for (int k = 0; k < batch.size(); ++k) {
    const Workload& w = workloads[static_cast<std::size_t>(k)];
    const std::string bad = test::CompareWithInterpreter(batch, k, w, 11);
    EXPECT_EQ(bad, "") << w.name;
  }
}

TEST(GenericSketch, LowersEverySampleOnWideVectors) {
  EXPECT_THAT(test::DifferentialTest(Samples(true), test::TestTarget(64),
                                     {.paths_per_sketch = 4, .sketch = "generic", .seed = 3}),
              testing::IsEmpty());
}

TEST(GenericSketch, LowersEverySampleAsWrittenOnNarrowVectors) {
  EXPECT_THAT(test::DifferentialTest(Samples(false), test::TestTarget(16),
                                     {.paths_per_sketch = 3, .sketch = "generic", .seed = 5}),
              testing::IsEmpty());
}

// Extents around the vector and register tile sizes, in every dtype.
TEST(GenericSketch, TailsInEveryType) {
  std::vector<Workload> workloads;
  for (const char* type : {"f64", "f32", "f16", "bf16", "i64", "i32", "i8"}) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 17, 5}, {9, 37, 2}, {8, 130, 3}}) {
      const std::string t = type, shape = std::to_string(m) + "_" + std::to_string(n);
      const std::string size_m = std::to_string(m), size_n = std::to_string(n),
                        size_k = std::to_string(k);
      workloads.push_back(
          Parse("gemm_" + t + "_" + shape, "input A: " + t + "[" + size_m + "," + size_k +
                                               "]\ninput B: " + t + "[" + size_k + "," + size_n +
                                               "]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n"));
    }
    workloads.push_back(
        Parse(std::string("extremes_") + type,
              "input A: " + std::string(type) +
                  "[19,7]\noutput Y[j] = max[i](A[i,j])\noutput Z[i] = min[j](A[i,j])\n"));
  }
  EXPECT_THAT(test::DifferentialTest(workloads, test::TestTarget(64),
                                     {.paths_per_sketch = 4, .sketch = "generic", .seed = 7}),
              testing::IsEmpty());
}

TEST(GenericSketch, SymbolicExtents) {
  std::vector<Workload> workloads = {
      Parse("symbolic_gemm",
            "symbol n in 1..70, likely 37\ninput A: f32[5,n]\ninput B: f32[n,33]\n"
            "T[i,j] = sum[k](A[i,k] * B[k,j])\noutput Y[i,j] = T[i,j] * 2 + T[i,0]\n"),
      Parse("symbolic_rows",
            "symbol n in 1..70, likely 19\ninput A: f32[n,21]\noutput Y[i] = sum[j](A[i,j])\n"),
  };
  EXPECT_THAT(
      test::DifferentialTest(workloads, test::TestTarget(64), {.paths_per_sketch = 6, .seed = 9}),
      testing::IsEmpty());
}

TEST(GenericSketch, ThreadsShareNothing) {
  Target target = test::TestTarget(64);
  target.threads = 2;
  EXPECT_THAT(test::DifferentialTest(Samples(true), target,
                                     {.paths_per_sketch = 1, .sketch = "generic", .seed = 3}),
              testing::IsEmpty());
}

}  // namespace
}  // namespace kindred
