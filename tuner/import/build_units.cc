// From what a lowering emitted, or failed to, to units.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tuner/import/evaluate.h"
#include "tuner/import/fold_ops.h"
#include "tuner/import/graph_builder.h"
#include "tuner/import/ops.h"

namespace kindred {
void GraphBuilder::ResetOutput(int id) {
  GraphValue clean = TypedValue(value(id).name, 0);
  clean.storage = id;
  value(id) = std::move(clean);
}

Result<void> GraphBuilder::LeaveOut(int n, const std::vector<int>& inputs,
                                    const std::vector<int>& outputs,
                                    const std::vector<InferredType>& inferred,
                                    const std::string& reason) {
  const OnnxNode& node = this->node(n);
  Unit unit;
  unit.node = n;
  unit.scope = scope_;
  unit.kind = UnitKind::kLeftOut;
  unit.reason = reason;
  std::set<int> seen;
  const auto read = [&](int id) {
    const int storage = value(id).storage;
    if (seen.insert(storage).second) unit.reads.push_back(storage);
  };
  const auto read_all = [&](int id) {
    const auto sequence = sequences_.find(id);
    if (sequence == sequences_.end()) return read(id);
    for (const int element : sequence->second.ids) read(element);
  };
  for (const int id : inputs)
    if (id >= 0) read_all(id);
  for (const auto& name : node.captured) read_all(ids_.at(name));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] < 0) continue;
    const bool told = i < inferred.size();
    GraphValue made = TypedValue(value(outputs[i]).name, told ? inferred[i].element_type : 0);
    made.storage = outputs[i];
    made.unit = static_cast<int>(graph_.units.size());
    made.missing = fmt::format("it is made by {}, which is left out", node.Label());
    if (told && inferred[i].has_shape && PossibleShape(inferred[i].shape)) {
      made.has_shape = true;
      made.shape = inferred[i].shape;
    } else {
      Describe(made);
    }
    value(outputs[i]) = std::move(made);
    unit.values.push_back(outputs[i]);
  }
  graph_.units.push_back(std::move(unit));
  return {};
}

void GraphBuilder::Describe(GraphValue& made) {
  for (const auto* list : {&model_.described, &model_.outputs})
    for (const OnnxValue& described : *list) {
      if (described.name != made.name || !described.has_shape) continue;
      Shape shape;
      for (const OnnxDim& dim : described.dims) shape.push_back(dim.value);
      if (!PossibleShape(shape) || ElementCount(shape) < 1) return;
      GraphValue described_value = TypedValue(made.name, described.element_type);
      made.element_type = described_value.element_type;
      made.type = described_value.type;
      made.has_type = described_value.has_type;
      made.has_shape = true;
      made.shape = std::move(shape);
      return;
    }
}

bool GraphBuilder::DropEmpty(const std::vector<int>& outputs) {
  bool empty = true;
  for (const int id : outputs) empty = empty && (id < 0 || ElementCount(value(id).shape) == 0);
  if (!empty) return false;
  for (const int id : outputs) {
    if (id < 0) continue;
    GraphValue& v = value(id);
    v.kind = ValueKind::kKnown;
    v.storage = id;
    v.constant = IntegerConstant(v.type, v.shape, {});
  }
  return true;
}

void GraphBuilder::Commit(int n, OpContext& op, std::size_t first_value,
                          const std::vector<int>& outputs) {
  ReadQuantized(op);
  for (OpContext::Piece& piece : op.pieces) {
    if (piece.stages.empty()) continue;
    Unit unit;
    unit.node = n;
    unit.scope = scope_;
    unit.kind = piece.kind;
    unit.stages = std::move(piece.stages);
    unit.index_uses = std::move(piece.index_uses);
    std::set<int> made;
    for (const Stage& stage : unit.stages) made.insert(stage.tensor);
    unit.values.assign(made.begin(), made.end());
    bool all_known = true, ahead = true;
    for (const Stage& stage : unit.stages)
      VisitLoads(stage, [&](const Expr& load) {
        const int storage = value(load.index).storage;
        if (made.contains(storage)) return;
        if (std::find(unit.reads.begin(), unit.reads.end(), storage) == unit.reads.end())
          unit.reads.push_back(storage);
        all_known = all_known && value(storage).kind == ValueKind::kKnown;
        ahead = ahead && KnownAhead(value(storage).kind);
      });
    if (all_known && Evaluate(unit)) continue;
    unit.prepared = ahead;
    for (const int id : made) {
      value(id).kind = ahead ? ValueKind::kPrepared : ValueKind::kComputed;
      value(id).unit = static_cast<int>(graph_.units.size());
    }
    graph_.units.push_back(std::move(unit));
  }
  const auto follow = [&](int id) {
    GraphValue& view = value(id);
    const GraphValue& storage = value(view.storage);
    if (view.storage == id) return;
    view.kind = storage.kind;
    view.constant = storage.constant ? Reshaped(*storage.constant, view.shape) : nullptr;
  };
  for (std::size_t id = first_value; id < graph_.values.size(); ++id) follow(static_cast<int>(id));
  for (const int id : outputs)
    if (id >= 0) follow(id);
}

bool GraphBuilder::Evaluate(const Unit& unit) {
  std::map<int, ConstantPtr> made;
  for (const Stage& stage : unit.stages) {
    const auto data = [&](int id) -> ConstantPtr {
      const GraphValue& v = value(id);
      const auto found = made.find(v.storage);
      const ConstantPtr constant = found != made.end() ? found->second : value(v.storage).constant;
      if (!constant || constant->shape == v.shape) return constant;
      return Reshaped(*constant, v.shape);
    };
    const ConstantPtr result = EvaluateStage(stage, value(stage.tensor).type, data);
    if (!result) return false;
    made[stage.tensor] = result;
  }
  for (auto& [id, constant] : made) {
    value(id).kind = ValueKind::kKnown;
    value(id).constant = Compact(constant);
  }
  return true;
}

void GraphBuilder::DropUnread() {
  std::vector<bool> read(graph_.values.size(), false);
  for (std::size_t id = 0; id < graph_.values.size(); ++id)
    if (graph_.values[id].model_output) read[id] = true;
  std::vector<Unit> kept;
  for (std::size_t u = graph_.units.size(); u-- > 0;) {
    Unit& unit = graph_.units[u];
    const bool wanted = std::any_of(unit.values.begin(), unit.values.end(),
                                    [&](int id) { return read[static_cast<std::size_t>(id)]; });
    if (!wanted) continue;
    for (const int id : unit.reads) read[static_cast<std::size_t>(id)] = true;
    kept.push_back(std::move(unit));
  }
  std::reverse(kept.begin(), kept.end());
  graph_.units = std::move(kept);
  for (GraphValue& v : graph_.values) v.unit = -1;
  for (std::size_t u = 0; u < graph_.units.size(); ++u)
    for (const int id : graph_.units[u].values) value(id).unit = static_cast<int>(u);
}

}  // namespace kindred
