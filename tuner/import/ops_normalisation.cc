// BatchNormalization, LayerNormalization, InstanceNormalization, LRN.
#include <algorithm>

#include "tuner/import/ops.h"

namespace kindred {

ExprPtr BatchNormScale(const OpContext& op, const ExprPtr& channel, double epsilon) {
  const ExprPtr variance = op.Load(op.In(4), {channel});
  return op.Load(op.In(1), {channel}) /
         UnaryExpr(Op::kSqrt, variance + Literal(epsilon, variance->type));
}

namespace {

// By vectors computed ahead of time: y = x * factor + offset.
Result<void> BatchNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  op.Ignore("momentum");
  if (op.Int("spatial", 1) == 0) return Unsupported("statistics per element (spatial=0)");
  if (op.Int("training_mode", 0) != 0) return Unsupported("training mode");
  for (int i = 1; i < op.outputs(); ++i)
    if (op.Wants(i)) return Unsupported("its outputs for training are used");
  const Shape shape = op.InShape(0);
  if (shape.size() < 2) return Unsupported("an input of shape " + ShapeText(shape));
  const DataType type = op.InValue(0).type, wide = op.InValue(1).type;
  const Shape channels = {shape[1]};
  for (int i = 1; i < 5; ++i) KINDRED_CHECK(CheckShape(op, i, channels));
  const int factor = op.Temp("factor", wide, channels), offset = op.Temp("offset", wide, channels);
  Stage factors = MakeStage(factor, channels, "c");
  factors.body = BatchNormScale(op, VarExpr(0), epsilon);
  op.Emit(std::move(factors));
  op.NewUnit();
  Stage offsets = MakeStage(offset, channels, "c");
  offsets.body = op.Load(op.In(2), {VarExpr(0)}) -
                 op.Load(op.In(3), {VarExpr(0)}) * op.Load(factor, {VarExpr(0)});
  op.Emit(std::move(offsets));
  op.NewUnit();
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  const Exprs axes = AxesOf(stage);
  stage.body = op.Load(op.In(0), axes) * op.Load(factor, {axes[1]}) + op.Load(offset, {axes[1]});
  op.Emit(std::move(stage));
  return {};
}

// Mean and variance of input 0 over its trailing dimensions from `axis` on, then
// (x - mean) / sqrt(variance + epsilon) * scale + shift, finished by `finish`.
struct Moments {
  Shape shape, rows;
  int mean = -1, variance = -1;
};

Moments EmitMoments(OpContext& op, std::size_t axis) {
  Moments moments;
  moments.shape = op.InShape(0);
  moments.rows =
      Shape(moments.shape.begin(), moments.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const double size = static_cast<double>(ElementCount(moments.shape) /
                                          std::max<std::int64_t>(1, ElementCount(moments.rows)));
  const std::string letters = "ijklmnpq";
  op.kind = UnitKind::kRow;
  const auto reduce = [&](const std::string& name,
                          const std::function<ExprPtr(const Exprs&, const Exprs&)>& body) {
    const int sum = op.Temp(name + "_sum", wide, moments.rows);
    Stage stage = MakeStage(sum, moments.rows, letters.substr(0, axis));
    for (std::size_t d = axis; d < moments.shape.size(); ++d)
      AddReductionAxis(stage, letters.substr(d, 1), moments.shape[d]);
    const Exprs axes = AxesOf(stage);
    stage.body = body(axes, Exprs(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(axis)));
    SetReduction(stage, Combiner::kSum, wide);
    op.Emit(std::move(stage));
    const int value = op.Temp(name, wide, moments.rows);
    Stage divide = MakeStage(value, moments.rows, letters.substr(0, axis));
    divide.body = op.Load(sum, AxesOf(divide)) / Literal(size, wide);
    op.Emit(std::move(divide));
    return value;
  };
  moments.mean =
      reduce("mean", [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
  moments.variance = reduce("variance", [&](const Exprs& at, const Exprs& row) {
    const ExprPtr centred = LoadExpr(op.In(0), at, type) - op.Load(moments.mean, row);
    return centred * centred;
  });
  return moments;
}

ExprPtr Normalised(const OpContext& op, const Moments& moments, const Exprs& axes, double epsilon) {
  const Exprs row(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(moments.rows.size()));
  const ExprPtr variance = op.Load(moments.variance, row);
  return (LoadExpr(op.In(0), axes, op.InValue(0).type) - op.Load(moments.mean, row)) /
         UnaryExpr(Op::kSqrt, variance + Literal(epsilon, variance->type));
}

Result<void> LayerNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  op.Ignore("stash_type");
  for (int i = 1; i < op.outputs(); ++i)
    if (op.Wants(i)) return Unsupported("its outputs Mean or InvStdDev are used");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -1), op.InShape(0).size()));
  const DataType type = op.InValue(0).type;
  const Shape whole = op.InShape(0), row(whole.begin() + axis, whole.end());
  KINDRED_CHECK(CheckBroadcasts(op, 1, row));
  KINDRED_CHECK(CheckBroadcasts(op, 2, row));
  const Moments moments = EmitMoments(op, static_cast<std::size_t>(axis));
  Stage stage = MakeStage(op.Out(0, type, moments.shape), moments.shape);
  const Exprs axes = AxesOf(stage);
  stage.body = Normalised(op, moments, axes, epsilon) * op.Broadcast(op.In(1), stage);
  if (op.Has(2)) stage.body = stage.body + op.Broadcast(op.In(2), stage);
  op.Emit(std::move(stage));
  return {};
}

Result<void> InstanceNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  if (op.InShape(0).size() < 3) return Unsupported("an input of shape " + ShapeText(op.InShape(0)));
  const DataType type = op.InValue(0).type;
  for (int i = 1; i < 3; ++i) KINDRED_CHECK(CheckShape(op, i, {op.InShape(0)[1]}));
  const Moments moments = EmitMoments(op, 2);
  Stage stage = MakeStage(op.Out(0, type, moments.shape), moments.shape);
  const Exprs axes = AxesOf(stage);
  stage.body = Normalised(op, moments, axes, epsilon) * op.Load(op.In(1), {axes[1]}) +
               op.Load(op.In(2), {axes[1]});
  op.Emit(std::move(stage));
  return {};
}

// Y = X / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
Result<void> Lrn(OpContext& op) {
  const double alpha = op.Float("alpha", 1e-4), beta = op.Float("beta", 0.75),
               bias = op.Float("bias", 1);
  const std::int64_t size = op.Int("size", 0);
  const Shape shape = op.InShape(0);
  if (shape.size() < 2 || size < 1) return Unsupported("an input of shape " + ShapeText(shape));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const int sum = op.Temp("squares", wide, shape);
  op.kind = UnitKind::kWindow;
  Stage squares = MakeStage(sum, shape);
  AddReductionAxis(squares, "s", size);
  Exprs at = AxesOf(squares);
  const ExprPtr tap = at.back();
  at.pop_back();
  at[1] = at[1] + tap + (-((size - 1) / 2));
  const ExprPtr x = PaddedExpr(LoadExpr(op.In(0), std::move(at), type), Literal(0, type));
  squares.body = x * x;
  SetReduction(squares, Combiner::kSum, wide);
  op.Emit(std::move(squares));
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  const Exprs axes = AxesOf(stage);
  const ExprPtr base =
      op.Load(sum, axes) * Literal(alpha / static_cast<double>(size), wide) + Literal(bias, wide);
  stage.body =
      CastExpr(wide, op.Load(op.In(0), axes)) / BinaryExpr(Op::kPow, base, Literal(beta, wide));
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddNormalisationOps(LoweringTable& table) {
  table["BatchNormalization"] = BatchNormalization;
  table["LayerNormalization"] = LayerNormalization;
  table["InstanceNormalization"] = InstanceNormalization;
  table["LRN"] = Lrn;
}

}  // namespace kindred
