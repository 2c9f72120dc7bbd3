// The operators of ai.onnx.ml that prepare features: scaling, filling gaps, encoding, choosing.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tuner/import/expand_classical.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

std::int64_t Count(const std::vector<double>& values) {
  return static_cast<std::int64_t>(values.size());
}

// A number per feature, or one for all.
Result<std::string> PerFeature(Expander& e, const std::string& name, const std::string& x) {
  const auto values = e.op.Floats(name).value_or(std::vector<double>());
  const Shape& shape = e.ShapeOf(x);
  if (values.size() != 1 && (shape.empty() || Count(values) != shape.back()))
    return Unsupported(fmt::format("{} values of '{}' for features of shape {}", values.size(),
                                   name, ShapeText(shape)));
  return e.Floats({Count(values)}, values);
}

// (x - offset) * scale
Result<void> Scaler(Expander& e) {
  KINDRED_TRY(const auto offset, PerFeature(e, "offset", e.In(0)));
  KINDRED_TRY(const auto scale, PerFeature(e, "scale", e.In(0)));
  KINDRED_TRY(const auto x, CastTo(e, e.In(0), DataType::kF32));
  KINDRED_TRY(const auto moved, e.Add("Sub", {x, offset}));
  return e.AddOut(0, "Mul", {moved, scale});
}

// Rows whose norm is zero stay as they are.
Result<void> Normalizer(Expander& e) {
  const std::string norm = e.op.Text("norm", "MAX");
  const bool max = norm == "MAX", l1 = norm == "L1";
  if (!max && !l1 && norm != "L2") return Unsupported("norm '" + norm + "'");
  if (e.op.InShape(0).empty()) return Unsupported("its input is a single number");
  KINDRED_TRY(const auto x, CastTo(e, e.In(0), DataType::kF32));
  KINDRED_TRY(const auto size, e.Add(max  ? "ReduceMax"
                                     : l1 ? "ReduceL1"
                                          : "ReduceL2",
                                     {x}, {{"axes", IntsAttribute({-1})}}));
  KINDRED_TRY(const auto none, e.Add("Equal", {size, e.Number(0)}));
  KINDRED_TRY(const auto divisor, e.Add("Where", {none, e.Number(1), size}));
  return e.AddOut(0, "Div", {x, divisor});
}

Result<void> Binarizer(Expander& e) {
  const DataType type = e.op.InValue(0).type;
  const double threshold = e.op.Float("threshold", 0);
  KINDRED_TRY(const auto x, CastTo(e, e.In(0), DefaultAccumulator(type)));
  const bool whole = IsInteger(type);
  // x > t is x > floor(t) for integers.
  const std::string bound =
      whole ? e.Integer(static_cast<std::int64_t>(std::floor(threshold)), e.ValueOf(x).type)
            : e.Number(threshold, e.ValueOf(x).type);
  KINDRED_TRY(const auto above, e.Add("Greater", {x, bound}));
  return e.AddOut(0, "Cast", {above}, {{"to", IntAttribute(ToOnnxType(type))}});
}

// Puts a feature's own value in place of one that stands for "not known".
Result<void> Imputer(Expander& e) {
  const std::string x = e.In(0);
  if (e.op.InShape(0).empty()) return Unsupported("its input is a single number");
  if (IsInteger(e.op.InValue(0).type)) {
    const auto values = e.op.Ints("imputed_value_int64s").value_or(Shape());
    if (e.op.InValue(0).type != DataType::kI64) return Unsupported("integers other than int64");
    if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != e.op.InShape(0).back())
      return Unsupported("values that do not name every feature");
    const std::string missing = e.Integer(e.op.Int("replaced_value_int64", 0), DataType::kI64);
    KINDRED_TRY(const auto is_missing, e.Add("Equal", {x, missing}));
    return e.AddOut(0, "Where", {is_missing, e.Ints(values), x});
  }
  if (e.op.InValue(0).type != DataType::kF32) return Unsupported("floats other than f32");
  KINDRED_TRY(const auto values, PerFeature(e, "imputed_value_floats", x));
  const double missing = e.op.Float("replaced_value_float", 0);
  KINDRED_TRY(const auto is_missing,
              std::isnan(missing) ? e.Add("IsNaN", {x}) : e.Add("Equal", {x, e.Number(missing)}));
  return e.AddOut(0, "Where", {is_missing, values, x});
}

// Elements of the last dimension.
Result<void> ArrayFeatureExtractor(Expander& e) {
  Shape shape = e.op.InShape(0);
  const std::int64_t places = ElementCount(e.op.InShape(1));
  if (shape.empty()) return Unsupported("its input is a single number");
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  KINDRED_TRY(const auto flat, e.Add("Reshape", {e.In(1), e.Ints({places})}));
  KINDRED_TRY(const auto chosen, e.Add("Gather", {e.In(0), flat}, {{"axis", IntAttribute(-1)}}));
  shape.back() = places;
  return e.AddOut(0, "Reshape", {chosen, e.Ints(shape)});
}

// All inputs [n, features] side by side.
Result<void> FeatureVectorizer(Expander& e) {
  const auto widths = e.op.Ints("inputdimensions").value_or(Shape());
  std::vector<std::string> parts;
  for (int i = 0; i < e.op.inputs(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (e.op.InShape(i).size() != 2 || at >= widths.size() || e.op.InShape(i)[1] != widths[at])
      return Unsupported("an input whose width is not the one that inputdimensions names");
    KINDRED_TRY(const auto part, CastTo(e, e.In(i), DataType::kF32));
    parts.push_back(part);
  }
  return e.AddOut(0, "Concat", parts, {{"axis", IntAttribute(1)}});
}

// Ones where an element of x [...] is one of the `keys` [k]: bool [..., k].
Result<std::string> Matches(Expander& e, const std::string& x, const std::string& keys) {
  const auto rank = static_cast<std::int64_t>(e.ShapeOf(x).size());
  KINDRED_TRY(const auto column, e.Add("Unsqueeze", {x, e.Ints({rank})}));
  return e.Add("Equal", {column, keys});
}

// Numbers in an attribute: one kind of list, or a tensor.
Result<std::string> EncoderList(Expander& e, const std::string& what, DataType& type,
                                std::int64_t& count) {
  const auto& attributes = e.op.node.attributes;
  for (const auto* kind : {"strings", "tensor", "int64s", "floats"}) e.op.Ignore(what + "_" + kind);
  if (attributes.contains(what + "_int64s")) {
    const auto values = *e.op.Ints(what + "_int64s");
    type = DataType::kI64;
    count = static_cast<std::int64_t>(values.size());
    return e.Ints(values);
  }
  if (attributes.contains(what + "_floats")) {
    const auto values = *e.op.Floats(what + "_floats");
    if (what == "keys" && std::any_of(values.begin(), values.end(), [](auto x) { return x != x; }))
      return Unsupported("a key that is not a number");
    type = DataType::kF32;
    count = Count(values);
    return e.Floats({count}, values);
  }
  const auto tensor = attributes.find(what + "_tensor");
  if (tensor == attributes.end() || !tensor->second.tensor.data)
    return Unsupported(what + " that are strings");
  type = tensor->second.tensor.data->type;
  count = tensor->second.tensor.data->elements();
  return e.Constant(Reshaped(*tensor->second.tensor.data, {count}));
}

Result<std::string> EncoderDefault(Expander& e, DataType type) {
  constexpr double kFloat = -0.0;
  const auto& attributes = e.op.node.attributes;
  const std::int64_t whole = e.op.Int("default_int64", -1);
  const double number = e.op.Float("default_float", kFloat);
  e.op.Ignore("default_string");
  e.op.Ignore("default_tensor");
  if (const auto given = attributes.find("default_tensor"); given != attributes.end()) {
    if (!given->second.tensor.data) return Unsupported("a default that is a string");
    return e.Constant(Reshaped(*given->second.tensor.data, {}));
  }
  return IsFloat(type) ? e.Number(number, type) : e.Integer(whole, type);
}

// keys[i] becomes values[i] (the first of equal keys), everything else the default.
Result<void> LabelEncoder(Expander& e) {
  DataType key_type = DataType::kI64, type = DataType::kI64;
  std::int64_t keys_given = 0, values_given = 0;
  KINDRED_TRY(const auto keys, EncoderList(e, "keys", key_type, keys_given));
  KINDRED_TRY(const auto values, EncoderList(e, "values", type, values_given));
  KINDRED_TRY(const auto otherwise, EncoderDefault(e, type));
  if (keys_given != values_given || keys_given == 0) return Unsupported("keys without values");
  if (key_type != e.op.InValue(0).type) return Unsupported("keys of another type than its input");
  KINDRED_TRY(const auto hits, Matches(e, e.In(0), keys));
  const auto rank = static_cast<std::int64_t>(e.op.InShape(0).size());
  const Attributes last = {{"keepdims", IntAttribute(0)}};
  KINDRED_TRY(const auto counted, CastTo(e, hits, DataType::kI32));
  KINDRED_TRY(
      const auto place,
      e.Add("ArgMax", {counted}, {{"axis", IntAttribute(rank)}, {"keepdims", IntAttribute(0)}}));
  KINDRED_TRY(const auto value, e.Add("Gather", {values, place}));
  KINDRED_TRY(const auto count, e.Add("ReduceSum", {counted, e.Ints({rank})}, last));
  KINDRED_TRY(const auto found, e.Add("Greater", {count, e.Integer(0, DataType::kI32)}));
  return e.AddOut(0, "Where", {found, value, otherwise});
}

Result<void> OneHotEncoder(Expander& e) {
  const auto categories = e.op.Ints("cats_int64s").value_or(Shape());
  if (e.op.Int("zeros", 1) == 0) return Unsupported("errors for categories that are not known");
  if (categories.empty()) return Unsupported("categories that are strings");
  KINDRED_TRY(const auto x, CastTo(e, e.In(0), DataType::kI64));
  KINDRED_TRY(const auto hits, Matches(e, x, e.Ints(categories)));
  return e.AddOut(0, "Cast", {hits}, {{"to", IntAttribute(ToOnnxType(DataType::kF32))}});
}

}  // namespace

void AddFeatureExpansions(ExpansionTable& table) {
  table["ai.onnx.ml:ArrayFeatureExtractor"] = ArrayFeatureExtractor;
  table["ai.onnx.ml:Binarizer"] = Binarizer;
  table["ai.onnx.ml:FeatureVectorizer"] = FeatureVectorizer;
  table["ai.onnx.ml:Imputer"] = Imputer;
  table["ai.onnx.ml:LabelEncoder"] = LabelEncoder;
  table["ai.onnx.ml:Normalizer"] = Normalizer;
  table["ai.onnx.ml:OneHotEncoder"] = OneHotEncoder;
  table["ai.onnx.ml:Scaler"] = Scaler;
}

}  // namespace kindred
