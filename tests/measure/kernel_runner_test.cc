// Kernels without a workload: what is right, what is wrong, and that one's trouble is not the
// next one's.
#include "measure/kernel_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measure/scratch.h"

namespace kindred {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kElements = 100;

KernelSource Kernel(const std::string& body) {
  KernelSource source;
  source.code =
      "#include <stdint.h>\n#include <stdlib.h>\n"
      "int run(void *const *b, const int64_t *e, void *w) {\n"
      "  float *in = b[0], *out = b[1]; double *both = b[2]; (void)e; (void)w;\n" +
      body + "\n  return 0;\n}\n";
  source.entry = "run";
  source.flags = {"-O1"};
  using Access = KernelArgument::Access;
  source.arguments = {{0, "in", DataType::kF32, kElements, Access::kRead, "row-major"},
                      {1, "out", DataType::kF32, kElements, Access::kWrite, "row-major"},
                      {2, "both", DataType::kF64, 1, Access::kWrite, "row-major"}};
  return source;
}

constexpr const char* kRight =
    "for (int i = 0; i < 100; ++i) out[i] = 3 * in[i];\n  both[0] = both[0] * 0.5 + 1;\n";

class KernelRunnerTest : public testing::Test {
 protected:
  KernelRunnerTest() {
    CpuRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.worker_program = KINDRED_TEST_WORKER;
    options.limits.run_timeout_s = 3;
    options.limits.time_budget_s = 0.005;
    KernelTask task;
    task.buffers = {
        {.name = "in", .elements = kElements, .random = true},
        {.name = "out", .elements = kElements, .read = false, .written = true},
        {.name = "both", .type = DataType::kF64, .elements = 1, .written = true, .value = 8}};
    auto runner = MakeKernelRunner(Target{}, task, options);
    if (!runner) throw std::runtime_error(runner.error().message);
    runner_ = std::move(*runner);
  }

  Outcome Measure(const std::string& body) {
    auto outcome = runner_->Measure(Kernel(body), 0, false);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome{};
  }

  Scratch scratch_;
  std::unique_ptr<KernelRunner> runner_;
};

TEST_F(KernelRunnerTest, WhatTheReferenceWritesIsRight) {
  EXPECT_FALSE(runner_->has_reference());
  const auto taken = runner_->TakeReference(Kernel(kRight));
  ASSERT_TRUE(taken) << taken.error().message;
  ASSERT_EQ(taken->status, Status::kOk) << taken->message;
  EXPECT_TRUE(runner_->has_reference());

  const Outcome right = Measure(std::string("out[0] = 9;\n") + kRight);
  EXPECT_EQ(right.status, Status::kOk) << right.message;
  EXPECT_TRUE(right.validated);
  EXPECT_GT(right.median_ns, 0);

  const Outcome wrong = Measure(std::string(kRight) + "out[42] = -7;");
  EXPECT_EQ(wrong.status, Status::kWrongAnswer);
  EXPECT_THAT(wrong.message, AllOf(HasSubstr("out[42]"), HasSubstr("-7")));
  EXPECT_THAT(Measure("both[0] = both[0] * 0.5 + 1;").message,
              HasSubstr("out[0] was never written"));
  const Outcome once = Measure(std::string(kRight) + "both[0] = 5;");
  EXPECT_EQ(once.status, Status::kOk) << once.message;
  const Outcome stale = Measure(std::string(kRight) + "both[0] = 6;");
  EXPECT_EQ(stale.status, Status::kWrongAnswer);
  EXPECT_THAT(stale.message, HasSubstr("both[0] is 6, expected 5"));
}

TEST_F(KernelRunnerTest, TroubleIsAnOutcomeAndTheReferenceOutlivesIt) {
  ASSERT_TRUE(runner_->TakeReference(Kernel(kRight)));
  const std::vector<KernelSource> ahead = {Kernel("not C"), Kernel(kRight)};
  ASSERT_TRUE(runner_->BuildAhead(ahead, {}));
  EXPECT_EQ(Measure("not C").status, Status::kBuildError);
  EXPECT_EQ(Measure("abort();").status, Status::kCrash);
  EXPECT_EQ(Measure(kRight).status, Status::kOk);
  const Outcome past = Measure(std::string(kRight) + "out[100] = 1;");
  EXPECT_EQ(past.status, Status::kOutOfBounds) << past.message;
  EXPECT_EQ(Measure("in[0] = 1;").status, Status::kOutOfBounds);
  EXPECT_EQ(Measure("return 4;").status, Status::kRunError);
  EXPECT_EQ(Measure(kRight).status, Status::kOk);
}

TEST_F(KernelRunnerTest, AKernelThatFailsIsNoReference) {
  const auto taken = runner_->TakeReference(Kernel("return 3;"));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->status, Status::kRunError);
  EXPECT_FALSE(runner_->has_reference());
  const auto crashed = runner_->TakeReference(Kernel("abort();"));
  ASSERT_TRUE(crashed);
  EXPECT_EQ(crashed->status, Status::kCrash);
  const auto taken_later = runner_->TakeReference(Kernel(kRight));
  ASSERT_TRUE(taken_later);
  EXPECT_EQ(taken_later->status, Status::kOk);
}

TEST(KernelRunner, FilesOfBuffersMustBeThere) {
  const Scratch scratch;
  CpuRunnerOptions options;
  options.cache_directory = scratch.path() + "/cache";
  options.worker_program = KINDRED_TEST_WORKER;
  KernelTask task;
  task.buffers = {{.name = "weights", .elements = 4, .file = scratch.path() + "/none.bin"}};
  const auto runner = MakeKernelRunner(Target{}, task, options);
  ASSERT_FALSE(runner);
  EXPECT_EQ(ExitCode(runner.error()), 2);
  EXPECT_THAT(runner.error().message, AllOf(HasSubstr("weights"), HasSubstr("none.bin")));
}

}  // namespace
}  // namespace kindred
