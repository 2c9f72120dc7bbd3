// Keeps integers integers on their way through the graph: what only moves elements moves those that
// a dequantised value stands for, and what computes with them dequantises as it reads.
#include <algorithm>
#include <set>
#include <string_view>

#include "tuner/import/expand.h"
#include "tuner/import/graph_builder.h"
#include "tuner/import/quantized.h"

namespace kindred {
namespace {

// Operators that give every element of their first output unchanged from their first input, or the
// largest of several.
bool Moves(const OnnxNode& node) {
  static const std::set<std::string_view> kinds = {
      "Transpose", "Reshape",      "Flatten", "Squeeze",       "Unsqueeze",
      "Identity",  "Slice",        "Gather",  "Expand",        "Tile",
      "Split",     "DepthToSpace", "MaxPool", "GlobalMaxPool", "SpaceToDepth",
  };
  return kinds.contains(node.Kind()) && (node.op != "MaxPool" || node.outputs.size() == 1);
}

// Where `axis` goes; -1: the node is no transposition.
int MovedAxis(const OnnxNode& node, int axis, std::size_t rank) {
  if (node.op != "Transpose") return -1;
  const auto perm = node.attributes.find("perm");
  if (perm == node.attributes.end()) return static_cast<int>(rank) - 1 - axis;
  const auto& order = perm->second.integers;
  const auto at = std::find(order.begin(), order.end(), axis);
  return at == order.end() ? -1 : static_cast<int>(at - order.begin());
}

}  // namespace

Result<bool> GraphBuilder::TryMoveQuantized(int n, const std::vector<int>& inputs) {
  const OnnxNode& node = this->node(n);
  if (inputs.empty() || !Moves(node)) return false;
  const auto found = graph_.dequantized.find(inputs[0]);
  if (found == graph_.dequantized.end()) return false;
  const Dequantized from = found->second;
  const int axis = from.axis < 0 ? -1 : MovedAxis(node, from.axis, value(inputs[0]).shape.size());
  if (from.axis >= 0 && axis < 0) return false;
  const auto name = [&](int id) {
    if (id < 0) return std::string();
    std::string alias = FreshName(value(id).name);
    ids_[alias] = id;
    return alias;
  };
  OnnxNode moved = node;
  moved.inputs[0] = name(from.value);
  for (std::size_t i = 0; i < moved.outputs.size(); ++i)
    moved.outputs[i] = i > 0 && !uses_.contains(node.outputs[i]) ? "" : FreshName(node.outputs[i]);
  const std::vector<std::string> integers = moved.outputs;
  const std::vector<std::string> outputs = node.outputs;
  const int outer = std::exchange(current_, n);
  KINDRED_CHECK(ProcessPart(std::move(moved)));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (integers[i].empty()) continue;
    OnnxNode dequantize;
    dequantize.name = this->node(n).name;
    dequantize.op = "DequantizeLinear";
    dequantize.opset = kExpansionOpset;
    dequantize.inputs = {integers[i], name(from.scale), name(from.zero_point)};
    dequantize.outputs = {outputs[i]};
    if (axis >= 0) dequantize.attributes["axis"] = IntAttribute(axis);
    KINDRED_CHECK(ProcessPart(std::move(dequantize)));
  }
  current_ = outer;
  return true;
}

void GraphBuilder::ReadQuantized(OpContext& op) {
  const auto dequantized = [&](const ExprPtr& load) -> ExprPtr {
    if (load->op != Op::kLoad) return nullptr;
    const auto found = graph_.dequantized.find(load->index);
    if (found == graph_.dequantized.end()) return nullptr;
    const Dequantized& from = found->second;
    const GraphValue& integers = value(from.value);
    if (integers.kind != ValueKind::kInput && integers.kind != ValueKind::kComputed) return nullptr;
    const auto parameter = [&](int id) {
      if (from.axis < 0) return LoadSingle(graph_, id);
      return LoadExpr(id, {load->args[static_cast<std::size_t>(from.axis)]}, value(id).type);
    };
    ExprPtr x = LoadExpr(from.value, load->args, integers.type);
    if (from.zero_point >= 0) x = x - parameter(from.zero_point);
    const ExprPtr scale = CastExpr(DataType::kF32, parameter(from.scale));
    return CastExpr(load->type, CastExpr(DataType::kF32, x) * scale);
  };
  for (OpContext::Piece& piece : op.pieces) {
    // The sketches of the others take plain operands.
    if (piece.kind == UnitKind::kContraction || piece.kind == UnitKind::kWindow) continue;
    for (Stage& stage : piece.stages) {
      std::set<const Expr*> padded;
      Visit(*stage.body, [&](const Expr& e) {
        if (e.op == Op::kPadded) padded.insert(e.args[0].get());
      });
      stage.body = Rewrite(stage.body, [&](const ExprPtr& e) {
        return padded.contains(e.get()) ? nullptr : dequantized(e);
      });
    }
  }
}

}  // namespace kindred
