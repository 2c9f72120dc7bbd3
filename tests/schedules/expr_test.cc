#include "schedules/expr.h"

#include <gtest/gtest.h>

namespace kindred {
namespace {

ExprPtr X(DataType type = DataType::kF32) { return LoadExpr(0, {VarExpr(0)}, type); }

TEST(Expr, FoldsConstantsWithFlooringDivision) {
  EXPECT_TRUE(IsInt(*(IntExpr(-7) / IntExpr(2)), -4));
  EXPECT_TRUE(IsInt(*(IntExpr(-7) % IntExpr(2)), 1));
  EXPECT_TRUE(IsInt(*(IntExpr(7) % IntExpr(-2)), -1));
  EXPECT_EQ((IntExpr(7) / IntExpr(0))->op, Op::kDiv);
  EXPECT_EQ((IntExpr(INT64_MAX) + IntExpr(1))->op, Op::kAdd);
  EXPECT_TRUE(IsInt(*BinaryExpr(Op::kLess, IntExpr(1), IntExpr(2)), 1));
}

TEST(Expr, FoldsTrivialIdentities) {
  const ExprPtr i = VarExpr(0);
  EXPECT_EQ((i + 0).get(), i.get());
  EXPECT_EQ((i * 1).get(), i.get());
  EXPECT_TRUE(IsInt(*(i * 0), 0));
  EXPECT_TRUE(IsInt(*(i % IntExpr(1)), 0));
  EXPECT_TRUE(SameExpr(*(i + 3 + 4), *(i + 7)));
  EXPECT_TRUE(SameExpr(*(IntExpr(3) + i), *(i + 3)));
  EXPECT_TRUE(SameExpr(*(i - IntExpr(3)), *(i + -3)));
  EXPECT_TRUE(SameExpr(*((i * 6) / IntExpr(3)), *(i * 2)));
  // x * 0 of floats is not 0 for infinities.
  EXPECT_EQ((X() * FloatExpr(0, DataType::kF32))->op, Op::kMul);
}

TEST(Expr, WidensNarrowTypesBeforeArithmetic) {
  const ExprPtr product = X(DataType::kF16) * X(DataType::kF16);
  EXPECT_EQ(product->type, DataType::kF32);
  EXPECT_EQ(product->args[0]->op, Op::kCast);
  EXPECT_EQ((X(DataType::kI8) * X(DataType::kU8))->type, DataType::kI32);
  EXPECT_EQ((X(DataType::kF32) + X(DataType::kF64))->type, DataType::kF64);
  EXPECT_EQ((X(DataType::kI32) + VarExpr(0))->type, DataType::kI64);
  EXPECT_EQ(SelectExpr(BinaryExpr(Op::kLess, VarExpr(0), IntExpr(3)), X(DataType::kF16), IntExpr(0))
                ->type,
            DataType::kF16);
}

TEST(Expr, ConstantsTakeTheTypeBesideThem) {
  const ExprPtr sum = X() + IntExpr(1);
  EXPECT_EQ(sum->args[1]->op, Op::kFloat);
  EXPECT_EQ(sum->args[1]->type, DataType::kF32);
  EXPECT_EQ((X() * FloatExpr(0.1, DataType::kF64))->type, DataType::kF32);
  EXPECT_EQ((X() * FloatExpr(0.1, DataType::kF64))->args[1]->number, static_cast<double>(0.1f));
}

TEST(Expr, DropsCastsThatDoNothing) {
  const ExprPtr x = X(DataType::kF16);
  EXPECT_EQ(CastExpr(DataType::kF16, CastExpr(DataType::kF32, x)).get(), x.get());
  const ExprPtr narrowed = CastExpr(DataType::kF32, CastExpr(DataType::kF16, X(DataType::kF32)));
  EXPECT_EQ(narrowed->args[0]->op, Op::kCast);
}

TEST(Expr, AffineFormAndBack) {
  const ExprPtr e = VarExpr(0) * 2 + VarExpr(2) - IntExpr(1);
  const auto affine = AsAffine(*e, 3);
  ASSERT_TRUE(affine);
  EXPECT_EQ(affine->coefficients, (std::vector<std::int64_t>{2, 0, 1}));
  EXPECT_EQ(affine->constant, -1);
  EXPECT_EQ(AsAffine(*FromAffine(*affine), 3), affine);
  EXPECT_FALSE(AsAffine(*(VarExpr(0) * VarExpr(1)), 3));
  EXPECT_FALSE(AsAffine(*(VarExpr(0) / IntExpr(2)), 3));
  EXPECT_FALSE(AsAffine(*(VarExpr(0) * INT64_MAX * 4), 3));
}

TEST(Expr, FoldingAwayDoesNotSubstituteTwice) {
  // v0 + v1 with v0 -> v1, v1 -> 0 is v1: what a sum folds to was substituted already.
  const ExprPtr sum = VarExpr(0) + VarExpr(1);
  const ExprPtr replaced = SubstituteVars(sum, std::vector<ExprPtr>{VarExpr(1), IntExpr(0)});
  EXPECT_TRUE(SameExpr(*replaced, *VarExpr(1)));
}

TEST(Expr, SubstitutesAndSharesWork) {
  // A tree of 2^60 nodes as a DAG of 60: rewriting must not unfold it.
  ExprPtr e = X();
  for (int i = 0; i < 60; ++i) e = e * e;
  const ExprPtr replaced = SubstituteVars(e, std::vector<ExprPtr>{VarExpr(1) + 5});
  EXPECT_NE(replaced.get(), e.get());
}

}  // namespace
}  // namespace kindred
