// Kernels written for every way to go wrong, through the real builder and a real worker.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include "measure/runner.h"
#include "schedules/canonical.h"
#include "schedules/emit_c.h"
#include "schedules/lower_naive.h"
#include "schedules/text_form.h"
#include "tests/measure/scratch.h"

namespace kindred {
namespace {

namespace fs = std::filesystem;

// 37 x 23 floats: 3404 bytes, so that the output has 52 bytes of pattern behind it.
constexpr const char* kMatmul = R"(
input A: f32[37,19]
input B: f32[19,23]
output C[i,j] = sum[k](A[i,k] * B[k,j])
)";

const std::string kRight = R"(
  for (int i = 0; i < 37; ++i)
    for (int j = 0; j < 23; ++j) {
      float sum = 0;
      for (int k = 0; k < 19; ++k) sum += A[i * 19 + k] * B[k * 23 + j];
      C[i * 23 + j] = sum;
    }
)";

KernelSource Kernel(const std::string& body) {
  KernelSource source;
  source.code =
      "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include "
      "<unistd.h>\n#include <signal.h>\n"
      "int run(void *const *b, const int64_t *e, void *w) {\n"
      "  float *A = b[0], *B = b[1], *C = b[2]; (void)A; (void)B; (void)C; (void)e; (void)w;\n" +
      body + "\n  return 0;\n}\n";
  source.entry = "run";
  source.flags = {"-O1"};
  using Access = KernelArgument::Access;
  source.arguments = {{0, "A", DataType::kF32, 37 * 19, Access::kRead, "row-major"},
                      {1, "B", DataType::kF32, 19 * 23, Access::kRead, "row-major"},
                      {2, "C", DataType::kF32, 37 * 23, Access::kWrite, "row-major"}};
  return source;
}

KernelSource RightAnd(const std::string& body) { return Kernel(kRight + body); }

class CpuRunnerTest : public testing::Test {
 protected:
  CpuRunnerTest() : workload_(*ParseWorkload(kMatmul)) { Restart(); }

  void Restart() {
    runner_.reset();
    auto runner = MakeCpuRunner(Target{}, Options());
    if (!runner) throw std::runtime_error(runner.error().message);
    runner_ = std::move(*runner);
  }

  CpuRunnerOptions Options() const {
    CpuRunnerOptions options;
    options.cache_directory = scratch_.path() + "/cache";
    options.worker_program = KINDRED_TEST_WORKER;
    options.limits.run_timeout_s = 3;
    options.limits.build_timeout_s = 20;
    options.limits.memory_bytes = 256 << 20;
    options.limits.time_budget_s = 0.01;
    return options;
  }

  std::vector<Outcome> Measure(const std::vector<KernelSource>& sources, double incumbent_ns = 0) {
    MeasureJob job;
    job.workload = &workload_;
    job.candidates = sources;
    job.seed = 5;
    job.incumbent_ns = incumbent_ns;
    auto outcomes = runner_->Measure(job, {});
    EXPECT_TRUE(outcomes) << outcomes.error().message;
    if (!outcomes) return std::vector<Outcome>(sources.size());
    EXPECT_EQ(outcomes->size(), sources.size());
    return std::move(*outcomes);
  }

  // The outcome of `bad`, with a right kernel before and after it that must not suffer.
  Outcome Between(const KernelSource& bad) {
    const std::vector<Outcome> outcomes = Measure({Kernel(kRight), bad, RightAnd("/* again */")});
    for (const int right : {0, 2}) {
      EXPECT_EQ(Name(outcomes[right].status), "ok") << outcomes[right].message;
      EXPECT_TRUE(outcomes[right].validated);
    }
    EXPECT_FALSE(outcomes[1].validated) << outcomes[1].message;
    EXPECT_FALSE(outcomes[1].message.empty());
    EXPECT_TRUE(outcomes[1].samples.empty());
    return outcomes[1];
  }

  const Scratch scratch_;
  Workload workload_;
  std::unique_ptr<Runner> runner_;
};

#define EXPECT_SAYS(outcome, expected_status, text)                        \
  do {                                                                     \
    const Outcome said = (outcome);                                        \
    EXPECT_EQ(Name(said.status), Name(expected_status)) << said.message;   \
    EXPECT_NE(said.message.find(text), std::string::npos) << said.message; \
  } while (false)

TEST_F(CpuRunnerTest, TimesARightKernel) {
  const Outcome outcome = Measure({Kernel(kRight)})[0];
  EXPECT_EQ(Name(outcome.status), "ok") << outcome.message;
  EXPECT_TRUE(outcome.validated);
  EXPECT_GE(outcome.samples.size(), 10u);
  EXPECT_GT(outcome.median_ns, 0);
  EXPECT_GT(outcome.control_ns, 0);
  EXPECT_GT(outcome.build_s, 0);
  EXPECT_GT(outcome.run_s, 0);
  EXPECT_GT(outcome.facts.code_bytes, 0);
  EXPECT_GT(runner_->times().build_s, 0);
  EXPECT_GT(runner_->times().run_s, 0);
}

TEST_F(CpuRunnerTest, RunsEqualSourcesOnce) {
  const std::vector<Outcome> outcomes =
      Measure({Kernel(kRight), Kernel("return 3;"), Kernel(kRight)});
  EXPECT_EQ(outcomes[0].samples, outcomes[2].samples);
  EXPECT_EQ(outcomes[2].run_s, 0);
  EXPECT_EQ(outcomes[2].build_s, 0);
}

TEST_F(CpuRunnerTest, AbandonsWhatIsFarFromTheBest) {
  const Outcome outcome = Measure({RightAnd("usleep(2000);")}, 1e5)[0];
  EXPECT_EQ(Name(outcome.status), "abandoned") << outcome.message;
  EXPECT_TRUE(outcome.validated);
  EXPECT_EQ(outcome.samples.size(), 1u);
  EXPECT_GT(outcome.median_ns, 1e6);
}

TEST_F(CpuRunnerTest, WrongAnswers) {
  EXPECT_SAYS(Between(RightAnd("C[5 * 23 + 7] += 0.01f;")), Status::kWrongAnswer, "[5,7]");
  EXPECT_SAYS(Between(RightAnd("C[0] = 0.0f / 0.0f;")), Status::kWrongAnswer, "[0,0]");
  EXPECT_SAYS(Between(Kernel("")), Status::kWrongAnswer, "never written");
  EXPECT_SAYS(Between(RightAnd("static int runs; if (++runs > 3) C[4] = 9;")), Status::kWrongAnswer,
              "repeated run");
}

// Each is a permission that the workload does not give, or that nobody can.
TEST_F(CpuRunnerTest, ArithmeticBeyondTheContract) {
  const std::string sum = R"(
    for (int i = 0; i < 37; ++i)
      for (int j = 0; j < 23; ++j) {
        float sum = OFFSET;
        for (int k = 0; k < 19; ++k) sum += ROUND(A[i * 19 + k]) * ROUND(B[k * 23 + j]);
        C[i * 23 + j] = sum - OFFSET;
      }
)";
  const std::string exact = "#define ROUND(x) (x)\n#define OFFSET 0.0f\n";
  const std::string tf32 =
      "#define ROUND(x) ({ float f = (x); unsigned u; memcpy(&u, &f, 4); u &= ~0x1fffu; "
      "memcpy(&f, &u, 4); f; })\n#define OFFSET 0.0f\n";
  // A sum whose order loses what it cancels: what reassociation of a compensated one leaves.
  const std::string cancelled = "#define ROUND(x) (x)\n#define OFFSET 16384.0f\n";
  for (const char* allowed : {"", "allow fast_math\n"}) {
    workload_ = *ParseWorkload(allowed + std::string(kMatmul));
    EXPECT_EQ(Name(Measure({Kernel(exact + sum)})[0].status), "ok") << allowed;
    EXPECT_SAYS(Between(Kernel(tf32 + sum)), Status::kWrongAnswer, "expected");
    EXPECT_SAYS(Between(Kernel(cancelled + sum)), Status::kWrongAnswer, "expected");
  }
}

TEST_F(CpuRunnerTest, KernelsThatTakeAllNumbersForFiniteAreRefused) {
  workload_ = *ParseWorkload(R"(
input A: f32[37,19]
input B: f32[19,23]
output C[i,j] = (A[i,0] + 0 * B[0,j]) / 0
)");
  const auto body = [](const std::string& value) {
    return "for (int i = 0; i < 37; ++i) for (int j = 0; j < 23; ++j) { volatile float zero = 0;\n"
           "float x = A[i * 19] / zero; C[i * 23 + j] = " +
           value + "; }";
  };
  const std::vector<Outcome> outcomes =
      Measure({Kernel(body("x")), Kernel(body("x > 3e38f ? 3e38f : x < -3e38f ? -3e38f : x")),
               Kernel(body("-x")), Kernel(body("x - x"))});
  EXPECT_EQ(Name(outcomes[0].status), "ok") << outcomes[0].message;
  for (int wrong = 1; wrong < 4; ++wrong)
    EXPECT_SAYS(outcomes[wrong], Status::kWrongAnswer, "expected");
}

TEST_F(CpuRunnerTest, WritesOutOfBounds) {
  EXPECT_SAYS(Between(RightAnd("C[37 * 23] = 1;")), Status::kOutOfBounds, "past its end");
  EXPECT_SAYS(Between(RightAnd("C[-1] = 1;")), Status::kOutOfBounds, "before its start");
  EXPECT_SAYS(Between(RightAnd("C[37 * 23 + 500] = 1;")), Status::kOutOfBounds, "past the end of");
  EXPECT_SAYS(Between(RightAnd("C[-3000] = 1;")), Status::kOutOfBounds, "before the start of");
  EXPECT_SAYS(Between(RightAnd("A[3] = 1;")), Status::kOutOfBounds, "may only read, at byte 12");
  EXPECT_SAYS(Between(RightAnd("C[0] += 0 * ((volatile float *)B)[19 * 23 + 100];")),
              Status::kOutOfBounds, "reads");
}

TEST_F(CpuRunnerTest, Crashes) {
  EXPECT_SAYS(Between(Kernel("*(volatile int *)8 = 1;")), Status::kCrash, "SIGSEGV");
  EXPECT_SAYS(Between(Kernel("abort();")), Status::kCrash, "SIGABRT");
  EXPECT_SAYS(Between(Kernel("volatile int zero = 0, twelve = 12; C[0] = twelve / zero;")),
              Status::kCrash, "SIGFPE");
  EXPECT_SAYS(Between(Kernel("__builtin_trap();")), Status::kCrash, "SIGILL");
  EXPECT_SAYS(Between(Kernel("_exit(3);")), Status::kCrash, "exit code 3");
  EXPECT_SAYS(Between(Kernel("raise(SIGTERM);")), Status::kCrash, "SIGTERM");
  EXPECT_SAYS(
      Between(Kernel("volatile char deep[64 << 20]; for (long i = 0; i < (64 << 20); i += 512) "
                     "deep[i] = 1;")),
      Status::kCrash, "SIGSEGV");
  EXPECT_SAYS(
      Between(Kernel("const char nonsense[] = \"nonsense\\n\"; write(4, nonsense, 9); for (;;) "
                     "pause();")),
      Status::kCrash, "no answer");
}

TEST_F(CpuRunnerTest, OtherFailures) {
  EXPECT_SAYS(Between(Kernel("return 42;")), Status::kRunError, "42");
  EXPECT_SAYS(Between(Kernel("this is no C;")), Status::kBuildError, "error");
  EXPECT_SAYS(Between(RightAnd("void missing(void); missing();")), Status::kBuildError, "missing");
  KernelSource misnamed = Kernel(kRight);
  misnamed.entry = "other";
  EXPECT_SAYS(Between(misnamed), Status::kBuildError, "entry");
}

TEST_F(CpuRunnerTest, Hangs) {
  EXPECT_SAYS(Between(Kernel("for (volatile int i = 0;; i = i) {}")), Status::kRunTimeout, "3");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(CpuRunnerTest, AllocationBombs) {
  const std::string bomb = "for (;;) { char *p = malloc(1 << 20); ";
  EXPECT_SAYS(Between(Kernel(bomb + "memset(p, 1, 1 << 20); }")), Status::kOutOfMemory,
              "allocation");
  EXPECT_SAYS(Between(Kernel(bomb + "if (!p) return 1; memset(p, 1, 1 << 20); }")),
              Status::kOutOfMemory, "returned 1");
}
#endif

TEST_F(CpuRunnerTest, WorkspaceAndPreparedBuffers) {
  KernelSource source = Kernel(R"(
  float *P = b[3], *T = w;
  for (int i = 0; i < 37; ++i)
    for (int j = 0; j < 23; ++j) {
      T[0] = 0;
      for (int k = 0; k < 19; ++k) T[0] += A[i * 19 + k] * P[j * 19 + k];
      C[i * 23 + j] = T[0];
    })");
  source.code += R"(
int pack(void *const *b, const int64_t *e, void *w) {
  const float *B = b[1]; float *P = b[3]; (void)e; (void)w;
  for (int j = 0; j < 23; ++j) for (int k = 0; k < 19; ++k) P[j * 19 + k] = B[k * 23 + j];
  return 0;
}
)";
  source.prepare_entry = "pack";
  source.workspace_bytes = 64;
  source.arguments.push_back(
      {-1, "B_packed", DataType::kF32, 19 * 23, KernelArgument::Access::kPrepared, "B[j][k]"});
  EXPECT_EQ(Name(Measure({source})[0].status), "ok") << Measure({source})[0].message;

  KernelSource beyond = source;
  beyond.code.replace(beyond.code.find("T[0] = 0;"), 9, "T[0] = T[16] = 0;");
  EXPECT_SAYS(Between(beyond), Status::kOutOfBounds, "workspace");
  KernelSource late = source;
  late.code.replace(late.code.find("T[0] = 0;"), 9, "T[0] = P[3] = 0;");
  EXPECT_SAYS(Between(late), Status::kOutOfBounds, "B_packed, which it may only read");
  KernelSource failing = source;
  failing.code.replace(failing.code.rfind("return 0;"), 9, "return 8;");
  EXPECT_SAYS(Between(failing), Status::kRunError, "prepare");
}

TEST_F(CpuRunnerTest, StopsBetweenCandidates) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < 6; ++i) sources.push_back(RightAnd("/*" + std::to_string(i) + "*/"));
  Measure(sources);  // all are built
  MeasureJob job;
  job.workload = &workload_;
  job.candidates = sources;
  int polls = 0;
  const auto outcomes = runner_->Measure(job, [&polls] { return ++polls > 4; });
  ASSERT_TRUE(outcomes);
  EXPECT_GT(outcomes->size(), 0u);
  EXPECT_LT(outcomes->size(), 6u);
}

// Process ids of this process's children.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid; file >> pid;) children.push_back(pid);
  }
  return children;
}

TEST_F(CpuRunnerTest, SurvivesThatItsWorkerIsKilled) {
  Measure({Kernel(kRight)});
  // Between two calls.
  ASSERT_EQ(Children().size(), 1u);
  kill(Children()[0], SIGKILL);
  EXPECT_EQ(Name(Measure({RightAnd("/* 1 */")})[0].status), "ok");
  // In the middle of a run: the candidate gets a second chance.
  const std::string mark = scratch_.path() + "/started";
  std::atomic<bool> done = false;
  std::thread killer([&] {
    while (!done && !fs::exists(mark)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const pid_t pid : Children()) kill(pid, SIGKILL);
  });
  const Outcome outcome =
      Measure({RightAnd("if (access(\"" + mark + "\", F_OK) != 0) { FILE *f = fopen(\"" + mark +
                        "\", \"w\"); fclose(f); sleep(2); }")})[0];
  done = true;
  killer.join();
  EXPECT_EQ(Name(outcome.status), "ok") << outcome.message;
}

TEST_F(CpuRunnerTest, WorkersInheritNothingAndNothingLeaks) {
  Measure({Kernel(kRight)});
  const int before = OpenDescriptors();
  for (int i = 0; i < 3; ++i) {
    Measure({Kernel("abort();"), RightAnd("/* " + std::to_string(i) + " */")});
    const std::vector<pid_t> children = Children();
    ASSERT_EQ(children.size(), 1u);
    int descriptors = 0;
    for ([[maybe_unused]] const auto& entry :
         fs::directory_iterator("/proc/" + std::to_string(children[0]) + "/fd"))
      ++descriptors;
    EXPECT_EQ(descriptors, 5);
  }
  EXPECT_EQ(OpenDescriptors(), before);
  runner_.reset();
  EXPECT_TRUE(Children().empty());
}

TEST_F(CpuRunnerTest, ARestartCompilesNothing) {
  const Outcome first = Measure({Kernel(kRight)})[0];
  EXPECT_GT(first.build_s, 0);
  Restart();
  const Outcome second = Measure({Kernel(kRight)})[0];
  EXPECT_EQ(Name(second.status), "ok") << second.message;
  EXPECT_EQ(second.build_s, 0);
}

TEST_F(CpuRunnerTest, SwitchesBetweenWorkloads) {
  Measure({Kernel(kRight)});
  const Workload matmul = workload_;
  workload_ = *ParseWorkload("input X: f32[10]\noutput Y[i] = X[i] + 1\n");
  KernelSource add = Kernel("for (int i = 0; i < 10; ++i) B[i] = A[i] + 1;");
  add.code.replace(add.code.find(", *C = b[2]"), 11, ", *C = 0");
  using Access = KernelArgument::Access;
  add.arguments = {{0, "X", DataType::kF32, 10, Access::kRead, "row-major"},
                   {1, "Y", DataType::kF32, 10, Access::kWrite, "row-major"}};
  EXPECT_EQ(Name(Measure({add})[0].status), "ok") << Measure({add})[0].message;
  workload_ = matmul;
  EXPECT_EQ(Name(Measure({RightAnd("/* later */")})[0].status), "ok");
}

// What the compiler makes of guarded loads must stay within tensors that end where a page does.
TEST_F(CpuRunnerTest, ReferencesOfPaddedWorkloadsStayWithinTheirTensors) {
  workload_ = Canonicalize(*ParseWorkload(R"(
input X: f32[1,4,8,8]
weight W: f32[6,4,3,3]
T[n,o,y=8,x=8] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])
output Y[n,o,y,x] = T[n,o,y,x] + T[0,o,y,x]
)"))
                  .workload;
  const KernelSource plain = EmitC(LowerNaive(workload_), workload_, Target{});
  const Outcome outcome = Measure({plain})[0];
  EXPECT_EQ(Name(outcome.status), "ok") << outcome.message;
}

TEST_F(CpuRunnerTest, RefusesAWorkloadBeyondTheMachinesMemory) {
  workload_ = *ParseWorkload("input X: f32[1000000,1000000]\noutput Y[i,j] = X[i,j] * 2\n");
  const std::vector<KernelSource> sources = {Kernel(kRight)};
  MeasureJob job;
  job.workload = &workload_;
  job.candidates = sources;
  const auto outcomes = runner_->Measure(job, {});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(outcomes.error().message.find("8000 GB"), std::string::npos);
}

TEST_F(CpuRunnerTest, RefusesAWorkerThatIsNone) {
  CpuRunnerOptions options = Options();
  options.worker_program = "/no/such/program";
  auto runner = MakeCpuRunner(Target{}, options);
  ASSERT_TRUE(runner);
  const std::vector<KernelSource> sources = {Kernel(kRight)};
  MeasureJob job;
  job.workload = &workload_;
  job.candidates = sources;
  auto outcomes = (*runner)->Measure(job, {});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().kind, ErrorKind::kEnvironment);
  options.worker_program = "/bin/true";
  runner = MakeCpuRunner(Target{}, options);
  outcomes = (*runner)->Measure(job, {});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace kindred
