// The contraction sketch against the interpreter: random schedules, awkward extents, forbidden
// pages around buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedules/base/seed.h"
#include "schedules/sketch.h"
#include "schedules/space.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"

namespace kindred {
namespace {

struct NamedText {
  const char* name;
  const char* text;
};

Workload Parse(const NamedText& named) {
  auto workload = ParseWorkload(named.text, named.name);
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().message);
  if (!workload) return {};
  workload->name = named.name;
  return *workload;
}

const NamedText kWorkloads[] = {
    {"bf16conv", R"(
input  X: bf16[5,12,12]
weight W: bf16[7,5,3,3]
output Y[o,y=12,x=12] = sum[c,r,s](padded(X[c, y+r-1, x+s-1], 0) * W[o,c,r,s])
)"},
    {"big_group", R"(
input  X: f32[2,3,16,7]
weight W: f32[3,16,16]
output Y[b,g,o,p] = sum[c](X[b,g,c,p] * W[g,o,c])
)"},
    {"bmm_mid", R"(
input  A: f32[11,3,20]
input  B: f32[19,3,20]
input  S: f32[11,19]
T[h,m,n] = sum[k](A[m,h,k] * B[n,h,k])
output Y[h,m,n] = T[h,m,n] * 0.125 + S[m,n]
)"},
    {"bmm_t", R"(
input  A: f32[3,11,20]
input  B: f32[3,19,20]
output Y[h,m,n] = sum[k](A[h,m,k] * B[h,n,k])
)"},
    {"conv_1d", R"(
input  X: f32[6,50]
weight W: f32[10,6,5]
output Y[o,x=46] = sum[c,s](X[c,x+s] * W[o,c,s])
)"},
    {"conv_1x1s2", R"(
input  X: f32[19,13,13]
weight W: f32[21,19]
output Y[o,y=7,x=7] = sum[c](X[c,2*y,2*x] * W[o,c])
)"},
    {"conv_asym", R"(
input  X: f32[6,9,40]
weight W: f32[10,6,1,7]
weight b: f32[10,9]
T[o,y=9,x=40] = sum[c,r,s](padded(X[c,y+r,x+s-3], 0) * W[o,c,r,s])
output Y[o,y,x] = T[o,y,x] + b[o,y]
)"},
    {"conv_c1", R"(
input  X: f32[20,20]
weight W: f32[17,5,5]
output Y[o,y=16,x=16] = sum[r,s](X[y+r,x+s] * W[o,r,s])
)"},
    {"conv_group", R"(
input  X: f32[3,4,11,13]
weight W: f32[3,5,4,3,3]
output Y[g,o,y=11,x=13] = sum[c,r,s](padded(X[g,c,y+r-1,x+s-1], 0) * W[g,o,c,r,s])
)"},
    {"conv_nhwc", R"(
input  X: f32[9,10,6]
weight W: f32[3,3,6,20]
output Y[y=9,x=10,o] = sum[r,s,c](padded(X[y+r-1,x+s-1,c], 0) * W[r,s,c,o])
)"},
    {"conv_prologue", R"(
input  X: f32[5,12,12]
weight W: f32[7,5,3,3]
P[c,y,x] = relu(X[c,y,x])
output Y[o,y=12,x=12] = sum[c,r,s](padded(P[c, y+r-1, x+s-1], 0) * W[o,c,r,s])
)"},
    {"conv_s2", R"(
input  X: f32[2,5,17,15]
weight W: f32[7,5,3,3]
weight b: f32[7]
input R: f32[2,7,9,8]
T[n,o,y=9,x=8] = sum[c,r,s](padded(X[n,c, 2*y+r-1, 2*x+s-1], 0) * W[o,c,r,s])
output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o] + R[n,o,y,x])
)"},
    {"conv_s3d2", R"(
input  X: f32[4,23,31]
weight W: f32[9,4,3,2]
output Y[o,y=7,x=10] = sum[c,r,s](padded(X[c, 3*y+2*r-1, 3*x+2*s-2], 0) * W[o,c,r,s])
)"},
    {"f16", R"(
input  X: f16[13,70]
weight W: f16[70,35]
weight b: f16[35]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = relu(T[m,n] + b[n])
)"},
    {"f64", R"(
input  X: f64[13,70]
weight W: f64[70,35]
output Y[m,n] = sum[k](X[m,k] * W[k,n])
)"},
    {"gemm_prime", R"(
input  X: f32[37,41]
weight W: f32[41,53]
input b: f32[53]
input R: f32[37,53]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = relu(T[m,n] + b[n] + R[m,n])
)"},
    {"gemm_transa", R"(
input  X: f32[131,29]
input  W: f32[131,19]
output Y[m,n] = sum[k](X[k,m] * W[k,n])
)"},
    {"gemm_transb", R"(
input  X: f32[29,130]
input  W: f32[67,130]
output Y[m,n] = sum[k](X[m,k] * W[n,k])
)"},
    {"gemm_two_out", R"(
input  X: f32[13,17]
input  W: f32[17,33]
output T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = tanh(T[m,n])
Z[m,n] = Y[m,n] * T[m,n]
output U[m,n] = Z[m,n] + 1
)"},
    {"gemv", R"(
input  X: f32[100]
weight W: f32[37,100]
weight b: f32[37]
T[n] = sum[k](X[k] * W[n,k])
output Y[n] = T[n] + b[n]
)"},
    {"gemv2", R"(
input  X: f32[300]
input W: f32[300,77]
output Y[n] = sum[k](X[k] * W[k,n])
)"},
    {"i8", R"(
input  X: i8[13,70]
weight W: i8[70,35]
output Y[m,n] = sum[k](X[m,k] * W[k,n])
)"},
    {"perm", R"(
input  X: f32[13,30]
weight W: f32[30,35]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[n,m] = relu(T[m,n])
)"},
    {"same", R"(
input  X: f32[20,30]
output Y[m,n] = sum[k](X[m,k] * X[n,k])
)"},
    {"tensordot", R"(
input  X: f32[7,4,6]
input  W: f32[6,9,4]
output Y[m,n] = sum[i,j](X[m,i,j] * W[j,n,i])
)"},
    {"vnm", R"(
input  X: f32[40,7]
input  W: f32[40,3,9]
output Y[m,a,b] = sum[k](X[k,m] * W[k,a,b])
)"},
};

const NamedText kDeclined[] = {
    {"reduction of one operand", R"(
input X: f32[8,16]
output Y[m] = sum[k](X[m,k])
)"},
    {"maximum of products", R"(
input X: f32[8,16]
input W: f32[16,9]
output Y[m,n] = max[k](X[m,k] * W[k,n])
)"},
    {"sum of sums", R"(
input X: f32[8,16]
input W: f32[16,9]
output Y[m,n] = sum[k](X[m,k] + W[k,n])
)"},
    {"depthwise, channels last", R"(
input X: f32[9,9,8]
weight W: f32[3,3,8]
output Y[y=7,x=7,c] = sum[r,s](X[y+r,x+s,c] * W[r,s,c])
)"},
    {"two reductions", R"(
input X: f32[8,16]
input W: f32[16,9]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m] = sum[n](T[m,n])
)"},
    {"later stage shifts the result", R"(
input X: f32[8,16]
input W: f32[16,9]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n=8] = T[m,n+1] + T[m,n]
)"},
};

std::vector<Workload> All() {
  std::vector<Workload> workloads;
  for (const NamedText& named : kWorkloads) workloads.push_back(Parse(named));
  return workloads;
}

test::DifferentialOptions Options(int paths, std::uint64_t seed) {
  test::DifferentialOptions options;
  options.sketch = "contraction";
  options.paths_per_sketch = paths;
  options.seed = seed;
  return options;
}

TEST(Contraction, RandomSchedulesOfAwkwardShapesAgreeWithTheInterpreter) {
  EXPECT_THAT(test::DifferentialTest(All(), test::TestTarget(64), Options(5, 11)),
              testing::IsEmpty());
}

TEST(Contraction, NarrowVectorsAndFewRegisters) {
  Target target = test::TestTarget(32);
  target.vector_registers = 16;
  EXPECT_THAT(test::DifferentialTest(All(), target, Options(2, 12)), testing::IsEmpty());
}

TEST(Contraction, ParallelLoopsShareNoScratch) {
  Target target = test::TestTarget(64);
  target.threads = 2;
  EXPECT_THAT(test::DifferentialTest(All(), target, Options(2, 13)), testing::IsEmpty());
}

TEST(Contraction, EveryPathLowersToAProgramThatHoldsItsPromises) {
  for (const Workload& workload : All()) {
    const auto sketch = MakeContractionSketch(workload, test::TestTarget(64));
    ASSERT_NE(sketch, nullptr) << workload.name;
    Random random(5);
    for (int i = 0; i < 40; ++i) {
      Path path;
      while (const auto decision = sketch->Next(path)) {
        ASSERT_FALSE(decision->options.empty());
        const auto at = random.Below(decision->options.size());
        path.push_back({decision->name, decision->options[at],
                        decision->labels.empty() ? "" : decision->labels[at]});
      }
      const auto program = sketch->Lower(path);
      ASSERT_TRUE(program.has_value()) << workload.name;
      const auto checked = CheckProgram(*program);
      EXPECT_TRUE(checked.has_value()) << workload.name << ": " << checked.error().message;
    }
  }
}

TEST(Contraction, OffersTheCompilersOfTheTargetOnly) {
  Target target = test::TestTarget(64);
  const auto asks_for_compiler = [&target] {
    const auto sketch = MakeContractionSketch(Parse(kWorkloads[0]), target);
    Path path;
    while (const auto decision = sketch->Next(path)) {
      if (decision->name == "compiler") return true;
      path.push_back({decision->name, decision->options[0],
                      decision->labels.empty() ? "" : decision->labels[0]});
    }
    return false;
  };
  target.compilers = {"gcc"};
  EXPECT_FALSE(asks_for_compiler());
  target.compilers = {"gcc", "clang"};
  EXPECT_TRUE(asks_for_compiler());
}

TEST(Contraction, IncompletePathIsAnError) {
  const auto sketch = MakeContractionSketch(Parse(kWorkloads[0]), test::TestTarget(64));
  ASSERT_NE(sketch, nullptr);
  EXPECT_FALSE(sketch->Lower({}).has_value());
}

TEST(Contraction, DeclinesWhatItCannotLower) {
  for (const NamedText& named : kDeclined)
    EXPECT_EQ(MakeContractionSketch(Parse(named), test::TestTarget(64)), nullptr) << named.name;
}

}  // namespace
}  // namespace kindred
