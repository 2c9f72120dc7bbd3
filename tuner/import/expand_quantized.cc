// Quantised operators as operators on floats between DequantizeLinear and QuantizeLinear. Where
// those meet a contraction they make it one of integers (quantized.h).
//
// Operands of theirs are three inputs: integers, scale, zero point ("" for none).
#include <fmt/format.h>

#include "tuner/import/expand.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

Result<std::string> Dequantize(Expander& e, int input, std::int64_t axis = 1) {
  return e.Add("DequantizeLinear", {e.In(input), e.In(input + 1), e.In(input + 2)},
               {{"axis", IntAttribute(axis)}});
}

// Output 0, of the type of input `first`, with scale and zero point as inputs `scale` and `scale` +
// 1.
Result<void> Quantize(Expander& e, const std::string& x, int scale, int first = 0) {
  // Without a zero point QuantizeLinear gives u8.
  if (e.In(scale + 1).empty() && e.ValueOf(e.In(first)).type != DataType::kU8)
    return Unsupported("its result has no zero point, which would tell its type");
  return e.AddOut(0, "QuantizeLinear", {x, e.In(scale), e.In(scale + 1)});
}

// The node's attributes of these names, as they are.
Attributes Keep(Expander& e, std::initializer_list<const char*> names) {
  Attributes kept;
  for (const char* name : names) {
    e.op.Ignore(name);
    const auto found = e.op.node.attributes.find(name);
    if (found != e.op.node.attributes.end()) kept.insert(*found);
  }
  return kept;
}

Result<void> Require(const Expander& e, std::initializer_list<int> inputs) {
  for (const int i : inputs)
    if (e.In(i).empty()) return Unsupported(fmt::format("its input {} is not there", i + 1));
  return {};
}

// Dimension of an operand that a scale with several elements lies along; 1 where it has one.
std::int64_t LastAxis(const Expander& e, int input, std::size_t from_end) {
  const std::size_t rank = e.ShapeOf(e.In(input)).size();
  return rank < from_end ? 0 : static_cast<std::int64_t>(rank - from_end);
}

Result<void> QLinearConv(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 3, 4, 6}));
  const Attributes attributes =
      Keep(e, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  if (e.op.Int("channels_last", 0) != 0) return Unsupported("channels_last");
  KINDRED_TRY(const auto x, Dequantize(e, 0));
  KINDRED_TRY(const auto w, Dequantize(e, 3, 0));
  std::vector<std::string> inputs = {x, w};
  if (!e.In(8).empty()) {
    KINDRED_TRY(const auto scale, e.Add("Mul", {e.In(1), e.In(4)}));
    KINDRED_TRY(const auto bias,
                e.Add("DequantizeLinear", {e.In(8), scale}, {{"axis", IntAttribute(0)}}));
    inputs.push_back(bias);
  }
  KINDRED_TRY(const auto y, e.Add("Conv", inputs, attributes));
  return Quantize(e, y, 6);
}

Result<void> QLinearMatMul(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 3, 4, 6}));
  KINDRED_TRY(const auto a, Dequantize(e, 0, LastAxis(e, 0, 2)));
  KINDRED_TRY(const auto b, Dequantize(e, 3, LastAxis(e, 3, 1)));
  KINDRED_TRY(const auto y, e.Add("MatMul", {a, b}));
  return Quantize(e, y, 6);
}

Result<void> QGemm(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 3, 4}));
  const double alpha = e.op.Float("alpha", 1);
  const bool turn_a = e.op.Int("transA", 0) != 0, turn_b = e.op.Int("transB", 0) != 0;
  KINDRED_TRY(const auto a, Dequantize(e, 0, turn_a ? 1 : 0));
  KINDRED_TRY(const auto b, Dequantize(e, 3, turn_b ? 0 : 1));
  std::vector<std::string> inputs = {a, b};
  if (!e.In(6).empty()) {
    KINDRED_TRY(auto scale, e.Add("Mul", {e.In(1), e.In(4)}));
    if (alpha != 1) {
      KINDRED_TRY(scale, e.Add("Mul", {scale, e.Number(alpha)}));
    }
    const auto axis = static_cast<std::int64_t>(e.ShapeOf(e.In(6)).size()) - 1;
    KINDRED_TRY(const auto bias,
                e.Add("DequantizeLinear", {e.In(6), scale}, {{"axis", IntAttribute(axis)}}));
    inputs.push_back(bias);
  }
  Attributes attributes = Keep(e, {"alpha", "transA", "transB"});
  if (e.In(7).empty()) return e.AddOut(0, "Gemm", inputs, attributes);
  KINDRED_TRY(const auto y, e.Add("Gemm", inputs, attributes));
  return Quantize(e, y, 7);
}

// a_scale and b_scale are inputs 2 and 3, the zero points 4 and 5, a bias 6.
Result<void> MatMulIntegerToFloat(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 2, 3}));
  const auto operand = [&](int input, std::size_t from_end) {
    return e.Add("DequantizeLinear", {e.In(input), e.In(input + 2), e.In(input + 4)},
                 {{"axis", IntAttribute(LastAxis(e, input, from_end))}});
  };
  KINDRED_TRY(const auto a, operand(0, 2));
  KINDRED_TRY(const auto b, operand(1, 1));
  if (e.In(6).empty()) return e.AddOut(0, "MatMul", {a, b});
  KINDRED_TRY(const auto y, e.Add("MatMul", {a, b}));
  return e.AddOut(0, "Add", {y, e.In(6)});
}

// b, its scale and its zero point are inputs 1 to 3, a bias 4.
Result<void> DynamicQuantizeMatMul(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 2}));
  KINDRED_TRY(const auto quantized, e.AddMany("DynamicQuantizeLinear", {e.In(0)}, 3));
  KINDRED_TRY(const auto a, e.Add("DequantizeLinear", quantized));
  KINDRED_TRY(const auto b, Dequantize(e, 1, LastAxis(e, 1, 1)));
  if (e.In(4).empty()) return e.AddOut(0, "MatMul", {a, b});
  KINDRED_TRY(const auto y, e.Add("MatMul", {a, b}));
  return e.AddOut(0, "Add", {y, e.In(4)});
}

template <bool kProduct>
Result<void> QLinearBinary(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 3, 4, 6}));
  KINDRED_TRY(const auto a, Dequantize(e, 0));
  KINDRED_TRY(const auto b, Dequantize(e, 3));
  KINDRED_TRY(const auto y, e.Add(kProduct ? "Mul" : "Add", {a, b}));
  return Quantize(e, y, 6);
}

// Of one operand: its parameters are inputs 1 and 2, the result's 3 and 4.
Result<void> Unary(Expander& e, const char* type, Attributes attributes) {
  KINDRED_CHECK(Require(e, {0, 1, 3}));
  KINDRED_TRY(const auto x, Dequantize(e, 0));
  KINDRED_TRY(const auto y, e.Add(type, {x}, std::move(attributes)));
  return Quantize(e, y, 3);
}

Result<void> QLinearSigmoid(Expander& e) { return Unary(e, "Sigmoid", {}); }

Result<void> QLinearLeakyRelu(Expander& e) { return Unary(e, "LeakyRelu", Keep(e, {"alpha"})); }

Result<void> QLinearSoftmax(Expander& e) {
  // Before operator set 13 a softmax runs over all trailing axes together.
  const std::int64_t axis = e.op.Int("axis", -1), opset = e.op.Int("opset", 0);
  const auto rank = static_cast<std::int64_t>(e.ShapeOf(e.In(0)).size());
  if (opset < 13 && axis != -1 && axis != rank - 1)
    return Unsupported(fmt::format("axis {} as of operator set {}", axis, opset));
  return Unary(e, "Softmax", {{"axis", IntAttribute(axis)}});
}

Result<void> QLinearAveragePool(Expander& e) {
  if (e.op.Int("channels_last", 0) != 0) return Unsupported("channels_last");
  return Unary(
      e, "AveragePool",
      Keep(e, {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
}

Result<void> QLinearGlobalAveragePool(Expander& e) {
  if (e.op.Int("channels_last", 0) != 0) return Unsupported("channels_last");
  return Unary(e, "GlobalAveragePool", {});
}

// The result's parameters are inputs 0 and 1; then operands follow.
Result<void> QLinearConcat(Expander& e) {
  Attributes attributes = Keep(e, {"axis"});
  std::vector<std::string> parts;
  for (int i = 2; i + 2 < e.op.inputs(); i += 3) {
    KINDRED_TRY(const auto part, Dequantize(e, i));
    parts.push_back(part);
  }
  if (parts.empty() || e.op.inputs() % 3 != 2) return Unsupported("an operand is cut off");
  KINDRED_TRY(const auto y, e.Add("Concat", parts, std::move(attributes)));
  return Quantize(e, y, 0, 2);
}

}  // namespace

void AddQuantizedExpansions(ExpansionTable& table) {
  table["QLinearConv"] = QLinearConv;
  table["QLinearMatMul"] = QLinearMatMul;
  table["com.microsoft:QLinearConv"] = QLinearConv;
  table["com.microsoft:QGemm"] = QGemm;
  table["com.microsoft:MatMulIntegerToFloat"] = MatMulIntegerToFloat;
  table["com.microsoft:DynamicQuantizeMatMul"] = DynamicQuantizeMatMul;
  table["com.microsoft:QLinearAdd"] = QLinearBinary<false>;
  table["com.microsoft:QLinearMul"] = QLinearBinary<true>;
  table["com.microsoft:QLinearSigmoid"] = QLinearSigmoid;
  table["com.microsoft:QLinearLeakyRelu"] = QLinearLeakyRelu;
  table["com.microsoft:QLinearSoftmax"] = QLinearSoftmax;
  table["com.microsoft:QLinearAveragePool"] = QLinearAveragePool;
  table["com.microsoft:QLinearGlobalAveragePool"] = QLinearGlobalAveragePool;
  table["com.microsoft:QLinearConcat"] = QLinearConcat;
}

}  // namespace kindred
