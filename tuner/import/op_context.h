// What an operator's lowering sees: the node's attributes and inputs, and a builder of stages.
//
// A lowering reads inputs and attributes, declares outputs and emits stages. It fails with
// kUnsupported and a reason (the node is then left out, with that reason) or kBadInput (the model
// is wrong). An attribute that no lowering has asked for is one we do not understand, and makes the
// node left out as well.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/import/graph.h"
#include "tuner/import/onnx_model.h"

namespace kindred {

using Exprs = std::vector<ExprPtr>;

class OpContext {
 public:
  OpContext(const OnnxModel& model, Graph& graph, int node, std::vector<int> inputs,
            std::vector<int> outputs);

  // --- the node
  const OnnxModel& model;
  Graph& graph;
  const OnnxNode& node;
  // Version of the operators of the node's domain.
  int opset() const { return opset_; }

  int inputs() const { return static_cast<int>(inputs_.size()); }
  bool Has(int input) const {
    return input < inputs() && inputs_[static_cast<std::size_t>(input)] >= 0;
  }
  int In(int input) const { return inputs_[static_cast<std::size_t>(input)]; }
  // Valid until the next value is made (Temp, ViewOf).
  const GraphValue& InValue(int input) const {
    return graph.values[static_cast<std::size_t>(In(input))];
  }
  Shape InShape(int input) const { return InValue(input).shape; }
  int outputs() const { return static_cast<int>(outputs_.size()); }
  // The output is there and something reads it.
  bool Wants(int output) const;

  std::int64_t Int(const std::string& name, std::int64_t otherwise);
  double Float(const std::string& name, double otherwise);
  std::string Text(const std::string& name, const std::string& otherwise);
  std::optional<std::vector<std::int64_t>> Ints(const std::string& name);
  std::optional<std::vector<double>> Floats(const std::string& name);
  void Ignore(const std::string& name) { seen_.insert(name); }
  // Names of attributes that were not asked for.
  std::vector<std::string> Unread() const;

  // The data of an input that the computation's form depends on. Error (kUnsupported): not known
  // ahead of time.
  Result<ConstantPtr> Known(int input, const std::string& what) const;
  // As above, as integers.
  Result<std::vector<std::int64_t>> KnownInts(int input, const std::string& what) const;
  // Data if they are known and small, else null.
  ConstantPtr Peek(int input) const;

  // --- the result
  UnitKind kind = UnitKind::kPointwise;
  // The output's value, given its type and shape.
  int Out(int output, DataType type, Shape shape);
  // A value between stages. `suffix` makes its name.
  int Temp(const std::string& suffix, DataType type, Shape shape);
  // The output is `value`'s memory in another shape.
  void View(int output, int value, Shape shape);
  // A value of the same memory in another shape.
  int ViewOf(int value, Shape shape);
  // The output is known.
  void Known(int output, ConstantPtr constant);
  void Emit(Stage stage);
  // What follows belongs to a unit of its own.
  void NewUnit();
  // The value's elements are used as an index and lie in [low, high).
  void UseAsIndex(int value, std::int64_t low, std::int64_t high);

  // --- expressions
  // A load, or the literal where the value is a known constant of equal elements.
  ExprPtr Load(int value, Exprs indices) const;
  // The value at the spatial axes of a stage whose shape it broadcasts to, aligned at the end.
  ExprPtr Broadcast(int value, const Stage& stage) const;

  struct Piece {
    UnitKind kind;
    std::vector<Stage> stages;
    std::vector<IndexUse> index_uses;
  };
  std::vector<Piece> pieces;

 private:
  std::vector<int> inputs_, outputs_;
  int opset_;
  std::set<std::string> seen_;
};

// A stage of `shape` with axes named i, j, k, ... (or `names`, one letter each), body still to be
// set.
Stage MakeStage(int tensor, const Shape& shape, const std::string& names = "");
// Its axes as expressions.
Exprs AxesOf(const Stage& stage);
void AddReductionAxis(Stage& stage, const std::string& name, std::int64_t extent);
void SetReduction(Stage& stage, Combiner combiner, DataType accumulator);

// Numpy's broadcasting. Error (kBadInput): extents that differ and are not 1.
Result<Shape> BroadcastShapes(const OpContext& op, const std::vector<Shape>& shapes);
// Error (kBadInput): input `input` is there and does not broadcast to `shape` without making it
// larger.
Result<void> CheckBroadcasts(const OpContext& op, int input, const Shape& shape);
// Error (kBadInput): input `input` is there and has another shape.
Result<void> CheckShape(const OpContext& op, int input, const Shape& shape);
// A negative axis counts from the end. Error (kBadInput): outside the rank.
Result<std::int64_t> NormaliseAxis(const OpContext& op, std::int64_t axis, std::size_t rank);
Result<std::vector<std::int64_t>> NormaliseAxes(const OpContext& op, std::vector<std::int64_t> axes,
                                                std::size_t rank);

// All floats are written so: a literal of the value's type.
ExprPtr Literal(double value, DataType type);

}  // namespace kindred
