// Quantisation: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and products of integers.
// (The quantised operators of com.microsoft and QLinearConv are expanded into these:
// expand_quantized.cc.)
#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

bool IsByte(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }
bool IsFloat8(DataType type) { return type == DataType::kF8E4M3 || type == DataType::kF8E5M2; }

// Scale (input 1) and zero point (input 2, -1: none or 0) of input 0.
struct Parameters {
  int scale = -1, zero_point = -1;
  int axis = -1;           // -1: single numbers
  std::int64_t block = 0;  // elements along the axis that share a scale; 0: one scale for each
};

Result<Parameters> ReadParameters(OpContext& op) {
  const Shape x = op.InShape(0), scale = op.InShape(1);
  const std::int64_t axis = op.Int("axis", 1), block = op.Int("block_size", 0);
  if (!IsFloat(op.InValue(1).type)) return Unsupported("a scale of integers");
  if (op.Has(2) && ElementCount(op.InShape(2)) != ElementCount(scale))
    return BadInput(fmt::format("{}: {}: scale {} and zero point {} differ", op.model.path,
                                op.node.Label(), ShapeText(scale), ShapeText(op.InShape(2))));
  Parameters parameters;
  parameters.scale = op.In(1);
  if (op.Has(2) && !IsZero(op.graph, op.In(2))) parameters.zero_point = op.In(2);
  if (ElementCount(scale) == 1) return parameters;
  KINDRED_TRY(const std::int64_t along, NormaliseAxis(op, axis, x.size()));
  parameters.axis = static_cast<int>(along);
  parameters.block = block;
  Shape expected = {x[static_cast<std::size_t>(along)]};
  if (block > 0) {
    expected = x;
    std::int64_t& blocks = expected[static_cast<std::size_t>(along)];
    blocks = (blocks + block - 1) / block;
  }
  if (scale != expected || block < 0)
    return BadInput(fmt::format("{}: {}: a scale of shape {} where {} is needed", op.model.path,
                                op.node.Label(), ShapeText(scale), ShapeText(expected)));
  return parameters;
}

// A scale or zero point for the element at `axes`.
ExprPtr AtPlace(const OpContext& op, int value, const Parameters& parameters, Exprs axes) {
  if (parameters.axis < 0) return LoadSingle(op.graph, value);
  ExprPtr& along = axes[static_cast<std::size_t>(parameters.axis)];
  if (parameters.block > 0) {
    along = along / IntExpr(parameters.block);
  } else {
    axes = {along};
  }
  return LoadExpr(value, std::move(axes), op.graph.values[static_cast<std::size_t>(value)].type);
}

// round(x / scale) + zero_point within `type`. `zero_point`: of floats, null: 0.
ExprPtr Quantized(const ExprPtr& x, const ExprPtr& scale, const ExprPtr& zero_point,
                  DataType type) {
  ExprPtr y = UnaryExpr(Op::kRound, x / scale);
  if (zero_point) y = y + zero_point;
  y = BinaryExpr(Op::kMax, y, Literal(static_cast<double>(IntegerLowest(type)), y->type));
  y = BinaryExpr(Op::kMin, y, Literal(static_cast<double>(IntegerHighest(type)), y->type));
  return CastExpr(type, CastExpr(DataType::kI32, y));
}

// x / scale in a type of 8-bit floats: its largest number instead of more where it saturates.
ExprPtr Narrowed(const ExprPtr& x, const ExprPtr& scale, DataType type, bool saturates) {
  const double most = type == DataType::kF8E4M3 ? 448 : 57344;
  ExprPtr y = x / scale;
  if (saturates) {
    y = BinaryExpr(Op::kMax, y, Literal(-most, y->type));
    y = BinaryExpr(Op::kMin, y, Literal(most, y->type));
  }
  return CastExpr(type, y);
}

// The integers that input 0 stands for, if quantising them as the node does gives them back.
int Source(const OpContext& op, const Parameters& parameters, DataType type) {
  const auto found = op.graph.dequantized.find(op.In(0));
  if (found == op.graph.dequantized.end()) return -1;
  const Dequantized& from = found->second;
  const auto same = [&](int a, int b) {
    if (a == b) return true;
    if (a < 0 || b < 0) return false;
    const GraphValue& x = op.graph.values[static_cast<std::size_t>(a)];
    const GraphValue& y = op.graph.values[static_cast<std::size_t>(b)];
    return x.kind == ValueKind::kKnown && y.kind == ValueKind::kKnown && x.type == y.type &&
           x.constant->elements() == 1 && y.constant->elements() == 1 &&
           x.constant->Number(0) == y.constant->Number(0);
  };
  const bool alike = op.graph.values[static_cast<std::size_t>(from.value)].type == type &&
                     from.axis == parameters.axis && parameters.block == 0 &&
                     same(from.scale, parameters.scale) &&
                     same(from.zero_point, parameters.zero_point);
  return alike ? from.value : -1;
}

Result<void> QuantizeLinear(OpContext& op) {
  const bool saturates = op.Int("saturate", 1) != 0;
  if (op.Int("precision", 0) > 1) return Unsupported("a division in another type than f32");
  const int output = static_cast<int>(op.Int("output_dtype", 0));
  DataType type = DataType::kU8;
  if (const auto named = FromOnnxType(output)) type = *named;
  if (op.Has(2)) type = op.InValue(2).type;
  if ((output != 0 && !FromOnnxType(output)) || !(IsByte(type) || IsFloat8(type)))
    return Unsupported(fmt::format("quantises to {}", output != 0 && !FromOnnxType(output)
                                                          ? OnnxTypeName(output)
                                                          : std::string(Name(type))));
  KINDRED_TRY(const Parameters parameters, ReadParameters(op));
  if (const int source = Source(op, parameters, type); source >= 0) {
    op.View(0, source, op.InShape(0));
    return {};
  }
  const Shape shape = op.InShape(0);
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  const Exprs axes = AxesOf(stage);
  const auto as_float = [](const ExprPtr& e) { return CastExpr(DataType::kF32, e); };
  ExprPtr zero_point;
  if (parameters.zero_point >= 0)
    zero_point = as_float(AtPlace(op, parameters.zero_point, parameters, axes));
  if (IsFloat8(type) && zero_point) return Unsupported("a zero point of floats that is not 0");
  const ExprPtr x = as_float(op.Load(op.In(0), axes));
  const ExprPtr scale = as_float(AtPlace(op, parameters.scale, parameters, axes));
  stage.body =
      IsFloat8(type) ? Narrowed(x, scale, type, saturates) : Quantized(x, scale, zero_point, type);
  op.Emit(std::move(stage));
  return {};
}

Result<void> DequantizeLinear(OpContext& op) {
  const DataType type = op.InValue(0).type, result = op.InValue(1).type;
  op.Ignore("output_dtype");  // the scale's
  if (!IsInteger(type) && !IsFloat8(type))
    return Unsupported(fmt::format("dequantises {}", Name(type)));
  KINDRED_TRY(const Parameters parameters, ReadParameters(op));
  if (IsFloat8(type) && parameters.zero_point >= 0)
    return Unsupported("a zero point of floats that is not 0");
  const Shape shape = op.InShape(0);
  const int out = op.Out(0, result, shape);
  Stage stage = MakeStage(out, shape);
  const Exprs axes = AxesOf(stage);
  ExprPtr x = op.Load(op.In(0), axes);
  if (parameters.zero_point >= 0) x = x - AtPlace(op, parameters.zero_point, parameters, axes);
  const ExprPtr scale = AtPlace(op, parameters.scale, parameters, axes);
  stage.body = CastExpr(DataType::kF32, x) * CastExpr(DataType::kF32, scale);
  op.Emit(std::move(stage));
  if (IsByte(type) && parameters.block == 0)
    op.graph.dequantized[out] = {op.In(0), parameters.scale, parameters.zero_point,
                                 parameters.axis};
  return {};
}

// Scale and zero point such that u8 covers all elements and 0.
Result<void> DynamicQuantizeLinear(OpContext& op) {
  const Shape shape = op.InShape(0);
  const DataType type = DataType::kF32;
  op.kind = UnitKind::kRow;
  const auto extreme = [&](const std::string& name, Combiner combiner) {
    Stage stage = MakeStage(op.Temp(name, type, {}), {});
    for (std::size_t d = 0; d < shape.size(); ++d)
      AddReductionAxis(stage, "i" + std::to_string(d), shape[d]);
    stage.body = op.Load(op.In(0), AxesOf(stage));
    SetReduction(stage, combiner, type);
    const int tensor = stage.tensor;
    op.Emit(std::move(stage));
    return BinaryExpr(combiner == Combiner::kMax ? Op::kMax : Op::kMin, op.Load(tensor, {}),
                      Literal(0, type));
  };
  const ExprPtr high = extreme("max", Combiner::kMax), low = extreme("min", Combiner::kMin);
  const auto output = [&](int index, const std::string& name, DataType of) {
    return op.Wants(index) ? op.Out(index, of, {}) : op.Temp(name, of, {});
  };
  const int scale = output(1, "scale", type), zero_point = output(2, "zero_point", DataType::kU8);
  Stage scales = MakeStage(scale, {});
  const ExprPtr range = high - low;
  scales.body = SelectExpr(BinaryExpr(Op::kEqual, range, Literal(0, type)), Literal(1, type),
                           range / Literal(255, type));
  op.Emit(std::move(scales));
  Stage points = MakeStage(zero_point, {});
  points.body = Quantized(UnaryExpr(Op::kNeg, low), op.Load(scale, {}), nullptr, DataType::kU8);
  op.Emit(std::move(points));
  Stage stage = MakeStage(op.Out(0, DataType::kU8, shape), shape);
  stage.body = Quantized(op.Load(op.In(0), AxesOf(stage)), op.Load(scale, {}),
                         CastExpr(type, op.Load(zero_point, {})), DataType::kU8);
  op.Emit(std::move(stage));
  return {};
}

// Inputs 0 and 1, with zero points as inputs 2 and 3: single numbers, or along an axis.
Result<QuantizedPair> ReadPair(OpContext& op, int a_axis, int b_axis) {
  const auto operand = [&](int input, int axis) -> Result<Dequantized> {
    const Shape shape = op.InShape(input);
    const int point = input + 2;
    Dequantized read{op.In(input), -1, -1, -1};
    if (!op.Has(point) || IsZero(op.graph, op.In(point))) return read;
    read.zero_point = op.In(point);
    if (ElementCount(op.InShape(point)) == 1) return read;
    if (axis < 0 || op.InShape(point) != Shape{shape[static_cast<std::size_t>(axis)]})
      return Unsupported(fmt::format("a zero point of shape {} of an operand of shape {}",
                                     ShapeText(op.InShape(point)), ShapeText(shape)));
    read.axis = axis;
    return read;
  };
  QuantizedPair pair;
  KINDRED_TRY(pair.a, operand(0, a_axis));
  KINDRED_TRY(pair.b, operand(1, b_axis));
  return pair;
}

Result<void> ConvInteger(OpContext& op) {
  if (op.InShape(1).empty()) return Unsupported("a weight without dimensions");
  KINDRED_TRY(const QuantizedPair pair, ReadPair(op, -1, 0));
  return LowerIntegerConv(op, pair);
}

Result<void> MatMulInteger(OpContext& op) {
  const int a = static_cast<int>(op.InShape(0).size()), b = static_cast<int>(op.InShape(1).size());
  KINDRED_TRY(const QuantizedPair pair, ReadPair(op, a < 2 ? -1 : a - 2, b < 2 ? -1 : b - 1));
  return LowerMatMul(op, DataType::kI32, pair);
}

}  // namespace

void AddQuantizedOps(LoweringTable& table) {
  table["QuantizeLinear"] = QuantizeLinear;
  table["DequantizeLinear"] = DequantizeLinear;
  table["com.microsoft:QuantizeLinear"] = QuantizeLinear;
  table["com.microsoft:DequantizeLinear"] = DequantizeLinear;
  table["DynamicQuantizeLinear"] = DynamicQuantizeLinear;
  table["ConvInteger"] = ConvInteger;
  table["MatMulInteger"] = MatMulInteger;
}

}  // namespace kindred
