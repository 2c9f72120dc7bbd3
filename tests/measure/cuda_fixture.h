// A runner on the emulated device (tests/cuda_emulation/driver), and kernels for it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "measure/cuda/cuda_runner.h"
#include "schedules/text_form.h"
#include "tests/measure/scratch.h"

namespace kindred {

std::string TestWorker();         // path of measure_test_worker
std::string EmulatedLibraries();  // folder of the emulated device's libraries

inline constexpr const char* kScaled = R"(
input A: f32[37,19]
input B: f32[37,19]
output C[i,j] = A[i,j] * B[i,j] + 1
)";
inline constexpr int kElements = 37 * 19;

// One kernel of 96 threads a block; `body` sees i < kElements.
inline KernelSource Kernel(const std::string& body) {
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.code =
      "extern \"C\" __global__ void __launch_bounds__(96) run(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {\n"
      "  const int i = blockIdx.x * 96 + threadIdx.x;\n"
      "  if (i >= 703) return;\n" +
      body + "\n}\n";
  source.entry = "run";
  using Access = KernelArgument::Access;
  source.arguments = {{0, "A", DataType::kF32, kElements, Access::kRead, "row-major"},
                      {1, "B", DataType::kF32, kElements, Access::kRead, "row-major"},
                      {2, "C", DataType::kF32, kElements, Access::kWrite, "row-major"}};
  KernelStep& step = source.steps.emplace_back();
  step.entry = "run";
  step.grid = {IntExpr(8), IntExpr(1), IntExpr(1)};
  step.block = {96, 1, 1};
  for (int i = 0; i < 3; ++i)
    step.parameters.push_back({KernelStep::Parameter::Kind::kArgument, i});
  return source;
}

inline const std::string kRight = "  C[i] = A[i] * B[i] + 1;";

inline KernelSource RightAnd(const std::string& more) { return Kernel(kRight + "\n" + more); }

// Sets an environment variable as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty())
      unsetenv(name_);
    else
      setenv(name_, before_.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::string before_;
};

class CudaRunnerTest : public testing::Test {
 protected:
  CudaRunnerTest()
      : libraries_("KINDRED_CUDA_LIBRARIES", EmulatedLibraries()),
        workload_(*ParseWorkload(kScaled)) {
    target_.id = "cuda:0";
    target_.kind = DeviceKind::kCuda;
    target_.gpu.arch = "sm_90a";
  }

  void Start() {
    runner_.reset();
    CudaRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.program = TestWorker();
    options.limits.run_timeout_s = run_timeout_s_;
    options.limits.time_budget_s = 0.01;
    options.limits.memory_bytes = memory_bytes_;
    options.cold = cold_;
    auto runner = MakeCudaRunner(target_, options);
    if (!runner) throw std::runtime_error(runner.error().message);
    runner_ = std::move(*runner);
  }

  Result<std::vector<Outcome>> TryMeasure(const std::vector<KernelSource>& sources,
                                          double incumbent_ns = 0,
                                          const std::function<bool()>& stop = {}) {
    if (!runner_) Start();
    MeasureJob job;
    job.workload = &workload_;
    job.candidates = sources;
    job.seed = 5;
    job.incumbent_ns = incumbent_ns;
    job.finished = [this](std::size_t index, const Outcome& outcome) {
      EXPECT_EQ(index, finished_.size());
      finished_.push_back(outcome);
    };
    finished_.clear();
    return runner_->Measure(job, stop);
  }

  std::vector<Outcome> Measure(const std::vector<KernelSource>& sources, double incumbent_ns = 0) {
    auto outcomes = TryMeasure(sources, incumbent_ns);
    EXPECT_TRUE(outcomes) << outcomes.error().message;
    if (!outcomes) return std::vector<Outcome>(sources.size());
    EXPECT_EQ(outcomes->size(), sources.size());
    EXPECT_EQ(finished_.size(), sources.size());
    return std::move(*outcomes);
  }

  const Variable libraries_;
  const Scratch scratch_;
  Workload workload_;
  Target target_;
  bool cold_ = true;
  double run_timeout_s_ = 20;
  std::int64_t memory_bytes_ = MeasureLimits{}.memory_bytes;
  std::vector<Outcome> finished_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kindred
