// The CUDA sources that schedules are printed as: their shape, and what CheckProgram rejects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_cuda.h"
#include "schedules/space.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Workload Parse(const std::string& text) {
  auto workload = ParseWorkload(text, "w");
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().message);
  return workload ? Canonicalize(*workload).workload : Workload{};
}

struct Emitted {
  Program program;
  KernelSource source;
};

// The path that takes the given values, else the first option.
Emitted Emit(const Workload& w, const std::string& sketch,
             const std::map<std::string, std::int64_t>& values) {
  const Target target = *NamedCudaTarget("h200");
  const auto space = MakeSpace(w, target);
  Path path;
  while (const auto d = space->Next(path)) {
    std::size_t option = 0;
    for (std::size_t i = 0; i < d->options.size(); ++i) {
      const auto wanted = values.find(d->name);
      if (d->name == "sketch" ? d->labels[i] == sketch
                              : wanted != values.end() && wanted->second == d->options[i])
        option = i;
    }
    path.push_back({d->name, d->options[option], d->labels.empty() ? "" : d->labels[option]});
  }
  auto candidate = space->Lower(path);
  EXPECT_TRUE(candidate.has_value());
  const auto checked = CheckProgram(*candidate->program);
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : checked.error().message);
  return {*candidate->program, EmitCuda(*candidate->program, w)};
}

TEST(EmitCuda, WholeVectorsNeedNoGuards) {
  const Emitted e = Emit(Parse("input X: f32[64,128]\noutput Y[i,j] = X[i,j] * 2\n"), "elementwise",
                         {{"threads", 256}, {"vector", 4}, {"items", 1}});
  ASSERT_EQ(e.source.steps.size(), 1u);
  EXPECT_THAT(e.source.code,
              AllOf(HasSubstr("__launch_bounds__(256)"), HasSubstr("kd_load<4>("),
                    HasSubstr("kd_store("), Not(HasSubstr("if (")), Not(HasSubstr("long long"))));
  const KernelStep& step = e.source.steps[0];
  EXPECT_EQ(GridOf(step, {})[0], 8);
  EXPECT_EQ(step.block, (std::array{256, 1, 1}));
  EXPECT_EQ(step.shared_bytes, 0);
  ASSERT_EQ(step.parameters.size(), 2u);
  EXPECT_EQ(step.parameters[1].value, 1);
}

TEST(EmitCuda, TheLastVectorIsCutOff) {
  const Emitted e = Emit(Parse("input X: f32[4099]\noutput Y[i] = X[i] * 2\n"), "elementwise",
                         {{"threads", 128}, {"vector", 4}, {"items", 2}});
  EXPECT_THAT(e.source.code, AllOf(HasSubstr("kd_load<4>("), HasSubstr("else {")));
  EXPECT_EQ(GridOf(e.source.steps[0], {})[0], 5);
}

// Rows of 67 elements start anywhere; vectors of all points in a row do not.
TEST(EmitCuda, VectorsCrossTheEndsOfRows) {
  const Emitted e =
      Emit(Parse("input X: f32[8,67]\ninput b: f32[8]\noutput Y[i,j] = X[i,j] * b[i]\n"),
           "elementwise", {{"threads", 128}, {"vector", 4}, {"items", 1}});
  EXPECT_THAT(e.source.code, AllOf(HasSubstr("kd_load<4>(tensor0 + "), HasSubstr("kd_store("),
                                   Not(HasSubstr("kd_load<4>(tensor1"))));
}

TEST(EmitCuda, LargeTensorsHaveWideIndices) {
  const Emitted e = Emit(Parse("input X: f32[3,1073741824]\noutput Y[i,j] = X[i,j] * 2\n"),
                         "generic", {{"threads", 256}});
  EXPECT_THAT(e.source.code, HasSubstr("(long long)block * 256"));
}

TEST(EmitCuda, SymbolicExtentsAreParameters) {
  const Emitted e = Emit(Parse("symbol n in 1..4096, likely 128\ninput X: f32[n,8]\n"
                               "output Y[i,j] = X[i,j] * 2\n"),
                         "generic", {{"threads", 128}});
  const KernelStep& step = e.source.steps[0];
  ASSERT_EQ(step.parameters.size(), 3u);
  EXPECT_EQ(step.parameters[2].kind, KernelStep::Parameter::Kind::kExtent);
  EXPECT_THAT(e.source.code, HasSubstr("const long long"));
  const std::int64_t extents[] = {129};
  EXPECT_EQ(GridOf(step, extents)[0], 9);
}

TEST(EmitCuda, TransposesPassThroughSharedMemory) {
  const Emitted e = Emit(Parse("input X: f32[100,70]\noutput Y[i,j] = X[j,i] * 2\n"), "elementwise",
                         {{"threads", 256}, {"tile", 32}});
  EXPECT_THAT(e.source.code, AllOf(HasSubstr("_tile, 0, 1056);"), HasSubstr("kd_syncthreads();")));
  EXPECT_EQ(e.source.steps[0].shared_bytes, 4224);
  EXPECT_EQ(GridOf(e.source.steps[0], {})[0], 3 * 4);
}

// The parts of a concatenation are chosen around the vectors, not in every lane.
TEST(EmitCuda, LanesChooseTogether) {
  const Emitted e = Emit(Parse("input A: f32[2,3,16]\ninput B: f32[2,4,16]\n"
                               "output Y[n,c=7,x] = select(c < 3, A[n,c,x], B[n,c-3,x])\n"),
                         "elementwise", {{"vector", 4}, {"items", 1}});
  EXPECT_THAT(e.source.code, AllOf(HasSubstr("kd_load<4>("), Not(HasSubstr(" ? "))));
}

TEST(EmitCuda, StagesOfOneShapeShareAStep) {
  const Emitted e =
      Emit(Parse("input X: f32[64]\noutput Y[i] = relu(X[i])\noutput Z[i] = Y[i] * Y[i] + X[i]\n"),
           "elementwise", {{"vector", 4}});
  EXPECT_EQ(e.source.steps.size(), 1u);
}

// All sketches, all kinds of workloads: what is lowered keeps the promises of programs.
TEST(EmitCuda, ProgramsOfAllSketchesAreSound) {
  const Target target = *NamedCudaTarget("a100");
  for (const SampleWorkload& sample : SmallWorkloads()) {
    const Workload w = Parse(sample.text);
    const auto space = MakeSpace(w, target);
    for (const Path& path : test::RandomPaths(*space, 8, 1)) {
      const auto candidate = space->Lower(path);
      ASSERT_TRUE(candidate.has_value()) << sample.name << PathToJson(path);
      const auto checked = CheckProgram(*candidate->program);
      EXPECT_TRUE(checked.has_value())
          << sample.name << PathToJson(path) << (checked ? "" : checked.error().message);
      const KernelSource source = EmitCuda(*candidate->program, w);
      EXPECT_FALSE(source.steps.empty()) << sample.name;
      for (const KernelStep& step : source.steps) {
        EXPECT_LE(step.shared_bytes, target.gpu.shared_bytes_per_block) << PathToJson(path);
        EXPECT_LE(step.block[0], target.gpu.threads_per_block);
      }
    }
  }
}

class CheckCudaProgram : public testing::Test {
 protected:
  std::string Complaint(const std::function<StmtPtr(const ExprPtr& thread)>& make) {
    Program p;
    p.name = "p";
    register_ = p.AddBuffer({"r", DataType::kF32, 1, Scope::kRegister, -1, ""});
    const int block = p.AddVar("block"), thread = p.AddVar("thread");
    p.body = For(block, IntExpr(2), LoopKind::kBlock,
                 For(thread, IntExpr(64), LoopKind::kThread,
                     Block({Store(register_, IntExpr(0), FloatExpr(1, DataType::kF32)),
                            make(VarExpr(thread))})));
    const auto checked = CheckProgram(p);
    return checked ? "" : checked.error().message;
  }
  int register_ = -1;
};

TEST_F(CheckCudaProgram, BarriersAreForAllThreads) {
  EXPECT_EQ(Complaint([](const ExprPtr&) { return Barrier(); }), "");
  EXPECT_THAT(Complaint([](const ExprPtr& thread) {
                return If(BinaryExpr(Op::kLess, thread, IntExpr(32)), Barrier());
              }),
              HasSubstr("only some threads"));
}

TEST_F(CheckCudaProgram, CombinationsAreOfWarps) {
  EXPECT_EQ(Complaint([&](const ExprPtr&) {
              return CombineThreads(register_, IntExpr(0), Op::kAdd, 32);
            }),
            "");
  EXPECT_THAT(Complaint([&](const ExprPtr&) {
                return CombineThreads(register_, IntExpr(0), Op::kAdd, 48);
              }),
              HasSubstr("power of two"));
}

TEST_F(CheckCudaProgram, BlockLoopsStandOutside) {
  EXPECT_THAT(
      Complaint([](const ExprPtr&) { return For(0, IntExpr(2), LoopKind::kBlock, Block({})); }),
      HasSubstr("outside"));
}

TEST(NamedCudaTargets, AreKnownByName) {
  EXPECT_FALSE(NamedCudaTarget("gtx280").has_value());
  const auto h200 = NamedCudaTarget("h200");
  ASSERT_TRUE(h200.has_value());
  EXPECT_EQ(h200->gpu.arch, "sm_90a");
  EXPECT_EQ(h200->gpu.shared_bytes_per_block, 232448);
  EXPECT_THAT(KnownCudaTargets(), AllOf(HasSubstr("h200"), HasSubstr("rtx4090")));
}

}  // namespace
}  // namespace kindred
