// Random schedules of every CUDA sketch against the interpreter, in the emulation; and mistakes
// planted into sources that sketches have printed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "measure/cuda/cubin_facts.h"
#include "measure/cuda/nvrtc.h"
#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_cuda.h"
#include "schedules/space.h"
#include "schedules/text_form.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/parse_canonical.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred::test {
namespace {

using cuda_emulation::Mistake;

TEST(CudaSketches, EqualTheInterpreter) {
  std::vector<Workload> workloads;
  for (const SampleWorkload& sample : SmallWorkloads())
    workloads.push_back(ParseCanonical(sample.name, sample.text));
  const auto complaints =
      DifferentialTest(workloads, *NamedCudaTarget("h200"), {.paths_per_sketch = 2});
  EXPECT_THAT(complaints, ::testing::IsEmpty());
}

// Memory-bound kernels whose first schedules a device would run: they compile, and keep what they
// hold in registers.
TEST(CudaSketches, NvrtcCompilesThemWithoutSpills) {
  const auto nvrtc = Nvrtc::Load();
  if (!nvrtc) GTEST_SKIP() << "not tested, there is no NVRTC: " << nvrtc.error().message;
  const std::pair<std::string, Workload> samples[] = {
      {"elementwise", ParseCanonical("mixed",
                                     "input X: f16[4099,1023]\ninput b: f32[1023]\n"
                                     "output Y: f16[i,j] = f16(X[i,j] * b[j])\n")},
      {"elementwise",
       ParseCanonical("transpose", "input X: f32[4096,1000]\noutput Y[j,i] = X[i,j]\n")},
      {"rows", ParseCanonical("softmax",
                              "input X: f16[4096,2048]\nM[i] = max[j](X[i,j])\n"
                              "E[i,j] = exp(X[i,j] - M[i])\nS[i] = sum[j](E[i,j])\n"
                              "output Y: f16[i,j] = E[i,j] / S[i]\n")},
      {"rows",
       ParseCanonical("columns", "input X: f32[8192,1000]\noutput Y[j] = sum[i](X[i,j])\n")},
      {"window",
       ParseCanonical("depthwise",
                      "input X: f16[8,56,56,96]\nweight W: f16[3,3,96]\n"
                      "output Y[n,y=56,x=56,c] = sum[r,s](padded(X[n,y+r-1,x+s-1,c], 0) * "
                      "W[r,s,c])\n")},
  };
  const std::pair<const char*, const char*> devices[] = {{"a100", "sm_80"}, {"h200", "sm_90a"}};
  for (const auto& [device, architecture] : devices) {
    const std::string options[] = {"--std=c++17", std::string("--gpu-architecture=") + architecture,
                                   "--ptxas-options=-v", "-diag-suppress=177"};
    for (const auto& [sketch, workload] : samples) {
      const auto space = MakeSpace(workload, *NamedCudaTarget(device));
      int compiled = 0;
      for (const Path& path : RandomPaths(*space, 40, 7)) {
        if (path[0].label != sketch || compiled == 2) continue;
        const auto candidate = space->Lower(path);
        ASSERT_TRUE(candidate);
        const auto built = (*nvrtc)->Compile(EmitCuda(*candidate->program, workload).code, options);
        ASSERT_TRUE(built) << built.error().message;
        EXPECT_TRUE(built->ok) << PathToJson(path) << built->log;
        EXPECT_EQ(FactsOfCubin(built->log, built->cubin).spill_bytes, 0)
            << workload.name << " " << architecture << " " << PathToJson(path);
        ++compiled;
      }
      EXPECT_EQ(compiled, 2) << workload.name;
    }
  }
}

// The source of the first schedule of `sketch` whose text has `needed`.
KernelSource FirstWith(const Workload& workload, const std::string& sketch,
                       const std::string& needed) {
  const auto space = MakeSpace(workload, *NamedCudaTarget("h200"));
  for (const Path& path : RandomPaths(*space, 100, 3)) {
    if (path[0].label != sketch) continue;
    const auto candidate = space->Lower(path);
    if (!candidate) continue;
    KernelSource source = EmitCuda(*candidate->program, workload);
    if (source.code.find(needed) != std::string::npos) return source;
  }
  ADD_FAILURE() << "no schedule of " << sketch << " has " << needed;
  return {};
}

// What the emulation finds in the source with every `what` after the prelude replaced.
std::optional<Mistake> FoundIn(KernelSource source, const Workload& workload,
                               const std::string& what, const std::string& by) {
  if (source.code.empty()) return std::nullopt;
  for (std::size_t at = source.code.find("extern \"C\"");
       (at = source.code.find(what, at)) != std::string::npos; at += by.size())
    source.code.replace(at, what.size(), by);
  std::vector<Bytes> buffers = InputBytes(workload, 1);
  for (const KernelArgument& a : source.arguments)
    if (a.access == KernelArgument::Access::kWrite)
      buffers.emplace_back(static_cast<std::size_t>(a.elements * ByteSize(a.type)));
  const std::vector<std::span<std::byte>> spans(buffers.begin(), buffers.end());
  const auto report = cuda_emulation::RunSource(source, {}, spans);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  if (!report || !report->finding) return std::nullopt;
  return report->finding->mistake;
}

TEST(CudaSketches, AMissingBarrierIsFound) {
  const Workload w =
      ParseCanonical("transpose", "input X: f32[100,70]\noutput Y[i,j] = X[j,i] * 2\n");
  const KernelSource source = FirstWith(w, "elementwise", "kd_syncthreads();");
  EXPECT_EQ(FoundIn(source, w, "kd_syncthreads();", "kd_syncthreads();"), std::nullopt);
  EXPECT_NE(FoundIn(source, w, "kd_syncthreads();", ""), std::nullopt);
}

TEST(CudaSketches, AnOffByOneTailIsFound) {
  const Workload w = ParseCanonical("tail", "input X: f32[4099]\noutput Y[i] = X[i] * 2\n");
  const KernelSource source = FirstWith(w, "generic", " < 4099");
  EXPECT_EQ(FoundIn(source, w, " < 4099", " <= 4098"), std::nullopt);
  EXPECT_EQ(FoundIn(source, w, " < 4099", " <= 4099"), Mistake::kOutOfBounds);
}

}  // namespace
}  // namespace kindred::test
