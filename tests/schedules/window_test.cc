// The window sketch against the interpreter: random schedules, awkward extents, forbidden pages
// around buffers.
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
    {"avgpool", R"(
input  P: f32[5,13,13]
S[c,y=5,x=5] = sum[r=9,s=9](P[c, y+r, x+s])
output Q[c,y,x] = S[c,y,x] / 81
)"},
    {"avgpool_one", R"(
input  P: f32[5,8,13]
S[c,y=1,x=5] = sum[r=8,s=9](P[c, y+r, x+s])
output Q[c,y,x] = S[c,y,x] / 72
)"},
    {"dw_7", R"(
input  X: f32[6,7,7]
weight W: f32[6,5,5]
input R: f32[6,7,7]
T[c,y=7,x=7] = sum[r,s](padded(X[c, y+r-2, x+s-2], 0) * W[c,r,s])
output Y[c,y,x] = T[c,y,x] + R[c,y,x]
)"},
    {"dw_dil", R"(
input  X: f32[3,20,33]
weight W: f32[3,3,3]
output Y[c,y=16,x=29] = sum[r,s](X[c, y+2*r, x+2*s] * W[c,r,s])
)"},
    {"dw_s2", R"(
input  X: f32[5,17,19]
weight W: f32[5,3,3]
weight b: f32[5]
T[c,y=9,x=10] = sum[r,s](padded(X[c, 2*y+r-1, 2*x+s-1], 0) * W[c,r,s])
output Y[c,y,x] = min(max(T[c,y,x] + b[c], 0), 6)
)"},
    {"dwf16", R"(
input  X: f16[5,17,19]
weight W: f16[5,3,3]
output Y[c,y=17,x=19] = sum[r,s](padded(X[c, y+r-1, x+s-1], 0) * W[c,r,s])
)"},
    {"dwi8", R"(
input  X: i8[5,17,19]
weight W: i8[5,3,3]
output Y[c,y=17,x=19] = sum[r,s](padded(X[c, y+r-1, x+s-1], 0) * W[c,r,s])
)"},
    {"lrn", R"(
input  X: f32[2,13,37]
S[n,c=13,p] = sum[i=5](padded(X[n,c+i-2,p],0) * padded(X[n,c+i-2,p],0))
output Y[n,c,p] = X[n,c,p] / pow(1 + 0.0001 * S[n,c,p], 0.75)
)"},
    {"maxi8", R"(
input  X: i8[5,17,19]
output Y[c,y=15,x=17] = max[r=3,s=3](X[c, y+r, x+s])
)"},
    {"maxpool", R"(
input  P: f32[5,29,31]
output Q[c,y=15,x=16] = max[r=3,s=3](padded(P[c, 2*y+r-1, 2*x+s-1], -inf))
)"},
    {"maxpool2", R"(
input  P: f32[5,28,28]
output Q[c,y=14,x=14] = max[r=2,s=2](P[c, 2*y+r, 2*x+s])
)"},
    {"nhwc", R"(
input  X: f32[9,11,21]
weight W: f32[3,3,21]
weight b: f32[21]
T[y=9,x=11,c] = sum[r,s](padded(X[y+r-1,x+s-1,c], 0) * W[r,s,c])
output Y[y,x,c] = relu(T[y,x,c] + b[c])
)"},
    {"nhwc_pool", R"(
input  X: f32[9,11,21]
output Y[y=5,x=6,c] = max[r=3,s=3](padded(X[2*y+r-1,2*x+s-1,c], -inf))
)"},
    {"nhwc_s2", R"(
input  X: f32[9,11,21]
weight W: f32[3,3,21]
output Y[y=5,x=6,c] = sum[r,s](padded(X[2*y+r-1,2*x+s-1,c], 0) * W[r,s,c])
)"},
    {"pool1d", R"(
input  P: f32[5,13]
output Q[c,x=11] = max[s=3](P[c, x+s])
)"},
    {"pool3d", R"(
input  X: f32[3,6,9,10]
output Y[c,z=4,y=7,x=8] = max[q=3,r=3,s=3](X[c,z+q,y+r,x+s])
)"},
    {"x1", R"(
input  P: f32[5,9,3]
output Q[c,y=7,x=1] = max[r=3,s=3](P[c, y+r, x+s])
)"},
};

const NamedText kDeclined[] = {
    {"reduction of rows", R"(
input X: f32[8,16]
output Y[m] = sum[k](X[m,k])
)"},
    {"convolution over channels", R"(
input X: f32[4,9,9]
weight W: f32[5,4,3,3]
output Y[o,y=7,x=7] = sum[c,r,s](X[c,y+r,x+s] * W[o,c,r,s])
)"},
    {"pointwise", R"(
input X: f32[8,16]
output Y[m,n] = relu(X[m,n])
)"},
    {"index of the maximum", R"(
input P: f32[5,13]
output Q[c,x=11] = argmax[s=3](P[c, x+s])
)"},
};

std::vector<Workload> All() {
  std::vector<Workload> workloads;
  for (const NamedText& named : kWorkloads) workloads.push_back(Parse(named));
  return workloads;
}

test::DifferentialOptions Options(int paths, std::uint64_t seed) {
  test::DifferentialOptions options;
  options.sketch = "window";
  options.paths_per_sketch = paths;
  options.seed = seed;
  return options;
}

TEST(Window, RandomSchedulesOfAwkwardShapesAgreeWithTheInterpreter) {
  EXPECT_THAT(test::DifferentialTest(All(), test::TestTarget(64), Options(5, 11)),
              testing::IsEmpty());
}

TEST(Window, NarrowVectorsAndFewRegisters) {
  Target target = test::TestTarget(32);
  target.vector_registers = 16;
  EXPECT_THAT(test::DifferentialTest(All(), target, Options(2, 12)), testing::IsEmpty());
}

TEST(Window, ParallelLoopsShareNoScratch) {
  Target target = test::TestTarget(64);
  target.threads = 2;
  EXPECT_THAT(test::DifferentialTest(All(), target, Options(2, 13)), testing::IsEmpty());
}

TEST(Window, EveryPathLowersToAProgramThatHoldsItsPromises) {
  for (const Workload& workload : All()) {
    const auto sketch = MakeWindowSketch(workload, test::TestTarget(64));
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

TEST(Window, IncompletePathIsAnError) {
  const auto sketch = MakeWindowSketch(Parse(kWorkloads[0]), test::TestTarget(64));
  ASSERT_NE(sketch, nullptr);
  EXPECT_FALSE(sketch->Lower({}).has_value());
}

TEST(Window, DeclinesWhatItCannotLower) {
  for (const NamedText& named : kDeclined)
    EXPECT_EQ(MakeWindowSketch(Parse(named), test::TestTarget(64)), nullptr) << named.name;
}

}  // namespace
}  // namespace kindred
