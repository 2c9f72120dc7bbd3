// Operators whose elements depend on their own position: OneHot, EyeLike, Trilu, ReverseSequence,
// cumulative sums and products.
#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

// A single number, known or not, as i64.
ExprPtr SingleIndex(const OpContext& op, int input) {
  const Exprs first(op.InShape(input).size(), IntExpr(0));
  return CastExpr(DataType::kI64, op.Load(op.In(input), first));
}

Result<void> Trilu(OpContext& op) {
  const bool upper = op.Int("upper", 1) != 0;
  const Shape shape = op.InShape(0);
  if (shape.size() < 2) return Unsupported("its input is no matrix");
  if (op.Has(1) && ElementCount(op.InShape(1)) != 1)
    return Unsupported("a diagonal of shape " + ShapeText(op.InShape(1)));
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  const Exprs axes = AxesOf(stage);
  const ExprPtr diagonal = op.Has(1) ? SingleIndex(op, 1) : IntExpr(0);
  const ExprPtr row = axes[axes.size() - 2] + diagonal, column = axes.back();
  const ExprPtr x = op.Load(op.In(0), axes);
  stage.body = SelectExpr(
      upper ? BinaryExpr(Op::kLessEqual, row, column) : BinaryExpr(Op::kLessEqual, column, row), x,
      Literal(0, x->type));
  op.Emit(std::move(stage));
  return {};
}

Result<void> EyeLike(OpContext& op) {
  const std::int64_t diagonal = op.Int("k", 0), to = op.Int("dtype", op.InValue(0).element_type);
  const auto type = FromOnnxType(static_cast<int>(to));
  if (!type) return Unsupported("a result of " + OnnxTypeName(static_cast<int>(to)));
  const Shape shape = op.InShape(0);
  if (shape.size() != 2) return Unsupported("its input is no matrix");
  Stage stage = MakeStage(op.Out(0, *type, shape), shape);
  const Exprs axes = AxesOf(stage);
  stage.body = SelectExpr(BinaryExpr(Op::kEqual, axes[0] + diagonal, axes[1]), Literal(1, *type),
                          Literal(0, *type));
  op.Emit(std::move(stage));
  return {};
}

// Indices outside [-depth, depth) mark nothing.
Result<void> OneHot(OpContext& op) {
  KINDRED_TRY(const auto depths, op.KnownInts(1, "depth"));
  const Shape places = op.InShape(0);
  if (depths.size() != 1 || depths[0] < 1) return Unsupported("a depth of " + ShapeText(depths));
  if (op.InShape(2) != Shape{2}) return Unsupported("values of shape " + ShapeText(op.InShape(2)));
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -1), places.size() + 1));
  Shape shape = places;
  shape.insert(shape.begin() + axis, depths[0]);
  Stage stage = MakeStage(op.Out(0, op.InValue(2).type, shape), shape);
  Exprs at = AxesOf(stage);
  const ExprPtr mark = at[static_cast<std::size_t>(axis)];
  at.erase(at.begin() + axis);
  const ExprPtr place = CastExpr(DataType::kI64, op.Load(op.In(0), at));
  const ExprPtr hit = BinaryExpr(Op::kOr, BinaryExpr(Op::kEqual, place, mark),
                                 BinaryExpr(Op::kEqual, place + depths[0], mark));
  stage.body = SelectExpr(hit, op.Load(op.In(2), {IntExpr(1)}), op.Load(op.In(2), {IntExpr(0)}));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

// The first elements of each sequence in reverse order, as many as it is long.
Result<void> ReverseSequence(OpContext& op) {
  const std::int64_t batch = op.Int("batch_axis", 1), time = op.Int("time_axis", 0);
  const Shape shape = op.InShape(0);
  if (shape.size() < 2 || batch + time != 1 || batch * time != 0)
    return Unsupported(fmt::format("axes {} and {}", batch, time));
  const std::int64_t steps = shape[static_cast<std::size_t>(time)];
  KINDRED_CHECK(CheckShape(op, 1, {shape[static_cast<std::size_t>(batch)]}));
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  Exprs at = AxesOf(stage);
  const ExprPtr length =
      CastExpr(DataType::kI64,
               LoadExpr(op.In(1), {at[static_cast<std::size_t>(batch)]}, op.InValue(1).type));
  ExprPtr& step = at[static_cast<std::size_t>(time)];
  const ExprPtr mirrored = BinaryExpr(
      Op::kMax, IntExpr(0), BinaryExpr(Op::kMin, length + (-1) - step, IntExpr(steps - 1)));
  step = SelectExpr(BinaryExpr(Op::kLess, step, length), mirrored, step);
  stage.body = op.Load(op.In(0), std::move(at));
  op.kind = UnitKind::kMovement;
  op.UseAsIndex(op.In(1), 0, steps + 1);
  op.Emit(std::move(stage));
  return {};
}

// Without scans each element is computed from all before it: sensible for short rows only.
constexpr std::int64_t kLongestCumulated = 128;

template <Combiner kCombiner>
Result<void> Cumulate(OpContext& op) {
  KINDRED_TRY(const auto axes, op.KnownInts(1, "axes"));
  const bool exclusive = op.Int("exclusive", 0) != 0, reverse = op.Int("reverse", 0) != 0;
  const Shape shape = op.InShape(0);
  if (axes.size() != 1 || shape.empty()) return Unsupported("axes " + ShapeText(axes));
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, axes[0], shape.size()));
  const auto along = static_cast<std::size_t>(axis);
  if (shape[along] > kLongestCumulated)
    return Unsupported(
        fmt::format("{} elements in a row: each depends on the one before, and the workload "
                    "language has no scans",
                    shape[along]));
  const DataType type = op.InValue(0).type;
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  AddReductionAxis(stage, "r", shape[along]);
  Exprs at = AxesOf(stage);
  const ExprPtr other = at.back(), own = at[along];
  at.pop_back();
  at[along] = other;
  const ExprPtr low = reverse ? own : other, high = reverse ? other : own;
  stage.body = SelectExpr(BinaryExpr(exclusive ? Op::kLess : Op::kLessEqual, low, high),
                          LoadExpr(op.In(0), std::move(at), type),
                          Literal(kCombiner == Combiner::kSum ? 0 : 1, type));
  SetReduction(stage, kCombiner, DefaultAccumulator(type));
  op.kind = UnitKind::kRow;
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddIndexOps(LoweringTable& table) {
  table["Trilu"] = Trilu;
  table["EyeLike"] = EyeLike;
  table["OneHot"] = OneHot;
  table["ReverseSequence"] = ReverseSequence;
  table["CumSum"] = Cumulate<Combiner::kSum>;
  table["CumProd"] = Cumulate<Combiner::kProd>;
}

}  // namespace kindred
