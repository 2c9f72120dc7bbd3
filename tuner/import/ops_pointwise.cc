// Arithmetic, comparisons, logic, casts and selection.
#include <numeric>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {

Result<void> LowerPointwise(OpContext& op, const std::vector<int>& inputs, DataType type,
                            const std::function<ExprPtr(const Exprs& x)>& body) {
  std::vector<Shape> shapes;
  for (const int id : inputs) shapes.push_back(op.graph.values[static_cast<std::size_t>(id)].shape);
  KINDRED_TRY(const Shape shape, BroadcastShapes(op, shapes));
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  // Arithmetic on scales, the same in every layer but for its numbers.
  const bool single = shape.empty() && IsFloat(type);
  Exprs x;
  for (const int id : inputs)
    x.push_back(single ? LoadSingle(op.graph, id) : op.Broadcast(id, stage));
  stage.body = body(x);
  op.kind = UnitKind::kPointwise;
  op.Emit(std::move(stage));
  return {};
}

namespace {

std::vector<int> AllInputs(const OpContext& op) {
  std::vector<int> ids;
  for (int i = 0; i < op.inputs(); ++i) ids.push_back(op.In(i));
  return ids;
}

template <Op kOp>
Result<void> Binary(OpContext& op) {
  return LowerPointwise(op, AllInputs(op), op.InValue(0).type,
                        [](const Exprs& x) { return BinaryExpr(kOp, x[0], x[1]); });
}

template <Op kOp, bool kSwap = false>
Result<void> Comparison(OpContext& op) {
  return LowerPointwise(op, AllInputs(op), DataType::kBool, [](const Exprs& x) {
    return BinaryExpr(kOp, x[kSwap ? 1 : 0], x[kSwap ? 0 : 1]);
  });
}

template <Op kOp>
Result<void> Unary(OpContext& op) {
  return LowerPointwise(op, {op.In(0)}, op.InValue(0).type,
                        [](const Exprs& x) { return UnaryExpr(kOp, x[0]); });
}

template <Op kOp>
Result<void> Variadic(OpContext& op) {
  return LowerPointwise(op, AllInputs(op), op.InValue(0).type, [](const Exprs& x) {
    ExprPtr result = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) result = BinaryExpr(kOp, result, x[i]);
    return result;
  });
}

Result<void> Mean(OpContext& op) {
  return LowerPointwise(op, AllInputs(op), op.InValue(0).type, [](const Exprs& x) {
    ExprPtr sum = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) sum = sum + x[i];
    return sum / Literal(static_cast<double>(x.size()), sum->type);
  });
}

ExprPtr IsNegative(const ExprPtr& x) { return BinaryExpr(Op::kLess, x, Literal(0, x->type)); }

Result<void> Div(OpContext& op) {
  const bool integer = IsInteger(op.InValue(0).type);
  return LowerPointwise(op, AllInputs(op), op.InValue(0).type, [integer](const Exprs& x) {
    return integer ? TruncatedQuotient(x[0], x[1]) : x[0] / x[1];
  });
}

Result<void> Reciprocal(OpContext& op) {
  return LowerPointwise(op, {op.In(0)}, op.InValue(0).type,
                        [](const Exprs& x) { return Literal(1, x[0]->type) / x[0]; });
}

Result<void> Sign(OpContext& op) {
  return LowerPointwise(op, {op.In(0)}, op.InValue(0).type, [](const Exprs& x) {
    const ExprPtr zero = Literal(0, x[0]->type);
    return SelectExpr(BinaryExpr(Op::kLess, zero, x[0]), Literal(1, x[0]->type),
                      SelectExpr(IsNegative(x[0]), Literal(-1, x[0]->type), zero));
  });
}

Result<void> IsNan(OpContext& op) {
  return LowerPointwise(op, {op.In(0)}, DataType::kBool,
                        [](const Exprs& x) { return BinaryExpr(Op::kNotEqual, x[0], x[0]); });
}

Result<void> Where(OpContext& op) {
  return LowerPointwise(op, AllInputs(op), op.InValue(1).type,
                        [](const Exprs& x) { return SelectExpr(x[0], x[1], x[2]); });
}

// Out of range, with saturation: the nearest number that there is. NaN stays.
ExprPtr Saturated(const ExprPtr& x, double most) {
  const ExprPtr wide = CastExpr(DefaultAccumulator(x->type), x);
  const auto bound = [&](double value) { return Literal(value, wide->type); };
  return SelectExpr(BinaryExpr(Op::kLess, bound(most), wide), bound(most),
                    SelectExpr(BinaryExpr(Op::kLess, wide, bound(-most)), bound(-most), wide));
}

Result<void> CastTo(OpContext& op, DataType type) {
  const bool saturates = op.Int("saturate", 1) != 0;
  op.Ignore("round_mode");  // of casts to float8e8m0
  if (type == op.InValue(0).type) {
    op.View(0, op.In(0), op.InShape(0));
    return {};
  }
  return LowerPointwise(op, {op.In(0)}, type, [&](const Exprs& x) {
    if (type == DataType::kBool) return BinaryExpr(Op::kNotEqual, x[0], Literal(0, x[0]->type));
    const bool floats = IsFloat(x[0]->type);
    if (type == DataType::kF8E4M3 && saturates && floats)
      return CastExpr(type, Saturated(x[0], 448));
    if (type == DataType::kF8E5M2 && saturates && floats)
      return CastExpr(type, Saturated(x[0], 57344));
    return CastExpr(type, x[0]);
  });
}

Result<void> Cast(OpContext& op) {
  const int to = static_cast<int>(op.Int("to", 0));
  const auto type = FromOnnxType(to);
  if (!type)
    return Unsupported(
        fmt::format("casts to {}, which the workload language does not have", OnnxTypeName(to)));
  return CastTo(op, *type);
}

Result<void> CastLike(OpContext& op) { return CastTo(op, op.InValue(1).type); }

}  // namespace

void AddPointwiseOps(LoweringTable& table) {
  table["Add"] = Binary<Op::kAdd>;
  table["Sub"] = Binary<Op::kSub>;
  table["Mul"] = Binary<Op::kMul>;
  table["Div"] = Div;
  table["Sum"] = Variadic<Op::kAdd>;
  table["Max"] = Variadic<Op::kMax>;
  table["Min"] = Variadic<Op::kMin>;
  table["Mean"] = Mean;
  table["Neg"] = Unary<Op::kNeg>;
  table["Abs"] = Unary<Op::kAbs>;
  table["Exp"] = Unary<Op::kExp>;
  table["Log"] = Unary<Op::kLog>;
  table["Sqrt"] = Unary<Op::kSqrt>;
  table["Erf"] = Unary<Op::kErf>;
  table["Sin"] = Unary<Op::kSin>;
  table["Cos"] = Unary<Op::kCos>;
  table["Tan"] = Unary<Op::kTan>;
  table["Floor"] = Unary<Op::kFloor>;
  table["Ceil"] = Unary<Op::kCeil>;
  table["Round"] = Unary<Op::kRound>;
  table["Reciprocal"] = Reciprocal;
  table["Sign"] = Sign;
  table["IsNaN"] = IsNan;
  table["Less"] = Comparison<Op::kLess>;
  table["LessOrEqual"] = Comparison<Op::kLessEqual>;
  table["Greater"] = Comparison<Op::kLess, true>;
  table["GreaterOrEqual"] = Comparison<Op::kLessEqual, true>;
  table["Equal"] = Comparison<Op::kEqual>;
  table["And"] = Comparison<Op::kAnd>;
  table["Or"] = Comparison<Op::kOr>;
  table["Xor"] = Comparison<Op::kNotEqual>;
  table["Not"] = Unary<Op::kNot>;
  table["Where"] = Where;
  table["Cast"] = Cast;
  table["CastLike"] = CastLike;
}

}  // namespace kindred
