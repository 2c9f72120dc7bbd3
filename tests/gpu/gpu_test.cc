// What only a device can tell: kernels of every sketch run on it and are compared with the
// reference, and a worker outlives what a kernel can do to it.
//
// Takes the first GPU; skipped with a notice where there is none. $KINDRED_GPU_SCHEDULES: random
// schedules of each sketch and workload (8). The program is its own worker process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "measure/cuda/cuda_profiler.h"
#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/cuda_sequence.h"
#include "measure/cuda/nvrtc_process.h"
#include "measure/cuda/range_profiler.h"
#include "measure/runner.h"
#include "schedules/canonical.h"
#include "schedules/emit_kernel.h"
#include "schedules/space.h"
#include "schedules/text_form.h"
#include "search/searcher.h"

namespace kindred {
namespace {

constexpr const char* kProgram = "/proc/self/exe";

struct Case {
  const char* name;
  const char* text;
};

constexpr Case kCases[] = {
    {"gemm",
     "input X: f32[67,130]\nweight W: f32[130,93]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
    {"gemm_f64",
     "input X: f64[33,40]\nweight W: f64[40,65]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
    {"gemm_f16",
     "input X: f16[64,96]\nweight W: f16[96,48]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
    {"gemm_fused",
     "input X: f32[40,64]\nweight W: f32[64,72]\nweight b: f32[72]\nT[m,n] = sum[k](X[m,k] * "
     "W[k,n])\noutput Y[m,n] = max(T[m,n] + b[n], 0)\n"},
    {"batched",
     "input X: f32[3,20,24]\ninput Z: f32[3,24,36]\noutput Y[b,m,n] = sum[k](X[b,m,k] * Z[b,k,n])\n"},
    {"convolution",
     "input X: f32[1,6,15,15]\nweight W: f32[10,6,3,3]\noutput Y[n,o,y=15,x=15] = sum[c,r,s]("
     "padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])\n"},
    {"pooling",
     "input P: f32[1,5,14,14]\noutput Q[n,c,y=7,x=7] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, "
     "2*x+s-1], -inf))\n"},
    {"softmax",
     "input X: f32[37,300]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = "
     "sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n"},
    {"elementwise",
     "input X: f32[61,129]\ninput b: f32[129]\noutput Y[i,j] = tanh(X[i,j] + b[j])\n"},
    {"transpose", "input X: f32[70,100]\noutput Y[i,j] = X[j,i] * 2\n"},
    {"gather", "input I: i32[50]\nweight T: f32[300,64]\noutput Y[i,j] = T[I[i],j]\n"},
};

int SchedulesOfEach() {
  const char* text = std::getenv("KINDRED_GPU_SCHEDULES");
  return text != nullptr ? std::max(1, std::atoi(text)) : 8;
}

// Random schedules, as many of each sketch.
std::vector<Candidate> OfEverySketch(const Space& space) {
  constexpr int kDrawn = 200;
  std::map<std::string, int> taken;
  std::vector<Candidate> chosen;
  for (Candidate& candidate : MakeRandomSearcher(space, 1)->Propose(kDrawn))
    if (taken[candidate.path[0].label]++ < SchedulesOfEach())
      chosen.push_back(std::move(candidate));
  return chosen;
}

class Gpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = (std::filesystem::temp_directory_path() / "kindred-gpu-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(cache_.data()), nullptr);
    auto probed = ProbeCudaTarget("cuda:0", cache_, kProgram);
    if (probed)
      target_ = new Target(std::move(*probed));
    else
      why_not_ = probed.error().message;
  }
  static void TearDownTestSuite() {
    std::error_code code;
    std::filesystem::remove_all(cache_, code);
    delete target_;
    target_ = nullptr;
  }
  void SetUp() override {
    if (target_ == nullptr) GTEST_SKIP() << "no GPU: " << why_not_;
  }

  static std::unique_ptr<Runner> MakeRunner(MeasureLimits limits = {}) {
    CudaRunnerOptions options = Options();
    options.limits = limits;
    auto runner = MakeCudaRunner(*target_, options);
    EXPECT_TRUE(runner) << (runner ? "" : runner.error().message);
    return runner ? std::move(*runner) : nullptr;
  }

  static CudaRunnerOptions Options() {
    CudaRunnerOptions options;
    options.cache_directory = cache_;
    options.program = kProgram;
    return options;
  }

  static Workload Parse(const char* text) {
    const auto parsed = ParseWorkload(text);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
    return Canonicalize(*parsed).workload;
  }

  static std::string cache_, why_not_;
  static Target* target_;
};

std::string Gpu::cache_, Gpu::why_not_;
Target* Gpu::target_ = nullptr;

TEST_F(Gpu, KernelsOfEverySketchEqualTheReference) {
  const auto runner = MakeRunner();
  ASSERT_NE(runner, nullptr);
  std::map<std::string, int> sketches;
  std::set<std::string> timers;
  for (const Case& tested : kCases) {
    const Workload workload = Parse(tested.text);
    const auto space = MakeSpace(workload, *target_);
    const std::vector<Candidate> candidates = OfEverySketch(*space);
    std::vector<KernelSource> kernels;
    for (const Candidate& candidate : candidates)
      kernels.push_back(EmitKernel(*candidate.program, workload, *target_));
    MeasureJob job;
    job.workload = &workload;
    job.candidates = kernels;
    const auto outcomes = runner->Measure(job, {});
    ASSERT_TRUE(outcomes) << tested.name << ": " << outcomes.error().message;
    ASSERT_EQ(outcomes->size(), candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Outcome& outcome = (*outcomes)[i];
      EXPECT_TRUE(outcome.Timed() && outcome.validated)
          << tested.name << " " << PathToJson(candidates[i].path) << ": " << Name(outcome.status)
          << ": " << outcome.message;
      if (outcome.status == Status::kOk) {
        EXPECT_GT(outcome.median_ns, 0);
        timers.insert(outcome.timer);
      }
      ++sketches[candidates[i].path[0].label];
    }
  }
  EXPECT_EQ(sketches.size(), 5u) << "contraction, elementwise, rows, window, generic";
  for (const auto& [sketch, count] : sketches)
    std::printf("%s: %d schedules\n", sketch.c_str(), count);
  for (const std::string& timer : timers) std::printf("timed by %s\n", timer.c_str());
}

// The same kernel with a statement at its start.
KernelSource With(KernelSource source, const std::string& statement) {
  std::size_t at = source.code.find("__global__");
  EXPECT_NE(at, std::string::npos);
  at = source.code.find("{\n", at);
  source.code.insert(at + 2, "  " + statement + "\n");
  return source;
}

TEST_F(Gpu, AWorkerOutlivesItsKernels) {
  MeasureLimits limits;
  limits.run_timeout_s = 5;
  const auto runner = MakeRunner(limits);
  ASSERT_NE(runner, nullptr);
  const Workload workload = Parse("input X: f32[1000]\noutput Y[i] = X[i] * 2\n");
  const Workload other = Parse("input X: f32[1000]\noutput Y[i] = X[i] * 3\n");
  const auto space = MakeSpace(workload, *target_), others = MakeSpace(other, *target_);
  const auto kernel = [&](const Space& of, const Workload& w) {
    return EmitKernel(*MakeRandomSearcher(of, 2)->Propose(1).at(0).program, w, *target_);
  };
  const KernelSource good = kernel(*space, workload);
  // Each one different, so that none is known from another.
  const std::vector<KernelSource> kernels = {
      With(good, "if (threadIdx.x > 5000) return;  // 1"),
      With(good, "*(volatile int*)64 = 1;"),
      With(good, "if (threadIdx.x > 5000) return;  // 2"),
      kernel(*others, other),
      With(good, "for (volatile int spin = 0; spin >= 0;) spin = 1;"),
      With(good, "if (threadIdx.x > 5000) return;  // 3"),
      With(good, "this is no CUDA;"),
      With(good, "if (threadIdx.x > 5000) return;  // 4"),
  };
  MeasureJob job;
  job.workload = &workload;
  job.candidates = kernels;
  const auto outcomes = runner->Measure(job, {});
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  ASSERT_EQ(outcomes->size(), kernels.size());
  for (const std::size_t right : {0u, 2u, 5u, 7u})
    EXPECT_TRUE((*outcomes)[right].Timed() && (*outcomes)[right].validated)
        << right << ": " << Name((*outcomes)[right].status) << ": " << (*outcomes)[right].message;
  EXPECT_THAT((*outcomes)[1].status,
              testing::AnyOf(Status::kCrash, Status::kOutOfBounds, Status::kRunError))
      << (*outcomes)[1].message;
  EXPECT_EQ((*outcomes)[3].status, Status::kWrongAnswer) << (*outcomes)[3].message;
  EXPECT_EQ((*outcomes)[4].status, Status::kRunTimeout) << (*outcomes)[4].message;
  EXPECT_EQ((*outcomes)[6].status, Status::kBuildError) << (*outcomes)[6].message;
}

TEST_F(Gpu, HardwareCountersOfAKernel) {
  const Workload workload = Parse(kCases[0].text);
  const auto space = MakeSpace(workload, *target_);
  const auto profiler = CudaProfiler::Make(*target_, Options());
  ASSERT_TRUE(profiler) << profiler.error().message;
  for (const Candidate& candidate : MakeRandomSearcher(*space, 2)->Propose(3)) {
    const auto counted =
        (*profiler)->Profile(workload, EmitKernel(*candidate.program, workload, *target_), 1);
    if (!counted) GTEST_SKIP() << counted.error().message;
    EXPECT_GE(counted->size(), CounterMetrics().size() - 2);
    for (const auto& [name, value] : *counted) EXPECT_GE(value, 0) << name;
  }
}

TEST_F(Gpu, SequencesAsAGraph) {
  std::vector<SequencedKernel> kernels;
  for (const char* text : {kCases[0].text, kCases[7].text}) {
    const Workload workload = Parse(text);
    const auto space = MakeSpace(workload, *target_);
    const Candidate candidate = MakeRandomSearcher(*space, 2)->Propose(1).at(0);
    kernels.push_back({workload, EmitKernel(*candidate.program, workload, *target_)});
  }
  const auto times = ReplaySequence(*target_, Options(), kernels, {0, 1, 1, 0}, 1);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_GT(times->graph_ns, 0);
  EXPECT_GT(times->launched_ns, 0);
  EXPECT_GE(times->launches, 4);
  EXPECT_EQ(times->untraced.empty(), times->kernels_ns > 0) << times->untraced;
  std::printf("%d kernels: %.1f us as a graph, %.1f us one by one, %.1f us alone\n",
              static_cast<int>(times->launches), times->graph_ns / 1e3, times->launched_ns / 1e3,
              times->kernels_ns / 1e3);
}

}  // namespace
}  // namespace kindred

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "worker") return kindred::RunCpuWorker();
  if (first == "nvrtc") return kindred::RunNvrtcProcess();
  if (first == "cuda-worker") return kindred::RunCudaWorker();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
