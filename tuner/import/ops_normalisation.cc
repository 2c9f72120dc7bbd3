// Normalisations: of batches, layers, instances and groups, by norms, and LRN.
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/ops.h"
#include "tuner/import/rows.h"

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

// All axes from `axis` on.
std::vector<std::int64_t> Trailing(std::int64_t axis, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
  return axes;
}

// Mean and variance of each row.
struct Moments {
  int mean = -1, variance = -1;
};

Moments EmitMoments(OpContext& op, const Rows& rows) {
  const DataType type = op.graph.values[static_cast<std::size_t>(rows.value)].type;
  Moments moments;
  moments.mean = EmitMean(op, rows, "mean", [&](const Exprs& at, const Exprs&) {
    return LoadExpr(rows.value, at, type);
  });
  moments.variance = EmitMean(op, rows, "variance", [&](const Exprs& at, const Exprs& row) {
    const ExprPtr centred = LoadExpr(rows.value, at, type) - op.Load(moments.mean, row);
    return centred * centred;
  });
  return moments;
}

// (x - mean) / sqrt(variance + epsilon)
ExprPtr Normalised(const OpContext& op, const Rows& rows, const Moments& moments, const Exprs& at,
                   const Exprs& row, double epsilon) {
  const DataType type = op.graph.values[static_cast<std::size_t>(rows.value)].type;
  const ExprPtr variance = op.Load(moments.variance, row);
  return (LoadExpr(rows.value, at, type) - op.Load(moments.mean, row)) /
         UnaryExpr(Op::kSqrt, variance + Literal(epsilon, variance->type));
}

Result<void> LayerNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  op.Ignore("stash_type");
  const Shape whole = op.InShape(0);
  if (whole.empty()) return Unsupported("a scalar");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -1), whole.size()));
  const DataType type = op.InValue(0).type;
  const Shape row(whole.begin() + axis, whole.end());
  KINDRED_CHECK(CheckBroadcasts(op, 1, row));
  KINDRED_CHECK(CheckBroadcasts(op, 2, row));
  const Rows rows = MakeRows(op, op.In(0), Trailing(axis, whole.size()));
  const Moments moments = EmitMoments(op, rows);
  Stage stage = MakeStage(op.Out(0, type, whole), whole);
  const Exprs axes = AxesOf(stage);
  stage.body =
      Normalised(op, rows, moments, axes, Exprs(axes.begin(), axes.begin() + axis), epsilon) *
      op.Broadcast(op.In(1), stage);
  if (op.Has(2)) stage.body = stage.body + op.Broadcast(op.In(2), stage);
  op.Emit(std::move(stage));
  if (op.Wants(1)) op.View(1, moments.mean, rows.Kept());
  if (!op.Wants(2)) return {};
  const DataType wide = DefaultAccumulator(type);
  const int deviation = op.Temp("deviation", wide, rows.out);
  EmitRows(op, rows, deviation, [&](const Exprs& at) {
    return Literal(1, wide) /
           UnaryExpr(Op::kSqrt, op.Load(moments.variance, at) + Literal(epsilon, wide));
  });
  op.View(2, deviation, rows.Kept());
  return {};
}

// x / sqrt(mean of squares + epsilon) * scale
Result<void> RmsNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  op.Ignore("stash_type");
  const Shape whole = op.InShape(0);
  if (whole.empty()) return Unsupported("a scalar");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -1), whole.size()));
  const DataType type = op.InValue(0).type;
  KINDRED_CHECK(CheckBroadcasts(op, 1, whole));
  const Rows rows = MakeRows(op, op.In(0), Trailing(axis, whole.size()));
  const int mean = EmitMean(op, rows, "squares", [&](const Exprs& at, const Exprs&) {
    const ExprPtr x = LoadExpr(op.In(0), at, type);
    return x * x;
  });
  Stage stage = MakeStage(op.Out(0, type, whole), whole);
  const Exprs axes = AxesOf(stage);
  const ExprPtr square = op.Load(mean, Exprs(axes.begin(), axes.begin() + axis));
  stage.body = LoadExpr(op.In(0), axes, type) /
               UnaryExpr(Op::kSqrt, square + Literal(epsilon, square->type)) *
               op.Broadcast(op.In(1), stage);
  op.Emit(std::move(stage));
  return {};
}

Result<void> InstanceNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  const Shape shape = op.InShape(0);
  if (shape.size() < 3) return Unsupported("an input of shape " + ShapeText(shape));
  const DataType type = op.InValue(0).type;
  for (int i = 1; i < 3; ++i) KINDRED_CHECK(CheckShape(op, i, {shape[1]}));
  const Rows rows = MakeRows(op, op.In(0), Trailing(2, shape.size()));
  const Moments moments = EmitMoments(op, rows);
  EmitElements(op, rows, op.Out(0, type, shape), [&](const Exprs& at, const Exprs& row) {
    return Normalised(op, rows, moments, at, row, epsilon) * op.Load(op.In(1), {at[1]}) +
           op.Load(op.In(2), {at[1]});
  });
  return {};
}

// Groups of channels become a dimension of their own; the output is a view. Scale and bias are
// those of the groups in operator set 18, of the channels since.
Result<void> GroupNormalization(OpContext& op) {
  const double epsilon = op.Float("epsilon", 1e-5);
  const std::int64_t groups = op.Int("num_groups", 0);
  op.Ignore("stash_type");
  const Shape shape = op.InShape(0);
  if (shape.size() < 2) return Unsupported("an input of shape " + ShapeText(shape));
  if (groups < 1 || shape[1] % groups != 0)
    return BadInput(fmt::format("{}: {} makes {} groups of {} channels", op.model.path,
                                op.node.Label(), groups, shape[1]));
  const bool by_group = op.opset() < 21;
  for (int i = 1; i < 3; ++i) KINDRED_CHECK(CheckShape(op, i, {by_group ? groups : shape[1]}));
  const DataType type = op.InValue(0).type;
  const std::int64_t channels = shape[1] / groups;
  const Shape parts = {shape[0], groups, channels,
                       ElementCount(Shape(shape.begin() + 2, shape.end()))};
  const auto factor = [&](int input) {
    return by_group ? op.In(input) : op.ViewOf(op.In(input), {groups, channels});
  };
  const int x = op.ViewOf(op.In(0), parts), scale = factor(1), bias = factor(2);
  const Rows rows = MakeRows(op, x, {2, 3});
  const Moments moments = EmitMoments(op, rows);
  const int result = op.Temp("groups", type, parts);
  EmitElements(op, rows, result, [&](const Exprs& at, const Exprs& row) {
    const Exprs place = by_group ? Exprs{at[1]} : Exprs{at[1], at[2]};
    return Normalised(op, rows, moments, at, row, epsilon) * op.Load(scale, place) +
           op.Load(bias, place);
  });
  op.View(0, result, shape);
  return {};
}

// (x - mean) / (sqrt(variance) + 1e-9)
Result<void> MeanVarianceNormalization(OpContext& op) {
  constexpr double kEpsilon = 1e-9;
  const Shape shape = op.InShape(0);
  KINDRED_TRY(const auto axes,
              NormaliseAxes(op, op.Ints("axes").value_or(Shape{0, 2, 3}), shape.size()));
  const DataType type = op.InValue(0).type;
  const Rows rows = MakeRows(op, op.In(0), axes);
  const Moments moments = EmitMoments(op, rows);
  EmitElements(op, rows, op.Out(0, type, shape), [&](const Exprs& at, const Exprs& row) {
    const ExprPtr deviation = UnaryExpr(Op::kSqrt, op.Load(moments.variance, row));
    return (LoadExpr(op.In(0), at, type) - op.Load(moments.mean, row)) /
           (deviation + Literal(kEpsilon, deviation->type));
  });
  return {};
}

// x / norm of its row; a row of zeros stays.
Result<void> LpNormalization(OpContext& op) {
  const std::int64_t p = op.Int("p", 2);
  if (p != 1 && p != 2) return Unsupported("a norm of order " + std::to_string(p));
  const Shape shape = op.InShape(0);
  if (shape.empty()) return Unsupported("a scalar");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -1), shape.size()));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const Rows rows = MakeRows(op, op.In(0), {axis});
  const int sum = op.Temp("sum", wide, rows.out);
  EmitReduction(op, rows, sum, Combiner::kSum, wide, [&](const Exprs& at, const Exprs&) {
    const ExprPtr x = LoadExpr(op.In(0), at, type);
    return p == 1 ? UnaryExpr(Op::kAbs, x) : x * x;
  });
  const int norm = op.Temp("norm", wide, rows.out);
  EmitRows(op, rows, norm, [&](const Exprs& at) {
    const ExprPtr x = op.Load(sum, at);
    const ExprPtr root = p == 1 ? x : UnaryExpr(Op::kSqrt, x);
    return SelectExpr(BinaryExpr(Op::kEqual, x, Literal(0, wide)), Literal(1, wide), root);
  });
  EmitElements(op, rows, op.Out(0, type, shape), [&](const Exprs& at, const Exprs& row) {
    return LoadExpr(op.In(0), at, type) / op.Load(norm, row);
  });
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
  table["GroupNormalization"] = GroupNormalization;
  table["RMSNormalization"] = RmsNormalization;
  table["MeanVarianceNormalization"] = MeanVarianceNormalization;
  table["LpNormalization"] = LpNormalization;
  table["LRN"] = Lrn;
}

}  // namespace kindred
