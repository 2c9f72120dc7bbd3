#include "tuner/import/infer_newer.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace kindred {
namespace {

// Attributes that newer versions added and that change neither types nor shapes.
const std::multimap<std::string_view, std::string_view> kValuesOnly = {
    {"Cast", "saturate"},           {"Cast", "round_mode"},          {"CastLike", "saturate"},
    {"CastLike", "round_mode"},     {"Range", "stash_type"},         {"SpaceToDepth", "mode"},
    {"QuantizeLinear", "saturate"}, {"QuantizeLinear", "precision"}, {"Resize", "antialias"}};

// Attributes that decide about types or shapes in a way that operator set 17 does not know.
const std::multimap<std::string_view, std::string_view> kDecisive = {
    {"AveragePool", "dilations"},
    {"LpPool", "dilations"},
    {"LpPool", "ceil_mode"},
    {"QuantizeLinear", "output_dtype"},
    {"QuantizeLinear", "block_size"},
    {"DequantizeLinear", "output_dtype"},
    {"DequantizeLinear", "block_size"},
    {"Resize", "axes"},
    {"Resize", "keep_aspect_ratio_policy"}};

template <typename Visit>
void VisitListed(const std::multimap<std::string_view, std::string_view>& table,
                 std::string_view op, Visit visit) {
  const auto [first, last] = table.equal_range(op);
  for (auto entry = first; entry != last; ++entry) visit(std::string(entry->second));
}

bool IsReduction(std::string_view op) { return op.starts_with("Reduce") && op != "ReduceSum"; }

std::int64_t IntOf(const OnnxNode& node, const std::string& name, std::int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

bool Given(const std::vector<NodeInput>& inputs, std::size_t i) {
  return i < inputs.size() && !inputs[i].name.empty();
}

// The axes are an input since operator set 18, an attribute before.
bool AxesToAttribute(OlderNode& older) {
  const bool noop = IntOf(older.node, "noop_with_empty_axes", 0) != 0;
  older.node.attributes.erase("noop_with_empty_axes");
  if (!Given(older.inputs, 1)) return !noop;
  const ConstantPtr axes = older.inputs[1].constant;
  if (!axes || (axes->elements() == 0 && noop)) return false;
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kInts;
  for (std::int64_t i = 0; i < axes->elements(); ++i)
    attribute.integers.push_back(axes->Integer(i));
  if (axes->elements() > 0) older.node.attributes["axes"] = std::move(attribute);
  older.inputs.resize(1);
  older.node.inputs.resize(1);
  return true;
}

// Pieces of equal size but the last, where their number does not divide the extent.
bool DividesEvenly(const OlderNode& older) {
  if (Given(older.inputs, 1)) return true;
  if (older.inputs.empty() || !older.inputs[0].has_shape) return false;
  const Shape& shape = older.inputs[0].shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = IntOf(older.node, "axis", 0);
  if (axis < -rank || axis >= rank) return false;
  const std::int64_t extent = shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  return extent % static_cast<std::int64_t>(older.node.outputs.size()) == 0;
}

InferredType Like(const std::vector<NodeInput>& inputs, std::size_t i) {
  if (!Given(inputs, i)) return {};
  return {inputs[i].element_type, inputs[i].has_shape, inputs[i].shape};
}

// Operators whose first output is like their first input.
constexpr std::string_view kLikeFirst[] = {"BitwiseNot",         "CumProd", "Gelu",
                                           "GroupNormalization", "Mish",    "RMSNormalization",
                                           "RotaryEmbedding",    "Swish",   "TensorScatter"};

Shape Broadcast(const Shape& a, const Shape& b) {
  Shape result = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    std::int64_t& extent = result[result.size() - shorter.size() + d];
    if (extent == 1) extent = shorter[d];
  }
  return result;
}

}  // namespace

std::optional<OlderNode> AsOlder(const OnnxNode& node, const std::vector<NodeInput>& inputs) {
  OlderNode older{node, inputs};
  older.node.opset = kNewestOpset;
  VisitListed(kValuesOnly, node.op,
              [&](const std::string& name) { older.node.attributes.erase(name); });
  bool decided = false;
  VisitListed(kDecisive, node.op,
              [&](const std::string& name) { decided |= node.attributes.contains(name); });
  if (decided) return std::nullopt;
  if (IsReduction(node.op) && !AxesToAttribute(older)) return std::nullopt;
  if (node.op == "Split") {
    older.node.attributes.erase("num_outputs");
    if (!DividesEvenly(older)) return std::nullopt;
  }
  if (node.op == "Pad" && Given(inputs, 3)) return std::nullopt;
  if (node.op == "DFT") return std::nullopt;
  return older;
}

std::optional<std::vector<InferredType>> InferNewer(const OnnxNode& node,
                                                    const std::vector<NodeInput>& inputs) {
  std::vector<InferredType> result(node.outputs.size());
  if (result.empty() || inputs.empty()) return std::nullopt;
  if (std::find(std::begin(kLikeFirst), std::end(kLikeFirst), node.op) != std::end(kLikeFirst)) {
    result[0] = Like(inputs, 0);
    return result;
  }
  const bool binary = node.op == "BitwiseAnd" || node.op == "BitwiseOr" ||
                      node.op == "BitwiseXor" || node.op == "StringConcat" || node.op == "SwiGLU";
  if (binary && inputs.size() == 2) {
    result[0].element_type = inputs[0].element_type;
    result[0].has_shape = inputs[0].has_shape && inputs[1].has_shape;
    if (result[0].has_shape) result[0].shape = Broadcast(inputs[0].shape, inputs[1].shape);
    return result;
  }
  if (node.op == "DequantizeLinear" && inputs.size() > 1) {  // of its scale's type since 19
    result[0] = Like(inputs, 0);
    const auto named = IntOf(node, "output_dtype", 0);
    result[0].element_type = named != 0 ? static_cast<int>(named) : inputs[1].element_type;
    return result;
  }
  if (node.op == "RegexFullMatch") {
    result[0] = Like(inputs, 0);
    result[0].element_type = ToOnnxType(DataType::kBool);
    return result;
  }
  return std::nullopt;
}

}  // namespace kindred
