// From a parsed statement to stages: extents, nested reductions, variables (internal/parser.h).
#include <utility>

#include <fmt/format.h>

#include "schedules/internal/parser.h"
#include "schedules/internal/printer.h"

namespace kindred {

// Plain indices give extents; those of padded reads count only where no other read says anything.
bool Parser::InferExtents() {
  const auto shown = [this](const Extent& extent) {
    return extent.symbol < 0 ? std::to_string(extent.value)
                             : workload_.symbols[static_cast<std::size_t>(extent.symbol)].name;
  };
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    AxisInfo& axis = axes_[i];
    if (axis.extent) continue;
    const Binding* first = nullptr;
    for (const bool padded : {false, true}) {
      for (const Binding& binding : bindings_) {
        if (binding.axis != static_cast<int>(i) || binding.padded != padded) continue;
        const Tensor& t = workload_.tensors[static_cast<std::size_t>(binding.tensor)];
        const Extent extent = t.shape[static_cast<std::size_t>(binding.dimension)];
        if (!first) {
          first = &binding;
          axis.extent = extent;
        } else if (extent != *axis.extent) {
          const Tensor& other = workload_.tensors[static_cast<std::size_t>(first->tensor)];
          return Fail(
              binding.position,
              fmt::format("the axis '{}' has extent {} from dimension {} of {}, but {} from "
                          "dimension {} of {}; fix the shapes, or write the extent: {}={}",
                          axis.name, shown(*axis.extent), first->dimension + 1, other.name,
                          shown(extent), binding.dimension + 1, t.name, axis.name,
                          shown(*axis.extent)));
        }
      }
      if (first) break;
    }
    if (!axis.extent)
      return Fail(
          axis.position,
          fmt::format("the extent of axis '{}' does not follow from a plain index; write it "
                      "out: {}=28",
                      axis.name, axis.name));
  }
  return true;
}

ExprPtr Parser::Remap(const ExprPtr& e, const std::vector<int>& axis_to_var,
                      std::unordered_map<const Expr*, ExprPtr>& memo) {
  const auto known = memo.find(e.get());
  if (known != memo.end()) return known->second;
  auto copy = MakeNode<Expr>(*e);
  if (e->op == Op::kVar) copy->index = axis_to_var[static_cast<std::size_t>(e->index)];
  if (e->op == Op::kLoad && e->index <= kFirstReduction)
    copy->index = reduction_tensors_[static_cast<std::size_t>(kFirstReduction - e->index)];
  for (ExprPtr& arg : copy->args) arg = Remap(arg, axis_to_var, memo);
  const auto position = positions_.find(e.get());
  if (position != positions_.end()) node_positions_.emplace(copy.get(), position->second);
  memo.emplace(e.get(), copy);
  return copy;
}

std::string Parser::TemporaryName(const std::string& target, Combiner combiner) const {
  const std::string base =
      fmt::format("{}_{}", target, combiner == Combiner::kNone ? "value" : Name(combiner));
  std::string name = base;
  for (int i = 2; tensors_.contains(name) || name == target; ++i) name = base + std::to_string(i);
  return name;
}

int Parser::AddStage(Tensor tensor, const std::vector<int>& spatial, const Reduction* reduction,
                     const ExprPtr& body, SourcePosition position) {
  Stage stage;
  stage.tensor = static_cast<int>(workload_.tensors.size());
  stage.spatial = static_cast<int>(spatial.size());
  std::vector<int> axis_to_var(axes_.size(), -1);
  std::vector<int> all = spatial;
  if (reduction) all.insert(all.end(), reduction->axes.begin(), reduction->axes.end());
  for (const int axis : all) {
    const AxisInfo& info = axes_[static_cast<std::size_t>(axis)];
    axis_to_var[static_cast<std::size_t>(axis)] = static_cast<int>(stage.axes.size());
    stage.axes.push_back({info.name, *info.extent});
    if (static_cast<int>(stage.axes.size()) <= stage.spatial) tensor.shape.push_back(*info.extent);
  }
  if (reduction) {
    stage.combiner = reduction->combiner;
    stage.accumulator = reduction->accumulator.value_or(DefaultAccumulator(body->type));
  }
  std::unordered_map<const Expr*, ExprPtr> memo;
  stage.body = Remap(body, axis_to_var, memo);
  const int id = stage.tensor;
  tensors_.emplace(tensor.name, id);
  tensor_positions_.push_back(position);
  stage_positions_.push_back(position);
  workload_.tensors.push_back(std::move(tensor));
  workload_.stages.push_back(std::move(stage));
  return id;
}

bool Parser::FinishStage(Tensor target, bool typed, Value value, SourcePosition position) {
  if (!InferExtents()) return false;
  ExprPtr body = value.expr;
  if (value.literal) {
    const DataType type = typed                    ? target.type
                          : body->op == Op::kFloat ? DataType::kF32
                                                   : DataType::kI64;
    body = CastExpr(type, body);
  }
  const bool whole = body->op == Op::kLoad && !reductions_.empty() &&
                     body->index == kFirstReduction - static_cast<int>(reductions_.size() - 1);
  const std::size_t lifted = reductions_.size() - (whole ? 1 : 0);
  // A reduction's body stands before it in the list, so this order is topological.
  for (std::size_t i = 0; i < lifted; ++i) {
    const Reduction& reduction = reductions_[i];
    const auto place = positions_.find(reduction.body.get());
    Tensor temporary;
    temporary.name = TemporaryName(target.name, reduction.combiner);
    temporary.type = reduction.type;
    temporary.role = Role::kTemporary;
    reduction_tensors_.push_back(AddStage(std::move(temporary), reduction.free, &reduction,
                                          reduction.body,
                                          place == positions_.end() ? position : place->second));
  }
  std::vector<int> spatial;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (!axes_[i].reduction) spatial.push_back(static_cast<int>(i));
  if (!typed) target.type = whole ? reductions_.back().type : body->type;
  if (whole)
    AddStage(std::move(target), spatial, &reductions_.back(), reductions_.back().body, position);
  else
    AddStage(std::move(target), spatial, nullptr, body, position);
  return true;
}

Error Parser::Locate(Error error, int tensor, int stage, const Expr* at) const {
  SourcePosition position;
  const auto node = at ? node_positions_.find(at) : node_positions_.end();
  if (node != node_positions_.end())
    position = node->second;
  else if (stage >= 0)
    position = stage_positions_[static_cast<std::size_t>(stage)];
  else if (tensor >= 0)
    position = tensor_positions_[static_cast<std::size_t>(tensor)];
  error.message = At(file_, position, error.message);
  return error;
}

}  // namespace kindred
