#include "tuner/import/op_context.h"

#include <algorithm>

#include <fmt/format.h>

namespace kindred {

OpContext::OpContext(const OnnxModel& m, Graph& g, int n, std::vector<int> inputs,
                     std::vector<int> outputs)
    : model(m),
      graph(g),
      node(g.nodes[static_cast<std::size_t>(n)].node),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      opset_(node.opset) {}

bool OpContext::Wants(int output) const {
  return output < outputs() && outputs_[static_cast<std::size_t>(output)] >= 0;
}

std::int64_t OpContext::Int(const std::string& name, std::int64_t otherwise) {
  seen_.insert(name);
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

double OpContext::Float(const std::string& name, double otherwise) {
  seen_.insert(name);
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.number;
}

std::string OpContext::Text(const std::string& name, const std::string& otherwise) {
  seen_.insert(name);
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.text;
}

std::optional<std::vector<std::int64_t>> OpContext::Ints(const std::string& name) {
  seen_.insert(name);
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::nullopt;
  return found->second.integers;
}

std::optional<std::vector<double>> OpContext::Floats(const std::string& name) {
  seen_.insert(name);
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::nullopt;
  return found->second.numbers;
}

std::vector<std::string> OpContext::Unread() const {
  std::vector<std::string> names;
  for (const auto& [name, attribute] : node.attributes)
    if (!seen_.contains(name)) names.push_back(name);
  return names;
}

ConstantPtr OpContext::Peek(int input) const {
  if (!Has(input)) return nullptr;
  const GraphValue& value = InValue(input);
  if (value.kind != ValueKind::kKnown && value.kind != ValueKind::kWeight) return nullptr;
  if (value.constant) {
    if (value.constant->shape == value.shape) return value.constant;
    return Reshaped(*value.constant, value.shape);
  }
  const int initializer = graph.StorageOf(In(input)).initializer;
  if (initializer < 0) return nullptr;
  auto data = ReadTensor(model, model.initializers[static_cast<std::size_t>(initializer)]);
  return data && *data ? Reshaped(**data, value.shape) : nullptr;
}

Result<ConstantPtr> OpContext::Known(int input, const std::string& what) const {
  ConstantPtr constant = Peek(input);
  const int initializer = Has(input) ? graph.StorageOf(In(input)).initializer : -1;
  if (!constant && initializer >= 0)
    KINDRED_CHECK(ReadTensor(model, model.initializers[static_cast<std::size_t>(initializer)]));
  if (!constant && Has(input) && graph.StorageOf(In(input)).stripped)
    return BadInput(
        fmt::format("{}: {}: its {} ('{}') {} stripped from the model, but the computation depends "
                    "on {}; import the model that was stripped",
                    model.path, node.Label(), what, InValue(input).name,
                    what.ends_with('s') ? "were" : "was", what.ends_with('s') ? "them" : "it"));
  if (!constant)
    return Unsupported(fmt::format("its {} ('{}') {} known before the model runs", what,
                                   Has(input) ? InValue(input).name : "",
                                   what.ends_with('s') ? "are not" : "is not"));
  return constant;
}

Result<std::vector<std::int64_t>> OpContext::KnownInts(int input, const std::string& what) const {
  KINDRED_TRY(const ConstantPtr constant, Known(input, what));
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < constant->elements(); ++i) values.push_back(constant->Integer(i));
  return values;
}

int OpContext::Out(int output, DataType type, Shape shape) {
  const int id = outputs_[static_cast<std::size_t>(output)];
  GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  value.element_type = ToOnnxType(type);
  value.type = type;
  value.has_type = value.has_shape = true;
  value.shape = std::move(shape);
  return id;
}

int OpContext::Temp(const std::string& suffix, DataType type, Shape shape) {
  GraphValue value;
  value.name = node.outputs.front() + "." + suffix;
  value.invented = true;
  value.element_type = ToOnnxType(type);
  value.type = type;
  value.has_type = value.has_shape = true;
  value.shape = std::move(shape);
  value.storage = static_cast<int>(graph.values.size());
  graph.values.push_back(std::move(value));
  return static_cast<int>(graph.values.size()) - 1;
}

void OpContext::View(int output, int source, Shape shape) {
  const GraphValue from = graph.values[static_cast<std::size_t>(source)];
  const int id = Out(output, from.type, std::move(shape));
  GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  if (from.invented && from.storage == source) {  // memory of our own gets the model's name for it
    graph.values[static_cast<std::size_t>(source)].name = value.name;
    graph.values[static_cast<std::size_t>(source)].invented = false;
  }
  value.kind = from.kind;
  value.storage = from.storage;
  if (from.constant) value.constant = Reshaped(*from.constant, value.shape);
}

int OpContext::ViewOf(int source, Shape shape) {
  const GraphValue from = graph.values[static_cast<std::size_t>(source)];
  if (from.shape == shape) return source;
  const int id = Temp("view", from.type, std::move(shape));
  GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  value.kind = from.kind;
  value.storage = from.storage;
  if (from.constant) value.constant = Reshaped(*from.constant, value.shape);
  return id;
}

void OpContext::Known(int output, ConstantPtr constant) {
  const int id = Out(output, constant->type, constant->shape);
  GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  value.kind = ValueKind::kKnown;
  value.constant = std::move(constant);
}

void OpContext::Emit(Stage stage) {
  if (pieces.empty()) NewUnit();
  pieces.back().kind = kind;
  pieces.back().stages.push_back(std::move(stage));
}

void OpContext::NewUnit() {
  if (pieces.empty() || !pieces.back().stages.empty()) pieces.push_back({kind, {}, {}});
}

void OpContext::UseAsIndex(int value, std::int64_t low, std::int64_t high) {
  if (pieces.empty()) NewUnit();
  pieces.back().index_uses.push_back({value, low, high});
}

ExprPtr OpContext::Load(int id, Exprs indices) const {
  const GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  if (value.kind == ValueKind::kKnown && (value.constant->splat || ElementCount(value.shape) == 1))
    return IsFloat(value.type) ? Literal(value.constant->Number(0), value.type)
                               : IntExpr(value.constant->Integer(0), value.type);
  return LoadExpr(id, std::move(indices), value.type);
}

ExprPtr OpContext::Broadcast(int id, const Stage& stage) const {
  const GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  const std::size_t rank = value.shape.size(),
                    first = static_cast<std::size_t>(stage.spatial) - rank;
  Exprs indices;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool repeats = value.shape[d] == 1 && stage.axes[first + d].extent.value != 1;
    indices.push_back(repeats ? IntExpr(0) : VarExpr(static_cast<int>(first + d)));
  }
  return Load(id, std::move(indices));
}

Stage MakeStage(int tensor, const Shape& shape, const std::string& names) {
  static const std::string kLetters = "ijklmnpqtuvw";
  Stage stage;
  stage.tensor = tensor;
  stage.spatial = static_cast<int>(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::string name;
    if (d < names.size()) {
      name = names[d];
    } else if (names.empty() && d < kLetters.size()) {
      name = kLetters[d];
    } else {
      name = "i" + std::to_string(d);
    }
    stage.axes.push_back({std::move(name), Extent{shape[d]}});
  }
  return stage;
}

Exprs AxesOf(const Stage& stage) {
  Exprs axes;
  for (std::size_t i = 0; i < stage.axes.size(); ++i) axes.push_back(VarExpr(static_cast<int>(i)));
  return axes;
}

void AddReductionAxis(Stage& stage, const std::string& name, std::int64_t extent) {
  stage.axes.push_back({name, Extent{extent}});
}

void SetReduction(Stage& stage, Combiner combiner, DataType accumulator) {
  stage.combiner = stage.reduction() > 0 ? combiner : Combiner::kNone;
  stage.accumulator = accumulator;
}

Result<Shape> BroadcastShapes(const OpContext& op, const std::vector<Shape>& shapes) {
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, 1);
  for (const Shape& shape : shapes)
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& extent = result[rank - shape.size() + d];
      if (shape[d] == 1 || shape[d] == extent) continue;
      if (extent != 1)
        return BadInput(fmt::format("{}: {} combines shapes that do not broadcast: {} and {}",
                                    op.model.path, op.node.Label(), ShapeText(result),
                                    ShapeText(shape)));
      extent = shape[d];
    }
  return result;
}

Result<void> CheckBroadcasts(const OpContext& op, int input, const Shape& shape) {
  if (!op.Has(input)) return {};
  KINDRED_TRY(const Shape together, BroadcastShapes(op, {shape, op.InShape(input)}));
  if (together == shape) return {};
  return BadInput(fmt::format("{}: {}: input {} of shape {} does not broadcast to {}",
                              op.model.path, op.node.Label(), input + 1,
                              ShapeText(op.InShape(input)), ShapeText(shape)));
}

Result<void> CheckShape(const OpContext& op, int input, const Shape& shape) {
  if (!op.Has(input) || op.InShape(input) == shape) return {};
  return BadInput(fmt::format("{}: {}: input {} has the shape {} where {} is needed", op.model.path,
                              op.node.Label(), input + 1, ShapeText(op.InShape(input)),
                              ShapeText(shape)));
}

Result<std::int64_t> NormaliseAxis(const OpContext& op, std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size)
    return BadInput(fmt::format("{}: {} names axis {}, but its tensor has {} dimensions",
                                op.model.path, op.node.Label(), axis, rank));
  return axis < 0 ? axis + size : axis;
}

Result<std::vector<std::int64_t>> NormaliseAxes(const OpContext& op, std::vector<std::int64_t> axes,
                                                std::size_t rank) {
  for (auto& axis : axes) {
    KINDRED_TRY(axis, NormaliseAxis(op, axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

ExprPtr Literal(double value, DataType type) {
  return IsFloat(type)
             ? FloatExpr(value, type)
             : IntExpr(static_cast<std::int64_t>(std::clamp(value, -0x1p62, 0x1p62)), type);
}

}  // namespace kindred
