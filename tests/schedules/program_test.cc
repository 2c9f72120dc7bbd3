// CheckProgram: each promise of programs, broken once.
#include "schedules/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

ExprPtr Load(int buffer, ExprPtr index) {
  return LoadExpr(buffer, {std::move(index)}, DataType::kF32);
}
ExprPtr Zero() { return FloatExpr(0, DataType::kF32); }

class CheckProgramTest : public testing::Test {
 protected:
  CheckProgramTest() {
    memory_ = program_.AddBuffer({"memory", DataType::kF32, 64, Scope::kArgument, 0, ""});
    registers_ = program_.AddBuffer({"registers", DataType::kF32, 64, Scope::kRegister, -1, ""});
    i_ = program_.AddVar("i");
    v_ = program_.AddVar("v");
  }
  std::string Complaint(StmtPtr body) {
    program_.body = std::move(body);
    const auto checked = CheckProgram(program_);
    return checked ? "" : checked.error().message;
  }
  Program program_;
  int memory_ = 0, registers_ = 0, i_ = 0, v_ = 0;
};

TEST_F(CheckProgramTest, AcceptsVectorsInRegisters) {
  EXPECT_EQ(Complaint(For(i_, IntExpr(4), LoopKind::kUnrolled,
                          For(v_, IntExpr(16), LoopKind::kVectorized,
                              Store(registers_, VarExpr(i_) * 16 + VarExpr(v_), Zero())))),
            "");
}

TEST_F(CheckProgramTest, VariablesMustBeDefined) {
  EXPECT_THAT(Complaint(Store(memory_, VarExpr(i_), Zero())), testing::HasSubstr("not defined"));
  EXPECT_THAT(
      Complaint(Block({For(i_, IntExpr(4), LoopKind::kSerial, Store(memory_, VarExpr(i_), Zero())),
                       Store(memory_, IntExpr(0), Load(memory_, VarExpr(i_)))})),
      testing::HasSubstr("not defined"));
}

TEST_F(CheckProgramTest, VariablesAreDefinedOnce) {
  EXPECT_THAT(
      Complaint(For(i_, IntExpr(2), LoopKind::kSerial,
                    For(i_, IntExpr(2), LoopKind::kSerial, Store(memory_, IntExpr(0), Zero())))),
      testing::HasSubstr("twice"));
}

TEST_F(CheckProgramTest, RegisterIndicesAreConstant) {
  EXPECT_THAT(
      Complaint(For(i_, IntExpr(4), LoopKind::kSerial, Store(registers_, VarExpr(i_), Zero()))),
      testing::HasSubstr("not unrolled"));
  EXPECT_THAT(Complaint(For(i_, IntExpr(4), LoopKind::kUnrolled,
                            For(v_, IntExpr(16), LoopKind::kVectorized,
                                Store(registers_, VarExpr(i_) * 8 + VarExpr(v_), Zero())))),
              testing::HasSubstr("multiple of its lanes"));
}

TEST_F(CheckProgramTest, RegistersHaveOneWidth) {
  EXPECT_THAT(
      Complaint(Block(
          {For(v_, IntExpr(16), LoopKind::kVectorized, Store(registers_, VarExpr(v_), Zero())),
           For(v_, IntExpr(8), LoopKind::kVectorized, Store(registers_, VarExpr(v_), Zero()))})),
      testing::HasSubstr("different lanes"));
}

TEST_F(CheckProgramTest, VectorLoopsHoldStoresOnly) {
  EXPECT_THAT(Complaint(For(v_, IntExpr(16), LoopKind::kVectorized,
                            If(BinaryExpr(Op::kLess, VarExpr(v_), IntExpr(3)),
                               Store(memory_, VarExpr(v_), Zero())))),
              testing::HasSubstr("stores only"));
  EXPECT_THAT(
      Complaint(For(v_, IntExpr(12), LoopKind::kVectorized, Store(memory_, VarExpr(v_), Zero()))),
      testing::HasSubstr("power of two"));
}

TEST_F(CheckProgramTest, StackAndUnrollingHaveLimits) {
  EXPECT_THAT(
      Complaint(For(i_, IntExpr(5000), LoopKind::kUnrolled, Store(memory_, IntExpr(0), Zero()))),
      testing::HasSubstr("4096"));
  program_.AddBuffer({"stack", DataType::kF64, 10000, Scope::kStack, -1, ""});
  EXPECT_THAT(Complaint(Store(memory_, IntExpr(0), Zero())), testing::HasSubstr("64 KiB"));
}

TEST_F(CheckProgramTest, CopiesGoToSharedMemory) {
  const int shared = program_.AddBuffer({"tile", DataType::kF32, 64, Scope::kShared, -1, ""});
  const auto copy = [&](int to, const ExprPtr& from, int elements) {
    return For(
        i_, IntExpr(32), LoopKind::kThread,
        Block({CopyAsync(to, IntExpr(0), from, nullptr, elements), CommitCopies(), WaitCopies(0)}));
  };
  const ExprPtr load = LoadExpr(memory_, {IntExpr(0)}, DataType::kF32);
  EXPECT_EQ(Complaint(copy(shared, load, 4)), "");
  EXPECT_THAT(Complaint(copy(memory_, load, 4)), testing::HasSubstr("shared memory"));
  EXPECT_THAT(Complaint(copy(shared, load, 3)), testing::HasSubstr("12 bytes"));
  EXPECT_THAT(Complaint(copy(shared, Zero(), 4)), testing::HasSubstr("of a load"));
  EXPECT_THAT(Complaint(CommitCopies()), testing::HasSubstr("outside of thread loops"));
}

TEST(Program, WorkspaceIsAligned) {
  Program p;
  p.AddBuffer({"a", DataType::kF32, 3, Scope::kWorkspace, -1, ""});
  p.AddBuffer({"b", DataType::kI8, 65, Scope::kWorkspace, -1, ""});
  p.AddBuffer({"c", DataType::kF32, 100, Scope::kStack, -1, ""});
  EXPECT_EQ(p.WorkspaceBytes(), 64 + 128);
}

}  // namespace
}  // namespace kindred
