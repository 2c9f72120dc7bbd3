#include "tuner/import/quantized.h"

#include <algorithm>

namespace kindred {
namespace {

// The largest distance of a value of `type` from any zero point of that type.
constexpr std::int64_t kWidest = 255;

std::int64_t Largest(DataType type) { return std::max(-IntegerLowest(type), IntegerHighest(type)); }

Shape KeptShape(const Shape& shape, const std::vector<bool>& reduced) {
  Shape kept;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!reduced[d]) kept.push_back(shape[d]);
  return kept;
}

}  // namespace

std::optional<QuantizedPair> FindQuantizedPair(const Graph& graph, int a, std::size_t a_axis, int b,
                                               std::size_t b_axis, std::int64_t depth) {
  const auto find = [&](int value, std::size_t axis) -> const Dequantized* {
    const auto found = graph.dequantized.find(value);
    if (found == graph.dequantized.end()) return nullptr;
    const Dequantized& record = found->second;
    return record.axis < 0 || static_cast<std::size_t>(record.axis) == axis ? &record : nullptr;
  };
  const auto reach = [&](const Dequantized& operand) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(operand.value)];
    return IsZero(graph, operand.zero_point) ? Largest(v.type) : kWidest;
  };
  const Dequantized *left = find(a, a_axis), *right = find(b, b_axis);
  if (left == nullptr || right == nullptr) return std::nullopt;
  if (depth > IntegerHighest(DataType::kI32) / (reach(*left) * reach(*right))) return std::nullopt;
  return QuantizedPair{*left, *right};
}

ExprPtr LoadSingle(const Graph& graph, int value) {
  const GraphValue& v = graph.values[static_cast<std::size_t>(value)];
  return LoadExpr(value, Exprs(v.shape.size(), IntExpr(0)), v.type);
}

bool IsZero(const Graph& graph, int zero_point) {
  if (zero_point < 0) return true;
  const GraphValue& v = graph.values[static_cast<std::size_t>(zero_point)];
  if (v.kind != ValueKind::kKnown || !v.constant) return false;
  const std::int64_t count = v.constant->splat ? 1 : v.constant->elements();
  for (std::int64_t i = 0; i < count; ++i)
    if (v.constant->Integer(i) != 0) return false;
  return true;
}

IntegerProduct::IntegerProduct(OpContext& op, const Dequantized& a,
                               const std::vector<bool>& a_reduced, const Dequantized& b,
                               const std::vector<bool>& b_reduced, bool padded)
    : op_(op) {
  const auto operand = [&](const Dequantized& from, const std::vector<bool>& reduced) {
    const int zero_point = IsZero(op.graph, from.zero_point) ? -1 : from.zero_point;
    return Operand{from.value, from.scale, zero_point, from.axis, -1, -1, reduced};
  };
  a_ = operand(a, a_reduced);
  b_ = operand(b, b_reduced);
  const auto ahead = [&](const Operand& one) {
    return Ahead(one.value) && (one.zero_point < 0 || Ahead(one.zero_point));
  };
  const bool a_ahead = ahead(a_), b_ahead = ahead(b_);
  for (Operand* one : {&a_, &b_}) {
    if (one->zero_point < 0 || !(one == &a_ ? a_ahead : b_ahead)) continue;
    op_.NewUnit();
    op_.kind = UnitKind::kPointwise;
    Centre(*one);
  }
  std::int64_t outside = 0;
  bool correctable = !padded;
  if (padded && a_.zero_point >= 0 && a_.axis < 0 &&
      ValueOf(a_.zero_point).kind == ValueKind::kKnown) {
    outside = ValueOf(a_.zero_point).constant->Integer(0);
    correctable = true;
  }
  const bool correct_a = a_.zero_point >= 0 && b_ahead && correctable;
  const bool correct_b = b_.zero_point >= 0 && a_ahead && !padded && !a_.reduced.empty();
  if (correct_a) Correct(b_, a_);
  if (correct_b) Correct(a_, b_);
  CombineScales();
  op_.NewUnit();
  op_.kind = UnitKind::kContraction;
  if (a_.zero_point >= 0 && !correct_a) Centre(a_);
  if (b_.zero_point >= 0 && !correct_b) Centre(b_);
  padding_ = IntExpr(correct_a ? outside : 0, ValueOf(a_.value).type);
}

bool IntegerProduct::Ahead(int id) const {
  const ValueKind kind = ValueOf(id).kind;
  return kind == ValueKind::kKnown || kind == ValueKind::kWeight || kind == ValueKind::kPrepared;
}

void IntegerProduct::Centre(Operand& operand) {
  const GraphValue from = ValueOf(operand.value), zero = ValueOf(operand.zero_point);
  const bool single = operand.axis < 0;
  // u8 around 128 is i8.
  const bool byte = from.type == DataType::kU8 && single && zero.kind == ValueKind::kKnown &&
                    zero.constant->Integer(0) == 128;
  const int centred = op_.Temp(&operand == &a_ ? "centred" : "centred_weight",
                               byte ? DataType::kI8 : DataType::kI32, from.shape);
  Stage stage = MakeStage(centred, from.shape);
  const Exprs axes = AxesOf(stage);
  const ExprPtr point =
      single
          ? LoadSingle(op_.graph, operand.zero_point)
          : LoadExpr(operand.zero_point, {axes[static_cast<std::size_t>(operand.axis)]}, zero.type);
  stage.body = LoadExpr(operand.value, axes, from.type) - point;
  op_.Emit(std::move(stage));
  operand.value = centred;
  operand.zero_point = -1;
}

void IntegerProduct::Correct(Operand& by, const Operand& other) {
  const GraphValue from = ValueOf(by.value);
  const Shape kept = KeptShape(from.shape, by.reduced);
  by.correction = op_.Temp("zero_point", DataType::kI32, kept);
  Stage stage = MakeStage(by.correction, kept);
  Exprs at;
  int next = 0;
  for (std::size_t d = 0; d < from.shape.size(); ++d) {
    at.push_back(VarExpr(by.reduced[d] ? static_cast<int>(stage.axes.size()) : next++));
    if (by.reduced[d]) AddReductionAxis(stage, "k" + std::to_string(d), from.shape[d]);
  }
  stage.body = CastExpr(DataType::kI32, LoadExpr(by.value, std::move(at), from.type));
  if (Ahead(other.zero_point) && other.axis < 0) {
    stage.body = stage.body * LoadSingle(op_.graph, other.zero_point);
  } else {
    by.factor = other.zero_point;
  }
  SetReduction(stage, Combiner::kSum, DataType::kI32);
  op_.NewUnit();
  op_.kind = UnitKind::kRow;
  op_.Emit(std::move(stage));
}

void IntegerProduct::CombineScales() {
  if (a_.scale < 0 || b_.scale < 0 || !Ahead(a_.scale) || !Ahead(b_.scale)) return;
  if (a_.axis >= 0 && b_.axis >= 0) return;
  Operand& one = a_.axis < 0 ? a_ : b_;
  Operand& other = a_.axis < 0 ? b_ : a_;
  const GraphValue vector = ValueOf(other.scale);
  const int product = op_.Temp("scale", DataType::kF32, vector.shape);
  Stage stage = MakeStage(product, vector.shape);
  stage.body = CastExpr(DataType::kF32, LoadSingle(op_.graph, one.scale)) *
               CastExpr(DataType::kF32, LoadExpr(other.scale, AxesOf(stage), vector.type));
  op_.NewUnit();
  op_.kind = UnitKind::kPointwise;
  op_.Emit(std::move(stage));
  one.scale = -1;
  other.scale = product;
}

void IntegerProduct::ViewB(const Shape& kept) {
  for (int* id : {&b_.scale, &b_.correction})
    if (*id >= 0 && ElementCount(ValueOf(*id).shape) == ElementCount(kept))
      *id = op_.ViewOf(*id, kept);
}

ExprPtr IntegerProduct::LoadTail(int value, const Exprs& at) const {
  const GraphValue& v = ValueOf(value);
  if (ElementCount(v.shape) == 1) return LoadSingle(op_.graph, value);
  return LoadExpr(value, Exprs(at.end() - static_cast<std::ptrdiff_t>(v.shape.size()), at.end()),
                  v.type);
}

ExprPtr IntegerProduct::Finish(ExprPtr sum, const Exprs& a_at, const Exprs& b_at) const {
  const auto subtract = [&](const Operand& by, const Exprs& at, const Exprs& other_at) {
    if (by.correction < 0) return;
    ExprPtr correction = LoadTail(by.correction, at);
    if (by.factor >= 0) correction = correction * LoadTail(by.factor, other_at);
    sum = sum - correction;
  };
  subtract(b_, b_at, a_at);
  subtract(a_, a_at, b_at);
  if (!has_scale()) return sum;
  sum = CastExpr(DataType::kF32, sum);
  if (a_.scale >= 0) sum = sum * CastExpr(DataType::kF32, LoadTail(a_.scale, a_at));
  if (b_.scale >= 0) sum = sum * CastExpr(DataType::kF32, LoadTail(b_.scale, b_at));
  return sum;
}

}  // namespace kindred
