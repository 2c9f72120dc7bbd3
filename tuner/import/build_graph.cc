#include "tuner/import/build_graph.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/import/expand.h"
#include "tuner/import/fold_ops.h"
#include "tuner/import/graph_builder.h"
#include "tuner/import/left_out_ops.h"
#include "tuner/import/ops.h"

namespace kindred {
namespace {

// Of a node that is lowered: each is one more level of its body.
constexpr std::size_t kMostInputs = 256;

}  // namespace

void VisitLoads(const Stage& stage, const std::function<void(const Expr&)>& visit) {
  Visit(*stage.body, [&](const Expr& e) {
    if (e.op == Op::kLoad) visit(e);
  });
}

Result<Graph> GraphBuilder::Run(const std::map<std::string, Shape>& inputs) {
  AddGiven(inputs);
  FindLive();
  for (std::size_t n = 0; n < model_.nodes.size(); ++n)
    if (live_[n]) KINDRED_CHECK(Process(AppendNode(model_.nodes[n], -1)));
  for (const OnnxValue& output : model_.outputs) {
    const auto found = ids_.find(output.name);
    if (found != ids_.end())
      graph_.values[static_cast<std::size_t>(value(found->second).storage)].model_output = true;
  }
  DropUnread();
  return std::move(graph_);
}

int GraphBuilder::AddValue(GraphValue added) {
  const int id = static_cast<int>(graph_.values.size());
  added.storage = id;
  graph_.values.push_back(std::move(added));
  return id;
}

GraphValue GraphBuilder::TypedValue(const std::string& name, int element_type) const {
  GraphValue added;
  added.name = name;
  added.element_type = element_type;
  if (const auto type = FromOnnxType(element_type)) {
    added.type = *type;
    added.has_type = true;
  }
  return added;
}

void GraphBuilder::SetConstant(GraphValue& target, const OnnxTensor& tensor) {
  target.has_shape = true;
  target.shape = tensor.shape;
  const bool known = tensor.data && LooksAt(tensor.element_type, tensor.shape, tensor.quantized);
  target.kind = known ? ValueKind::kKnown : ValueKind::kWeight;
  if (known) target.constant = Compact(tensor.data);
  target.stripped = tensor.IsStripped();
}

void GraphBuilder::SetNodeConstant(GraphValue& target, const OnnxTensor& tensor) {
  SetConstant(target, tensor);
  if (!target.constant) target.constant = tensor.data;
}

void GraphBuilder::AddGiven(const std::map<std::string, Shape>& shapes) {
  for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
    const OnnxTensor& tensor = model_.initializers[i];
    GraphValue added = TypedValue(tensor.name, tensor.element_type);
    SetConstant(added, tensor);
    added.initializer = static_cast<int>(i);
    ids_[tensor.name] = AddValue(std::move(added));
  }
  for (const OnnxValue& input : model_.inputs) {
    if (ids_.contains(input.name)) continue;
    GraphValue added = TypedValue(input.name, input.element_type);
    added.kind = ValueKind::kInput;
    const auto shape = shapes.find(input.name);
    added.has_shape = shape != shapes.end();
    if (added.has_shape) added.shape = shape->second;
    if (added.has_shape && added.has_type && ElementCount(added.shape) == 0) {
      added.kind = ValueKind::kKnown;
      added.constant = IntegerConstant(added.type, added.shape, {});
    }
    if (!added.has_shape) added.missing = "the model declares no shape for it";
    ids_[input.name] = AddValue(std::move(added));
  }
}

void GraphBuilder::FindLive() {
  live_.assign(model_.nodes.size(), false);
  for (const OnnxValue& output : model_.outputs) ++uses_[output.name];
  for (std::size_t n = model_.nodes.size(); n-- > 0;) {
    const OnnxNode& node = model_.nodes[n];
    live_[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                           [&](const std::string& name) { return uses_.contains(name); });
    if (!live_[n]) {
      if (node.op != "Constant") graph_.unused.push_back(node.name);
      continue;
    }
    for (const auto& name : node.inputs)
      if (!name.empty()) ++uses_[name];
    for (const auto& name : node.captured) ++uses_[name];
  }
  std::reverse(graph_.unused.begin(), graph_.unused.end());
}

int GraphBuilder::AppendNode(OnnxNode node, int origin) {
  const int n = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back({std::move(node), origin < 0 ? n : origin, scope_, times_});
  return n;
}

std::vector<int> GraphBuilder::AddOutputs(int n) {
  std::vector<int> outputs;
  const std::vector<std::string>& names = node(n).outputs;
  const bool part = graph_.nodes[static_cast<std::size_t>(n)].origin != n;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Outputs of an expansion's nodes are read, or it would not have made them.
    if (names[i].empty() || (i > 0 && !part && !uses_.contains(names[i]))) {
      outputs.push_back(-1);
      continue;
    }
    outputs.push_back(AddValue(TypedValue(names[i], 0)));
    value(outputs.back()).invented = part && !uses_.contains(names[i]);
    ids_[names[i]] = outputs.back();
  }
  return outputs;
}

std::string GraphBuilder::FreshName(const std::string& name) {
  return fmt::format("{}/{}", name, ++fresh_);
}

void GraphBuilder::AddKnown(const std::string& name, ConstantPtr constant) {
  GraphValue added = TypedValue(name, ToOnnxType(constant->type));
  added.has_shape = true;
  added.shape = constant->shape;
  // As the floats of an initializer are.
  const bool weight = IsFloat(constant->type) && constant->elements() > 1;
  added.kind = weight ? ValueKind::kWeight : ValueKind::kKnown;
  added.constant = Compact(constant);
  added.invented = true;
  ids_[name] = AddValue(std::move(added));
}

void GraphBuilder::AddSequence(const std::string& name, std::vector<std::string> elements) {
  GraphValue added = TypedValue(name, 0);
  added.missing = "it is a sequence, which is no tensor";
  const int id = AddValue(std::move(added));
  ids_[name] = id;
  Sequence& sequence = sequences_[id];
  for (const std::string& element : elements) sequence.ids.push_back(ids_.at(element));
  sequence.names = std::move(elements);
}

const std::vector<std::string>* GraphBuilder::ElementsOf(int id) const {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return nullptr;
  const Sequence& sequence = found->second;
  for (std::size_t i = 0; i < sequence.ids.size(); ++i)
    if (ids_.at(sequence.names[i]) != sequence.ids[i]) return nullptr;
  return &sequence.names;
}

Result<void> GraphBuilder::ProcessPart(OnnxNode node) {
  const int origin = graph_.nodes[static_cast<std::size_t>(current_)].origin;
  return Process(AppendNode(std::move(node), origin));
}

Result<void> GraphBuilder::LowerPart(OnnxNode node,
                                     const std::function<Result<void>(OpContext& op)>& lowering) {
  const int origin = graph_.nodes[static_cast<std::size_t>(current_)].origin;
  std::vector<int> inputs;
  for (const auto& name : node.inputs) inputs.push_back(name.empty() ? -1 : ids_.at(name));
  const int n = AppendNode(std::move(node), origin);
  const std::vector<int> outputs = AddOutputs(n);
  const std::size_t first_value = graph_.values.size();
  OpContext op(model_, graph_, n, inputs, outputs);
  KINDRED_CHECK(lowering(op));
  Commit(n, op, first_value, outputs);
  return {};
}

Result<bool> GraphBuilder::TryExpand(int n, const std::vector<int>& inputs, std::string& reason) {
  const Expansion expansion = FindExpansion(node(n));
  if (expansion == nullptr) return false;
  for (const int id : inputs)
    if (id >= 0 && reason.empty() && !sequences_.contains(id)) reason = WhyUnusable(value(id));
  if (!reason.empty()) return false;
  OpContext op(model_, graph_, n, inputs, std::vector<int>(node(n).outputs.size(), -1));
  Expander expander(*this, op);
  const int outer = std::exchange(current_, n);
  const auto expanded = expansion(expander);
  current_ = outer;
  if (!expanded && expanded.error().kind != ErrorKind::kUnsupported) return expanded.error();
  if (!expanded) reason = "not supported: " + expanded.error().message;
  if (reason.empty()) reason = UnreadReason(op);
  return reason.empty();
}

std::string GraphBuilder::WhyNotLowered(const OnnxNode& node,
                                        const std::vector<int>& inputs) const {
  const bool of_shapes = node.op == "Shape" || node.op == "Size";
  if (!of_shapes && FindLowering(node.Kind()) == nullptr) return WhyNoForm(node);
  if (inputs.size() > kMostInputs)
    return fmt::format("it has {} inputs; at most {} are supported", inputs.size(), kMostInputs);
  for (const int id : inputs)
    if (id >= 0)
      if (std::string reason = WhyUnusable(graph_.values[static_cast<std::size_t>(id)]);
          !reason.empty())
        return reason;
  if (of_shapes) return WhyNoForm(node);
  for (int i = 0; i < LeastInputs(node); ++i)
    if (i >= static_cast<int>(inputs.size()) || inputs[static_cast<std::size_t>(i)] < 0)
      return fmt::format("its input {} is not there", i + 1);
  for (const int id : inputs)  // variadic operators know no gaps
    if (id < 0 && (node.op == "Sum" || node.op == "Mean" || node.op == "Max" || node.op == "Min" ||
                   node.op == "Concat" || node.op == "Einsum"))
      return "an input is not there";
  return "";
}

Result<void> GraphBuilder::Process(int n) {
  const OnnxNode& node = this->node(n);
  std::vector<int> inputs;
  for (const auto& name : node.inputs) inputs.push_back(name.empty() ? -1 : ids_.at(name));
  if (node.outputs.empty()) return LeaveOut(n, inputs, {}, {}, "it has no output");
  KINDRED_CHECK(VerifyNode(model_, node));
  std::string missing;
  if (node.domain.empty() && (node.op == "If" || node.op == "Loop" || node.op == "Scan")) {
    KINDRED_TRY(const std::string reason, ProcessControl(n, inputs));
    if (reason.empty()) return {};
    return LeaveOut(n, inputs, AddOutputs(n), {}, reason);
  }
  KINDRED_TRY(const bool moved, TryMoveQuantized(n, inputs));
  if (moved) return {};
  KINDRED_TRY(const bool expanded, TryExpand(n, inputs, missing));
  if (expanded) return {};
  const std::vector<int> outputs = AddOutputs(n);
  if (outputs[0] < 0) return LeaveOut(n, inputs, outputs, {}, "its first output has no name");
  KINDRED_TRY(const bool folded, FoldKnown(n, inputs, outputs));
  if (folded) return {};
  if (missing.empty()) missing = WhyNotLowered(node, inputs);
  if (!missing.empty()) {
    KINDRED_TRY(const auto inferred, Infer(node, inputs));
    return LeaveOut(n, inputs, outputs, inferred, missing);
  }
  if (TryFoldBatchNorm(n, inputs, outputs)) return {};

  const std::size_t first_value = graph_.values.size();
  OpContext op(model_, graph_, n, inputs, outputs);
  const auto lowered = FindLowering(node.Kind())(op);
  if (!lowered && lowered.error().kind != ErrorKind::kUnsupported) return lowered.error();
  KINDRED_TRY(const auto inferred, Infer(node, inputs));
  std::string reason = lowered ? "" : "not supported: " + lowered.error().message;
  if (lowered) reason = UnreadReason(op);
  if (reason.empty()) reason = Compare(node, inferred, outputs);
  if (!reason.empty()) {
    for (const int id : outputs)
      if (id >= 0) ResetOutput(id);
    return LeaveOut(n, inputs, outputs, inferred, reason);
  }
  if (DropEmpty(outputs)) return {};
  Commit(n, op, first_value, outputs);
  return {};
}

std::string GraphBuilder::WhyUnusable(const GraphValue& v) {
  if (!v.has_shape) return fmt::format("its input '{}' has no known shape: {}", v.name, v.missing);
  if (!v.has_type)
    return fmt::format("its input '{}' is of type {}, which has no kernels", v.name,
                       OnnxTypeName(v.element_type));
  return "";
}

std::string GraphBuilder::UnreadReason(const OpContext& op) {
  if (op.Unread().empty()) return "";
  return fmt::format("attribute '{}' of {} (operator set {}) is not understood",
                     fmt::join(op.Unread(), "', '"), op.node.Kind(), op.node.opset);
}

Result<bool> GraphBuilder::FoldKnown(int n, const std::vector<int>& inputs,
                                     const std::vector<int>& outputs) {
  const OnnxNode& node = this->node(n);
  if (!node.domain.empty()) return false;
  OpContext op(model_, graph_, n, inputs, outputs);
  if (node.op == "Constant" && node.attributes.contains("value")) {
    const OnnxTensor& tensor = node.attributes.at("value").tensor;
    GraphValue& made = value(outputs[0]);
    made = TypedValue(made.name, tensor.element_type);
    made.storage = outputs[0];
    SetNodeConstant(made, tensor);
    return true;
  }
  if (node.op == "ConstantOfShape") return FoldConstantOfShape(op);
  const ConstantPtr known = FoldShapeOp(op);
  if (!known) return false;
  op.Known(0, known);
  // As the floats of an initializer are.
  if (node.op == "Constant" && IsFloat(known->type) && known->elements() > 1)
    value(outputs[0]).kind = ValueKind::kWeight;
  return true;
}

Result<bool> GraphBuilder::FoldConstantOfShape(OpContext& op) {
  const ConstantPtr made = FillOfShape(op);
  if (!made) return false;
  op.Known(0, made);
  if (IsFloat(made->type) && made->elements() > 1)
    value(ids_.at(op.node.outputs[0])).kind = ValueKind::kWeight;
  return true;
}

Result<std::vector<InferredType>> GraphBuilder::Infer(const OnnxNode& node,
                                                      const std::vector<int>& inputs) {
  std::vector<NodeInput> described;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    NodeInput input;
    input.name = node.inputs[i];
    if (inputs[i] >= 0) {
      const GraphValue& v = value(inputs[i]);
      input.element_type = v.element_type;
      input.has_shape = v.has_shape;
      input.shape = v.shape;
      if (v.kind == ValueKind::kKnown) input.constant = v.constant;
    }
    described.push_back(std::move(input));
  }
  return InferNode(model_, node, described, current_ < 0);
}

std::string GraphBuilder::Compare(const OnnxNode& node, const std::vector<InferredType>& inferred,
                                  const std::vector<int>& outputs) {
  // libonnx 1.12 counts windows that lie in the padding alone; later definitions (and onnxruntime)
  // do not.
  const auto ceil = node.attributes.find("ceil_mode");
  const bool rounds_up = ceil != node.attributes.end() && ceil->second.integer != 0;
  // It takes the attribute that STFT leaves away for 0.
  const bool halves = node.op == "STFT" && !node.attributes.contains("onesided");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] < 0) continue;
    const GraphValue& v = value(outputs[i]);
    if (!v.has_shape) return fmt::format("output '{}' is not understood", v.name);
    if (!PossibleShape(v.shape))
      return fmt::format("output '{}' would have the impossible shape {}", v.name,
                         ShapeText(v.shape));
    if (inferred[i].has_shape && inferred[i].shape != v.shape && !rounds_up && !halves)
      return fmt::format("ONNX infers the shape {} for output '{}', this import {}",
                         ShapeText(inferred[i].shape), v.name, ShapeText(v.shape));
    if (inferred[i].element_type != 0 && inferred[i].element_type != v.element_type)
      return fmt::format("ONNX infers the type {} for output '{}', this import {}",
                         OnnxTypeName(inferred[i].element_type), v.name,
                         OnnxTypeName(v.element_type));
  }
  return "";
}

Result<Graph> BuildGraph(const OnnxModel& model, const std::map<std::string, Shape>& inputs,
                         double trips) {
  return GraphBuilder(model, trips).Run(inputs);
}

}  // namespace kindred
