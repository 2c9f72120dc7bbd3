// The CUDA contraction sketch against the interpreter, in the emulation: products, einsums and
// convolutions on awkward shapes; and a missing barrier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_cuda.h"
#include "schedules/text_form.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"

namespace kindred::test {
namespace {

TEST(CudaContraction, EqualsTheInterpreter) {
  const std::vector<Workload> workloads = {
      ParseCanonical("product",
                     "input A: f32[67,45]\ninput B: f32[45,71]\n"
                     "output C[i,j] = sum[k](A[i,k] * B[k,j])\n"),
      ParseCanonical("transposed",
                     "input A: f32[33,70]\ninput B: f32[19,33]\ninput c: f32[19]\n"
                     "P[i,j] = sum[k](A[k,i] * B[j,k])\noutput C[i,j] = max(P[i,j] + c[j], 0)\n"),
      ParseCanonical("batched",
                     "input A: f16[3,17,40]\ninput B: f16[3,40,21]\n"
                     "output C[b,i,j] = sum[k](f32(A[b,i,k]) * f32(B[b,k,j]))\n"),
      ParseCanonical(
          "convolution",
          "input X: f32[2,5,9,11]\nweight W: f32[7,5,3,3]\n"
          "output Y[n,o,y=9,x=11] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"),
      ParseCanonical("aligned_with_prologue",
                     "input A: f32[64,72]\ninput B: f32[72,64]\nR[i,k] = max(A[i,k], 0) + 0.5\n"
                     "P[i,j] = sum[k](R[i,k] * B[k,j])\noutput C[i,j] = P[i,j] * 2\n"),
      ParseCanonical("long_reduction",
                     "input A: f32[9,400]\ninput B: f32[400,12]\ninput c: f32[12]\n"
                     "P[i,j] = sum[k](A[i,k] * B[k,j])\noutput C[i,j] = P[i,j] + c[j]\n"),
      ParseCanonical(
          "convolution_nhwc",
          "input X: f32[1,7,9,8]\nweight W: f32[3,3,8,12]\n"
          "output Y[n,y=7,x=9,o] = sum[r,s,c](padded(X[n,y+r-1,x+s-1,c], 0) * W[r,s,c,o])\n"),
      ParseCanonical("double",
                     "input A: f64[20,33]\ninput B: f64[33,18]\n"
                     "output C[i,j] = sum[k](A[i,k] * B[k,j])\n"),
  };
  const Target target = *NamedCudaTarget("h200");
  for (const Workload& w : workloads)
    EXPECT_THAT(MakeSpace(w, target)->Next({})->labels, ::testing::Contains("contraction"))
        << w.name;
  EXPECT_THAT(DifferentialTest(workloads, target, {.paths_per_sketch = 6, .sketch = "contraction"}),
              ::testing::IsEmpty());
}

// Whether a random schedule's text has `needed`.
bool SomeHas(const Workload& w, const std::string& needed) {
  const auto space = MakeSpace(w, *NamedCudaTarget("h200"));
  for (const Path& path : RandomPaths(*space, 200, 3))
    if (path[0].label == "contraction" &&
        EmitCuda(*space->Lower(path)->program, w).code.find(needed) != std::string::npos)
      return true;
  return false;
}

TEST(CudaContraction, MovesWhatIsAlignedInVectors) {
  const char* product =
      "input A: f32[4096,4096]\ninput B: f32[4096,4096]\n"
      "output C[i,j] = sum[k](A[i,k] * B[k,j])\n";
  const Workload aligned = ParseCanonical("aligned", product);
  for (const char* needed : {"kd_load<4>(tensor0", "kd_load<4>(tensor1", "kd_load<4>(a_tile",
                             "kd_load<4>(b_tile", "kd_store(b_tile", "kd_store(tensor2",
                             "kd_cp_async<4>(a_tile", "kd_cp_async<16>(b_tile", "const int band"})
    EXPECT_TRUE(SomeHas(aligned, needed)) << needed;
  const Workload odd = ParseCanonical("odd",
                                      "input A: f32[68,45]\ninput B: f32[45,71]\n"
                                      "output C[i,j] = sum[k](A[i,k] * B[k,j])\n");
  for (const char* wrong : {"kd_load<4>(tensor0", "kd_load<2>(tensor0", "kd_store(tensor2",
                            "kd_cp_async<16>", "kd_cp_async<8>"})
    EXPECT_FALSE(SomeHas(odd, wrong)) << wrong;
}

TEST(CudaContraction, SplitsLongReductionsOfFewBlocks) {
  EXPECT_TRUE(SomeHas(ParseCanonical("few",
                                     "input A: f32[64,4096]\ninput B: f32[4096,64]\n"
                                     "output C[i,j] = sum[k](A[i,k] * B[k,j])\n"),
                      "partial"));
  EXPECT_FALSE(SomeHas(ParseCanonical("many",
                                      "input A: f32[8192,256]\ninput B: f32[256,8192]\n"
                                      "output C[i,j] = sum[k](A[i,k] * B[k,j])\n"),
                       "partial"));
}

TEST(CudaContraction, StagesBeforeTheProductCanBeFused) {
  const Workload w =
      ParseCanonical("fused",
                     "input A: f32[64,64]\ninput B: f32[64,64]\nR[i,k] = max(A[i,k], 0)\n"
                     "output C[i,j] = sum[k](R[i,k] * B[k,j])\n");
  const auto space = MakeSpace(w, *NamedCudaTarget("h200"));
  for (const auto& [prologue, launches] : {std::pair{"fused", 1u}, std::pair{"apart", 2u}}) {
    const auto path =
        PathFromJson(*space, std::string(R"({"sketch":"contraction","prologue":")") + prologue +
                                 R"(","block_rows":32,"block_columns":32,"register_rows":4,)"
                                 R"("register_columns":4,"k_step":16,"stages":2})");
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(EmitCuda(*space->Lower(*path)->program, w).steps.size(), launches);
  }
}

// Replaces the barriers of a product's first schedule.
std::optional<cuda_emulation::Mistake> Found(const std::string& barrier) {
  const Workload w = ParseCanonical("product",
                                    "input A: f32[40,45]\ninput B: f32[45,40]\n"
                                    "output C[i,j] = sum[k](A[i,k] * B[k,j])\n");
  const auto space = MakeSpace(w, *NamedCudaTarget("h200"));
  for (const Path& path : RandomPaths(*space, 100, 3)) {
    if (path[0].label != "contraction") continue;
    KernelSource source = EmitCuda(*space->Lower(path)->program, w);
    const std::string what = "kd_syncthreads();";
    for (std::size_t at = source.code.find("extern \"C\"");
         (at = source.code.find(what, at)) != std::string::npos; at += barrier.size())
      source.code.replace(at, what.size(), barrier);
    std::vector<Bytes> buffers = InputBytes(w, 1);
    buffers.emplace_back(40 * 40 * 4);
    const std::vector<std::span<std::byte>> spans(buffers.begin(), buffers.end());
    const auto report = cuda_emulation::RunSource(source, {}, spans);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    if (!report || !report->finding) return std::nullopt;
    return report->finding->mistake;
  }
  ADD_FAILURE() << "no schedule of the sketch";
  return std::nullopt;
}

// 512 threads have 128 registers each: 64 sums leave too few for 16 columns with two indices each.
TEST(CudaContraction, ColumnsOfSeveralAxesCountTheirIndices) {
  const auto register_rows = [](const std::string& text) {
    const Workload workload = ParseCanonical("columns", text);
    const auto space = MakeSpace(workload, *NamedCudaTarget("rtx4090"));
    const Decision sketch = *space->Next({});
    const auto found = std::find(sketch.labels.begin(), sketch.labels.end(), "contraction");
    EXPECT_NE(found, sketch.labels.end());
    const std::int64_t option =
        sketch.options[static_cast<std::size_t>(found - sketch.labels.begin())];
    const Path path = {
        {sketch.name, option, "contraction"}, {"block_rows", 256, ""}, {"block_columns", 128, ""}};
    return space->Next(path)->options;
  };
  EXPECT_THAT(register_rows("input A: bf16[448,8]\ninput B: bf16[96,8,6]\n"
                            "output Y[i,j,l] = sum[k](A[i,k] * B[j,k,l])\n"),
              testing::AllOf(testing::Contains(8), testing::Not(testing::Contains(4))));
  EXPECT_THAT(register_rows("input A: bf16[448,8]\ninput B: bf16[8,576]\n"
                            "output Y[i,j] = sum[k](A[i,k] * B[k,j])\n"),
              testing::Contains(4));
}

TEST(CudaContraction, AMissingBarrierIsFound) {
  EXPECT_EQ(Found("kd_syncthreads();"), std::nullopt);
  EXPECT_NE(Found(""), std::nullopt);
}

}  // namespace
}  // namespace kindred::test
