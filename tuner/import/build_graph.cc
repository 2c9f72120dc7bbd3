#include "tuner/import/build_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/import/bind_dims.h"
#include "tuner/import/evaluate.h"
#include "tuner/import/fold_ops.h"
#include "tuner/import/infer_node.h"
#include "tuner/import/ops.h"

namespace kindred {

void VisitLoads(const Stage& stage, const std::function<void(const Expr&)>& visit) {
  Visit(*stage.body, [&](const Expr& e) {
    if (e.op == Op::kLoad) visit(e);
  });
}

namespace {

bool KnownAhead(ValueKind kind) {
  return kind == ValueKind::kKnown || kind == ValueKind::kWeight || kind == ValueKind::kPrepared;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const OnnxModel& model) : model_(model) {}

  Result<Graph> Run(const std::map<std::string, std::int64_t>& dims) {
    KINDRED_TRY(const auto shapes, BindDims(model_, dims));
    AddGiven(shapes);
    FindLive();
    for (std::size_t n = 0; n < model_.nodes.size(); ++n)
      if (live_[n]) KINDRED_CHECK(Process(static_cast<int>(n)));
    for (const OnnxValue& output : model_.outputs) {
      const auto found = ids_.find(output.name);
      if (found != ids_.end())
        graph_.values[static_cast<std::size_t>(value(found->second).storage)].model_output = true;
    }
    DropUnread();
    return std::move(graph_);
  }

 private:
  Value& value(int id) { return graph_.values[static_cast<std::size_t>(id)]; }

  int AddValue(Value added) {
    const int id = static_cast<int>(graph_.values.size());
    added.storage = id;
    graph_.values.push_back(std::move(added));
    return id;
  }

  Value TypedValue(const std::string& name, int element_type) const {
    Value added;
    added.name = name;
    added.element_type = element_type;
    if (const auto type = FromOnnxType(element_type)) {
      added.type = *type;
      added.has_type = true;
    }
    return added;
  }

  // Integers and single numbers are known; other floats are weights.
  void SetConstant(Value& target, const OnnxTensor& tensor) {
    target.has_shape = true;
    target.shape = tensor.shape;
    const bool known = tensor.data && (IsInteger(target.type) || tensor.data->elements() <= 1);
    target.kind = known ? ValueKind::kKnown : ValueKind::kWeight;
    if (known) target.constant = Compact(tensor.data);
  }

  // A Constant node's data are in no initializer: they stay with the value, also where it is a weight.
  void SetNodeConstant(Value& target, const OnnxTensor& tensor) {
    SetConstant(target, tensor);
    if (!target.constant) target.constant = tensor.data;
  }

  void AddGiven(const std::map<std::string, Shape>& shapes) {
    for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
      const OnnxTensor& tensor = model_.initializers[i];
      Value added = TypedValue(tensor.name, tensor.element_type);
      SetConstant(added, tensor);
      added.initializer = static_cast<int>(i);
      ids_[tensor.name] = AddValue(std::move(added));
    }
    for (const OnnxValue& input : model_.inputs) {
      if (ids_.contains(input.name)) continue;
      Value added = TypedValue(input.name, input.element_type);
      added.kind = ValueKind::kInput;
      const auto shape = shapes.find(input.name);
      added.has_shape = shape != shapes.end();
      if (added.has_shape) added.shape = shape->second;
      if (!added.has_shape) added.missing = "the model declares no shape for it";
      ids_[input.name] = AddValue(std::move(added));
    }
  }

  // Nodes that some output of the model depends on, and how often each value is read by those.
  void FindLive() {
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

  Result<void> Process(int n) {
    const OnnxNode& node = model_.nodes[static_cast<std::size_t>(n)];
    std::vector<int> inputs, outputs;
    for (const auto& name : node.inputs) inputs.push_back(name.empty() ? -1 : ids_.at(name));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || (i > 0 && !uses_.contains(node.outputs[i]))) {
        outputs.push_back(-1);
        continue;
      }
      outputs.push_back(AddValue(TypedValue(node.outputs[i], 0)));
      ids_[node.outputs[i]] = outputs.back();
    }
    if (outputs.empty() || outputs[0] < 0) return LeaveOut(n, inputs, outputs, {}, "its first output has no name");

    KINDRED_TRY(const bool folded, FoldKnown(n, inputs, outputs));
    if (folded) return {};
    std::string missing;
    for (const int id : inputs)
      if (id >= 0 && missing.empty()) missing = WhyUnusable(value(id));
    std::vector<InferredType> inferred(node.outputs.size());
    KINDRED_TRY(inferred, Infer(node, inputs));
    if (!missing.empty()) return LeaveOut(n, inputs, outputs, inferred, missing);
    if (!node.domain.empty()) return LeaveOut(n, inputs, outputs, inferred, ForeignReason(node));
    if (TryFoldBatchNorm(n, inputs, outputs)) return {};
    const Lowering lowering = FindLowering(node.op);
    if (lowering == nullptr) return LeaveOut(n, inputs, outputs, inferred, NoFormReason(node));

    const std::size_t first_value = graph_.values.size();
    OpContext op(model_, graph_, n, inputs, outputs);
    const auto lowered = lowering(op);
    if (!lowered && lowered.error().kind != ErrorKind::kUnsupported) return lowered.error();
    std::string reason = lowered ? "" : "not supported: " + lowered.error().message;
    if (lowered && !op.Unread().empty())
      reason = fmt::format("attribute '{}' of {} (operator set {}) is not understood", fmt::join(op.Unread(), "', '"),
                           node.op, model_.opset());
    if (reason.empty()) reason = Compare(inferred, outputs);
    if (!reason.empty()) {
      for (const int id : outputs)
        if (id >= 0) ResetOutput(id);
      return LeaveOut(n, inputs, outputs, inferred, reason);
    }
    if (DropEmpty(outputs)) return {};
    Commit(n, op, first_value, outputs);
    return {};
  }

  static std::string WhyUnusable(const Value& v) {
    if (!v.has_shape) return fmt::format("its input '{}' has no known shape: {}", v.name, v.missing);
    if (!v.has_type)
      return fmt::format("its input '{}' is of type {}, which the workload language does not have", v.name,
                         OnnxTypeName(v.element_type));
    return "";
  }

  std::string ForeignReason(const OnnxNode& node) const {
    if (std::find(model_.functions.begin(), model_.functions.end(), node.op) != model_.functions.end())
      return "it calls a function of the model; inline the functions first";
    return fmt::format("operators of the domain '{}' are not known", node.domain);
  }

  std::string NoFormReason(const OnnxNode& node) const {
    if (node.op == "If" || node.op == "Loop" || node.op == "Scan")
      return "control flow has no form in the workload language";
    return fmt::format("the operator {} has no form in the workload language", node.op);
  }

  // Shape, Constant and the like.
  Result<bool> FoldKnown(int n, const std::vector<int>& inputs, const std::vector<int>& outputs) {
    const OnnxNode& node = model_.nodes[static_cast<std::size_t>(n)];
    if (!node.domain.empty()) return false;
    OpContext op(model_, graph_, n, inputs, outputs);
    if (node.op == "Constant" && node.attributes.contains("value")) {
      const OnnxTensor& tensor = node.attributes.at("value").tensor;
      Value& made = value(outputs[0]);
      made = TypedValue(made.name, tensor.element_type);
      made.storage = outputs[0];
      SetNodeConstant(made, tensor);
      return true;
    }
    if (node.op == "ConstantOfShape") return FoldConstantOfShape(op);
    const ConstantPtr known = FoldShapeOp(op);
    if (!known) return false;
    op.Known(0, known);
    return true;
  }

  // Stands for a weight where it makes floats: its values are not written into the workloads.
  Result<bool> FoldConstantOfShape(OpContext& op) {
    const ConstantPtr made = FillOfShape(op);
    if (!made) return false;
    op.Known(0, made);
    if (IsFloat(made->type) && made->elements() > 1) value(ids_.at(op.node.outputs[0])).kind = ValueKind::kWeight;
    return true;
  }

  Result<std::vector<InferredType>> Infer(const OnnxNode& node, const std::vector<int>& inputs) {
    std::vector<NodeInput> described;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      NodeInput input;
      input.name = node.inputs[i];
      if (inputs[i] >= 0) {
        const Value& v = value(inputs[i]);
        input.element_type = v.element_type;
        input.has_shape = v.has_shape;
        input.shape = v.shape;
        if (v.kind == ValueKind::kKnown) input.constant = v.constant;
      }
      described.push_back(std::move(input));
    }
    return InferNode(model_, node, described);
  }

  std::string Compare(const std::vector<InferredType>& inferred, const std::vector<int>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] < 0) continue;
      const Value& v = value(outputs[i]);
      if (!v.has_shape) return fmt::format("output '{}' is not understood", v.name);
      if (inferred[i].has_shape && inferred[i].shape != v.shape)
        return fmt::format("ONNX infers the shape {} for output '{}', this import {}", ShapeText(inferred[i].shape),
                           v.name, ShapeText(v.shape));
      if (inferred[i].element_type != 0 && inferred[i].element_type != v.element_type)
        return fmt::format("ONNX infers the type {} for output '{}', this import {}",
                           OnnxTypeName(inferred[i].element_type), v.name, OnnxTypeName(v.element_type));
    }
    return "";
  }

  void ResetOutput(int id) {
    Value clean = TypedValue(value(id).name, 0);
    clean.storage = id;
    value(id) = std::move(clean);
  }

  Result<void> LeaveOut(int n, const std::vector<int>& inputs, const std::vector<int>& outputs,
                        const std::vector<InferredType>& inferred, const std::string& reason) {
    const OnnxNode& node = model_.nodes[static_cast<std::size_t>(n)];
    Unit unit;
    unit.node = n;
    unit.kind = UnitKind::kLeftOut;
    unit.reason = reason;
    const auto read = [&](int id) {
      const int storage = value(id).storage;
      if (std::find(unit.reads.begin(), unit.reads.end(), storage) == unit.reads.end()) unit.reads.push_back(storage);
    };
    for (const int id : inputs)
      if (id >= 0) read(id);
    for (const auto& name : node.captured) read(ids_.at(name));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] < 0) continue;
      const bool told = i < inferred.size();
      Value made = TypedValue(value(outputs[i]).name, told ? inferred[i].element_type : 0);
      made.storage = outputs[i];
      made.unit = static_cast<int>(graph_.units.size());
      made.missing = fmt::format("it is made by {}, which is left out", node.Label());
      if (told && inferred[i].has_shape) {
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

  // What the model itself says of a value that inference cannot tell.
  void Describe(Value& made) {
    for (const auto* list : {&model_.described, &model_.outputs})
      for (const OnnxValue& described : *list) {
        if (described.name != made.name || !described.has_shape) continue;
        Shape shape;
        for (const OnnxDim& dim : described.dims) shape.push_back(dim.value);
        if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; })) return;
        Value described_value = TypedValue(made.name, described.element_type);
        made.element_type = described_value.element_type;
        made.type = described_value.type;
        made.has_type = described_value.has_type;
        made.has_shape = true;
        made.shape = std::move(shape);
        return;
      }
  }

  // Tensors without elements are known: there is nothing to compute.
  bool DropEmpty(const std::vector<int>& outputs) {
    bool empty = true;
    for (const int id : outputs) empty = empty && (id < 0 || ElementCount(value(id).shape) == 0);
    if (!empty) return false;
    for (const int id : outputs) {
      if (id < 0) continue;
      Value& v = value(id);
      v.kind = ValueKind::kKnown;
      v.storage = id;
      v.constant = IntegerConstant(v.type, v.shape, {});
    }
    return true;
  }

  // Turns what a lowering emitted into units; those whose inputs are all known are evaluated instead.
  void Commit(int n, OpContext& op, std::size_t first_value, const std::vector<int>& outputs) {
    for (OpContext::Piece& piece : op.pieces) {
      if (piece.stages.empty()) continue;
      Unit unit;
      unit.node = n;
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
          if (std::find(unit.reads.begin(), unit.reads.end(), storage) == unit.reads.end()) unit.reads.push_back(storage);
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
      Value& view = value(id);
      const Value& storage = value(view.storage);
      if (view.storage == id) return;
      view.kind = storage.kind;
      view.constant = storage.constant ? Reshaped(*storage.constant, view.shape) : nullptr;
    };
    for (std::size_t id = first_value; id < graph_.values.size(); ++id) follow(static_cast<int>(id));
    for (const int id : outputs)
      if (id >= 0) follow(id);
  }

  bool Evaluate(const Unit& unit) {
    std::map<int, ConstantPtr> made;
    for (const Stage& stage : unit.stages) {
      const auto data = [&](int id) -> ConstantPtr {
        const Value& v = value(id);
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

  // Convolution followed by nothing but a batch normalisation: W' = W * s and b' = (b - mean) * s + shift with
  // s = scale / sqrt(variance + epsilon), per output channel, computed ahead of time.
  bool TryFoldBatchNorm(int n, const std::vector<int>& inputs, const std::vector<int>& outputs) {
    const OnnxNode& node = model_.nodes[static_cast<std::size_t>(n)];
    if (node.op != "BatchNormalization" || inputs.size() != 5 || uses_.at(node.inputs[0]) != 1) return false;
    const int made_by = value(value(inputs[0]).storage).unit;
    if (made_by < 0) return false;
    const Unit conv_unit = graph_.units[static_cast<std::size_t>(made_by)];
    const OnnxNode& conv = model_.nodes[static_cast<std::size_t>(conv_unit.node)];
    if (conv.op != "Conv" || conv_unit.kind != UnitKind::kContraction || !conv_unit.also.empty()) return false;
    const int x = ids_.at(conv.inputs[0]), w = ids_.at(conv.inputs[1]);
    const int b = conv.inputs.size() > 2 && !conv.inputs[2].empty() ? ids_.at(conv.inputs[2]) : -1;
    for (const int id : {w, b, inputs[1], inputs[2], inputs[3], inputs[4]})
      if (id != b && !KnownAhead(value(id).kind)) return false;
    if (b >= 0 && !KnownAhead(value(b).kind)) return false;

    OpContext norm(model_, graph_, n, inputs, outputs);
    const double epsilon = norm.Float("epsilon", 1e-5);
    if (norm.Int("spatial", 1) == 0 || norm.Int("training_mode", 0) != 0) return false;
    for (int i = 1; i < norm.outputs(); ++i)
      if (norm.Wants(i)) return false;
    const std::size_t first_value = graph_.values.size();
    const Shape shape = value(w).shape;
    const int weight = norm.Temp("folded_weight", value(w).type, shape);
    const int bias = norm.Temp("folded_bias", value(w).type, {shape[0]});
    Stage scaled = MakeStage(weight, shape, "ocrs");
    const Exprs axes = AxesOf(scaled);
    scaled.body = norm.Load(w, axes) * BatchNormScale(norm, axes[0], epsilon);
    norm.Emit(std::move(scaled));
    norm.NewUnit();
    Stage shifted = MakeStage(bias, {shape[0]}, "o");
    const ExprPtr channel = VarExpr(0);
    ExprPtr centred = norm.Load(inputs[3], {channel});
    centred = b >= 0 ? norm.Load(b, {channel}) - centred : UnaryExpr(Op::kNeg, centred);
    shifted.body = centred * BatchNormScale(norm, channel, epsilon) + norm.Load(inputs[2], {channel});
    norm.Emit(std::move(shifted));
    Commit(n, norm, first_value, {});

    OpContext merged(model_, graph_, conv_unit.node, {x, weight, bias}, outputs);
    if (!LowerConv(merged, x, weight, bias)) return false;
    Commit(conv_unit.node, merged, first_value, outputs);
    graph_.units.back().also.push_back(n);
    return true;
  }

  // Units whose results nothing reads any more (their reader was folded), in reverse order of use.
  void DropUnread() {
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
    for (Value& v : graph_.values) v.unit = -1;
    for (std::size_t u = 0; u < graph_.units.size(); ++u)
      for (const int id : graph_.units[u].values) value(id).unit = static_cast<int>(u);
  }

  const OnnxModel& model_;
  Graph graph_;
  std::unordered_map<std::string, int> ids_;
  std::unordered_map<std::string, int> uses_;
  std::vector<bool> live_;
};

}  // namespace

Result<Graph> BuildGraph(const OnnxModel& model, const std::map<std::string, std::int64_t>& dims) {
  return GraphBuilder(model).Run(dims);
}

}  // namespace kindred
