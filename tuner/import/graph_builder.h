// The pass behind BuildGraph: what is known while the nodes are gone through, in order.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/import/graph.h"
#include "tuner/import/infer_node.h"
#include "tuner/import/op_context.h"

namespace kindred {

class GraphBuilder {
 public:
  // `trips`: of loops that do not say how often they run.
  GraphBuilder(const OnnxModel& model, double trips) : model_(model), trips_(trips) {}
  Result<Graph> Run(const std::map<std::string, Shape>& inputs);

  // --- for expansions (expand.h)

  bool IsRead(const std::string& name) const { return uses_.contains(name); }
  const GraphValue& Named(const std::string& name) const {
    return graph_.values[static_cast<std::size_t>(ids_.at(name))];
  }
  // A name that no value has, like `name`.
  std::string FreshName(const std::string& name);
  void AddKnown(const std::string& name, ConstantPtr constant);
  // A sequence whose elements are these values; it is no tensor itself.
  void AddSequence(const std::string& name, std::vector<std::string> elements);
  // nullptr: the value is no sequence, or its elements are not known here.
  const std::vector<std::string>* ElementsOf(int id) const;
  // In the body of a branch that may not be taken, or of a loop.
  bool InBody() const { return scope_ != 0; }
  // Processes a node that the current one is expanded into.
  Result<void> ProcessPart(OnnxNode node);
  // The same with a lowering of the expansion's own; the node's operator is a name for people.
  Result<void> LowerPart(OnnxNode node, const std::function<Result<void>(OpContext& op)>& lowering);

 private:
  GraphValue& value(int id) { return graph_.values[static_cast<std::size_t>(id)]; }

  int AddValue(GraphValue added);
  GraphValue TypedValue(const std::string& name, int element_type) const;
  // Integers and single numbers are known; other floats are weights.
  void SetConstant(GraphValue& target, const OnnxTensor& tensor);
  // A Constant node's data are in no initializer: they stay with the value, also where it is a
  // weight.
  void SetNodeConstant(GraphValue& target, const OnnxTensor& tensor);
  void AddGiven(const std::map<std::string, Shape>& shapes);
  // Nodes that some output of the model depends on, and how often each value is read by those.
  void FindLive();
  // Appends to the graph's nodes, in the current scope. `origin` -1: the node itself.
  int AppendNode(OnnxNode node, int origin);
  Result<void> Process(int n);
  // Whether the node was expanded; if it could be but for some reason, `reason` says why it was
  // not.
  Result<bool> TryExpand(int n, const std::vector<int>& inputs, std::string& reason);
  // quantized_graph.cc: a node that only moves elements of a dequantised value moves the integers
  // that it stands for; units read the integers of those they compute with.
  Result<bool> TryMoveQuantized(int n, const std::vector<int>& inputs);
  void ReadQuantized(OpContext& op);
  std::vector<int> AddOutputs(int n);

  // control_flow.cc. Each gives why the node is left out, "" where it is not.
  Result<std::string> ProcessControl(int n, const std::vector<int>& inputs);
  Result<std::string> ProcessIf(int n, const std::vector<int>& inputs);
  Result<std::string> ProcessLoop(int n, const std::vector<int>& inputs);
  Result<std::string> ProcessScan(int n, const std::vector<int>& inputs);
  // Processes a body's nodes in the current scope.
  Result<ControlNode::Body> ProcessBody(const OnnxGraph& body, std::vector<GraphValue> inputs,
                                        const std::string& label);
  // The same in a scope of its own that runs `times` as often.
  Result<ControlNode::Body> ProcessRuns(const OnnxGraph& body, std::vector<GraphValue> inputs,
                                        const std::string& label, double times);
  GraphValue RunInput(int element_type, Shape shape) const;
  // `control` as far as bodies and axes go.
  void CommitControl(int n, const std::vector<int>& inputs, ControlNode control,
                     std::vector<GraphValue> outputs);

  // Why the node cannot be lowered, or "".
  std::string WhyNotLowered(const OnnxNode& node, const std::vector<int>& inputs) const;
  static std::string WhyUnusable(const GraphValue& v);
  // Names the attributes that no lowering asked for; "" if there are none.
  static std::string UnreadReason(const OpContext& op);
  const OnnxNode& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)].node; }
  // Shape, Constant and the like.
  Result<bool> FoldKnown(int n, const std::vector<int>& inputs, const std::vector<int>& outputs);
  // Stands for a weight where it makes floats: its values are not written into the workloads.
  Result<bool> FoldConstantOfShape(OpContext& op);
  Result<std::vector<InferredType>> Infer(const OnnxNode& node, const std::vector<int>& inputs);
  std::string Compare(const OnnxNode& node, const std::vector<InferredType>& inferred,
                      const std::vector<int>& outputs);
  void ResetOutput(int id);
  Result<void> LeaveOut(int n, const std::vector<int>& inputs, const std::vector<int>& outputs,
                        const std::vector<InferredType>& inferred, const std::string& reason);
  // What the model itself says of a value that inference cannot tell.
  void Describe(GraphValue& made);
  // Tensors without elements are known: there is nothing to compute.
  bool DropEmpty(const std::vector<int>& outputs);
  // Turns what a lowering emitted into units; those whose inputs are all known are evaluated
  // instead.
  void Commit(int n, OpContext& op, std::size_t first_value, const std::vector<int>& outputs);
  bool Evaluate(const Unit& unit);
  // fold_batch_norm.cc: a convolution or product followed by nothing but a batch normalisation.
  bool TryFoldBatchNorm(int n, const std::vector<int>& inputs, const std::vector<int>& outputs);
  // Units whose results nothing reads any more (their reader was folded), in reverse order of use.
  void DropUnread();

  const OnnxModel& model_;
  const double trips_;
  Graph graph_;
  std::unordered_map<std::string, int> ids_;
  std::unordered_map<std::string, int> uses_;
  std::vector<bool> live_;
  int current_ = -1;  // the node that is being expanded, in graph_.nodes; -1: none
  int scope_ = 0, scopes_ = 0;
  double times_ = 1;  // runs of the current scope in one run of the model
  std::int64_t fresh_ = 0;
  struct Sequence {
    std::vector<std::string> names;
    std::vector<int> ids;  // what the names stood for when it was made
  };
  std::map<int, Sequence> sequences_;  // by value
};

}  // namespace kindred
