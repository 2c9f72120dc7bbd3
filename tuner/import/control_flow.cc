// If, Loop and Scan: their bodies as subgraphs of their own.
//
// A body's nodes stand in a scope of their own, with the number of its runs: what its values feed
// is not fused with what stands around. Values that change from run to run are inputs of the scope.
// The operator itself becomes a unit that computes nothing: it reads what its bodies read and make,
// and makes the outputs. An If whose condition is known is its branch.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tuner/import/expand.h"
#include "tuner/import/graph_builder.h"
#include "tuner/import/rename_values.h"

namespace kindred {
namespace {

const OnnxGraph* BodyOf(const OnnxNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : found->second.graph.get();
}

Shape WithExtent(Shape shape, std::int64_t axis, std::int64_t extent) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return shape;
}

std::vector<std::int64_t> ListOf(const OnnxNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? std::vector<std::int64_t>() : found->second.integers;
}

}  // namespace

// What stands for an input of a body: a tensor that is another one in each run.
GraphValue GraphBuilder::RunInput(int element_type, Shape shape) const {
  GraphValue input = TypedValue("", element_type);
  input.kind = ValueKind::kInput;
  input.invented = true;
  input.has_shape = true;
  input.shape = std::move(shape);
  return input;
}

Result<ControlNode::Body> GraphBuilder::ProcessBody(const OnnxGraph& written,
                                                    std::vector<GraphValue> inputs,
                                                    const std::string& label) {
  const OnnxGraph body = RenamedBody(written, {}, FreshName(label) + "/");
  ControlNode::Body made{scope_, {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].name = body.inputs[i].name;
    made.inputs.push_back(AddValue(std::move(inputs[i])));
    ids_[body.inputs[i].name] = made.inputs.back();
  }
  for (const OnnxTensor& tensor : body.initializers) {
    GraphValue added = TypedValue(tensor.name, tensor.element_type);
    SetNodeConstant(added, tensor);
    ids_[tensor.name] = AddValue(std::move(added));
  }
  std::vector<bool> live(body.nodes.size(), false);
  for (const OnnxValue& output : body.outputs) ++uses_[output.name];
  for (std::size_t n = body.nodes.size(); n-- > 0;) {
    const OnnxNode& node = body.nodes[n];
    live[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                          [&](const std::string& name) { return uses_.contains(name); });
    if (!live[n]) continue;
    for (const auto* list : {&node.inputs, &node.captured})
      for (const std::string& name : *list)
        if (!name.empty()) ++uses_[name];
  }
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    if (!live[n]) continue;
    const OnnxNode& node = body.nodes[n];
    for (const auto* list : {&node.inputs, &node.captured})
      for (const std::string& name : *list)
        if (!name.empty() && !ids_.contains(name))
          return BadInput(fmt::format(
              "{}: {} in a body of {} reads '{}', which nothing before it makes; export the model "
              "again",
              model_.path, node.Label(), label, name));
    KINDRED_CHECK(Process(AppendNode(node, -1)));
  }
  for (const OnnxValue& output : body.outputs) {
    const auto found = ids_.find(output.name);
    if (found == ids_.end())
      return BadInput(
          fmt::format("{}: a body of {} gives '{}', which nothing makes; export the "
                      "model again",
                      model_.path, label, output.name));
    made.outputs.push_back(found->second);
  }
  return made;
}

Result<ControlNode::Body> GraphBuilder::ProcessRuns(const OnnxGraph& body,
                                                    std::vector<GraphValue> inputs,
                                                    const std::string& label, double times) {
  static constexpr double kMostTimes = 1e15;
  const int scope = std::exchange(scope_, ++scopes_);
  const double outer = std::exchange(times_, std::min(kMostTimes, times_ * times));
  auto made = ProcessBody(body, std::move(inputs), label);
  scope_ = scope;
  times_ = outer;
  return made;
}

Result<std::string> GraphBuilder::ProcessControl(int n, const std::vector<int>& inputs) {
  const OnnxNode& node = this->node(n);
  for (const int id : inputs)
    if (id >= 0)
      if (std::string reason = WhyUnusable(value(id)); !reason.empty()) return reason;
  if (node.op == "If") return ProcessIf(n, inputs);
  return node.op == "Loop" ? ProcessLoop(n, inputs) : ProcessScan(n, inputs);
}

Result<std::string> GraphBuilder::ProcessIf(int n, const std::vector<int>& inputs) {
  const OnnxNode node = this->node(n);
  const OnnxGraph* branches[] = {BodyOf(node, "else_branch"), BodyOf(node, "then_branch")};
  if (inputs.size() != 1 || inputs[0] < 0 || !branches[0] || !branches[1] ||
      branches[0]->outputs.size() < node.outputs.size() ||
      branches[1]->outputs.size() < node.outputs.size())
    return BadInput(fmt::format("{}: {} needs a condition and two branches that give its outputs",
                                model_.path, node.Label()));
  const GraphValue condition = value(inputs[0]);
  if (condition.kind == ValueKind::kKnown && condition.constant->elements() == 1) {
    const bool taken = condition.constant->Integer(0) != 0;
    KINDRED_TRY(const auto made, ProcessBody(*branches[taken ? 1 : 0], {}, node.name));
    const int outer = std::exchange(current_, n);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || !uses_.contains(node.outputs[i])) continue;
      OnnxNode same;
      same.name = node.name;
      same.op = "Identity";
      same.opset = kExpansionOpset;
      same.inputs = {FreshName(node.name)};
      ids_[same.inputs[0]] = made.outputs[i];
      same.outputs = {node.outputs[i]};
      KINDRED_CHECK(ProcessPart(std::move(same)));
    }
    current_ = outer;
    return std::string();
  }
  constexpr double kHalf = 0.5;  // each branch is taken as often as the other
  KINDRED_TRY(const auto otherwise, ProcessRuns(*branches[0], {}, node.name, kHalf));
  KINDRED_TRY(const auto then, ProcessRuns(*branches[1], {}, node.name, kHalf));
  std::vector<GraphValue> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const GraphValue &a = value(then.outputs[i]), &b = value(otherwise.outputs[i]);
    GraphValue output = TypedValue("", a.element_type);
    output.has_shape = a.has_shape && b.has_shape && a.shape == b.shape;
    output.shape = a.shape;
    if (!output.has_shape) output.missing = "it has another shape in each branch of an If";
    outputs.push_back(std::move(output));
  }
  ControlNode control;
  control.bodies = {then, otherwise};
  CommitControl(n, inputs, std::move(control), std::move(outputs));
  return std::string();
}

Result<std::string> GraphBuilder::ProcessLoop(int n, const std::vector<int>& inputs) {
  const OnnxNode node = this->node(n);
  const OnnxGraph* body = BodyOf(node, "body");
  const std::size_t carried = inputs.size() < 2 ? 0 : inputs.size() - 2;
  if (!body || inputs.size() < 2 || body->inputs.size() != carried + 2 ||
      body->outputs.size() < carried + 1 || node.outputs.size() > body->outputs.size() - 1)
    return BadInput(
        fmt::format("{}: {} and its body differ in their values; export the model again",
                    model_.path, node.Label()));
  std::int64_t trips = -1;
  if (inputs[0] >= 0 && value(inputs[0]).kind == ValueKind::kKnown &&
      value(inputs[0]).constant->elements() == 1)
    trips = value(inputs[0]).constant->Integer(0);
  constexpr std::int64_t kEndless = std::int64_t{1} << 31;  // how exporters write "while"
  if (trips < 0 || trips >= kEndless) trips = -1;
  std::vector<GraphValue> given = {RunInput(ToOnnxType(DataType::kI64), {}),
                                   RunInput(ToOnnxType(DataType::kBool), {})};
  for (std::size_t i = 0; i < carried; ++i) {
    if (inputs[i + 2] < 0) return std::string("a value that it carries has no beginning");
    given.push_back(RunInput(value(inputs[i + 2]).element_type, value(inputs[i + 2]).shape));
  }
  KINDRED_TRY(const auto made, ProcessRuns(*body, std::move(given), node.name,
                                           trips < 0 ? trips_ : static_cast<double>(trips)));
  std::vector<GraphValue> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const GraphValue& result = value(made.outputs[i + 1]);
    GraphValue output = TypedValue("", result.element_type);
    output.has_shape = result.has_shape;
    output.shape = result.shape;
    if (i < carried && (!result.has_shape || result.shape != value(inputs[i + 2]).shape))
      return fmt::format("the value '{}' that it carries changes its shape",
                         body->inputs[i + 2].name);
    if (i >= carried) {
      output.has_shape = result.has_shape && trips >= 0;
      output.shape = WithExtent(result.shape, 0, std::max<std::int64_t>(0, trips));
    }
    if (!output.has_shape) output.missing = "its shape follows from how often a Loop runs";
    outputs.push_back(std::move(output));
  }
  ControlNode control;
  control.bodies = {made};
  CommitControl(n, inputs, std::move(control), std::move(outputs));
  return std::string();
}

Result<std::string> GraphBuilder::ProcessScan(int n, const std::vector<int>& inputs) {
  const OnnxNode node = this->node(n);
  const OnnxGraph* body = BodyOf(node, "body");
  const auto count = node.attributes.find("num_scan_inputs");
  if (node.opset < 9) return std::string("Scan of operator set 8, with its batches, is not known");
  const auto scanned = static_cast<std::size_t>(
      count == node.attributes.end() ? 0 : std::max<std::int64_t>(0, count->second.integer));
  if (!body || scanned < 1 || scanned > inputs.size() || body->inputs.size() != inputs.size() ||
      body->outputs.size() < node.outputs.size() || body->outputs.size() < inputs.size() - scanned)
    return BadInput(
        fmt::format("{}: {} and its body differ in their values; export the model again",
                    model_.path, node.Label()));
  const std::size_t states = inputs.size() - scanned;
  const auto input_axes = ListOf(node, "scan_input_axes"),
             output_axes = ListOf(node, "scan_output_axes");
  const auto input_directions = ListOf(node, "scan_input_directions"),
             output_directions = ListOf(node, "scan_output_directions");
  const auto reversed = [](const std::vector<std::int64_t>& directions, std::size_t i) {
    return i < directions.size() && directions[i] != 0;
  };
  ControlNode control;
  std::int64_t length = -1;
  std::vector<GraphValue> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] < 0) return std::string("an input is not there");
    Shape shape = value(inputs[i]).shape;
    if (i >= states) {
      const auto rank = static_cast<std::int64_t>(shape.size());
      std::int64_t axis = i - states < input_axes.size() ? input_axes[i - states] : 0;
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank ||
          (length >= 0 && shape[static_cast<std::size_t>(axis)] != length))
        return BadInput(
            fmt::format("{}: {} scans inputs of different lengths", model_.path, node.Label()));
      length = shape[static_cast<std::size_t>(axis)];
      control.scan_inputs.push_back({axis, reversed(input_directions, i - states)});
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    given.push_back(RunInput(value(inputs[i]).element_type, std::move(shape)));
  }
  KINDRED_TRY(const auto made,
              ProcessRuns(*body, std::move(given), node.name, static_cast<double>(length)));
  std::vector<GraphValue> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const GraphValue& result = value(made.outputs[i]);
    GraphValue output = TypedValue("", result.element_type);
    output.has_shape = result.has_shape;
    output.shape = result.shape;
    if (i < states && (!result.has_shape || result.shape != value(inputs[i]).shape))
      return fmt::format("the state '{}' changes its shape", body->inputs[i].name);
    if (i >= states && result.has_shape) {
      std::int64_t axis = i - states < output_axes.size() ? output_axes[i - states] : 0;
      const auto rank = static_cast<std::int64_t>(result.shape.size()) + 1;
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank)
        return BadInput(fmt::format("{}: {} stacks along an axis that is not there", model_.path,
                                    node.Label()));
      output.shape = WithExtent(result.shape, axis, length);
      control.scan_outputs.push_back({axis, reversed(output_directions, i - states)});
    }
    if (!output.has_shape) output.missing = "a body of Scan gives no shape for it";
    outputs.push_back(std::move(output));
  }
  control.bodies = {made};
  CommitControl(n, inputs, std::move(control), std::move(outputs));
  return std::string();
}

void GraphBuilder::CommitControl(int n, const std::vector<int>& inputs, ControlNode control,
                                 std::vector<GraphValue> outputs) {
  const OnnxNode& node = this->node(n);
  Unit unit;
  unit.node = n;
  unit.scope = scope_;
  unit.kind = UnitKind::kControl;
  control.node = n;
  control.scope = scope_;
  control.inputs = inputs;
  control.outputs.assign(outputs.size(), -1);
  std::set<int> reads;
  for (const int id : inputs)
    if (id >= 0) reads.insert(value(id).storage);
  for (const ControlNode::Body& body : control.bodies)
    for (const int id : body.outputs) reads.insert(value(id).storage);
  for (const std::string& name : node.captured) reads.insert(value(ids_.at(name)).storage);
  unit.reads.assign(reads.begin(), reads.end());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    outputs[i].name = node.outputs[i];
    outputs[i].unit = static_cast<int>(graph_.units.size());
    control.outputs[i] = AddValue(std::move(outputs[i]));
    ids_[node.outputs[i]] = control.outputs[i];
    unit.values.push_back(control.outputs[i]);
  }
  graph_.units.push_back(std::move(unit));
  graph_.controls.push_back(std::move(control));
}

}  // namespace kindred
