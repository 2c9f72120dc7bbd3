// Fused operators, expanded into nodes of simpler ones.
//
// An expansion adds nodes one by one; each is lowered at once, so that the types and shapes of its
// outputs can be asked for before the next is added. What cannot be expanded must be told before
// the first node is added, or the nodes added so far are work for nothing (they are dropped,
// unread).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/import/op_context.h"

namespace kindred {

class GraphBuilder;

class Expander {
 public:
  // `op` gives the node's attributes and inputs; its outputs are not there yet.
  Expander(GraphBuilder& builder, OpContext& node) : op(node), builder_(builder) {}

  OpContext& op;

  using Attributes = std::map<std::string, OnnxAttribute>;

  // The name of an input; "" where it is left away.
  std::string In(int input) const;
  // The output is there and something reads it.
  bool Wants(int output) const;
  // A value made so far, or an input.
  const GraphValue& ValueOf(const std::string& name) const;
  const Shape& ShapeOf(const std::string& name) const { return ValueOf(name).shape; }

  // In the body of a branch that may not be taken, or of a loop.
  bool InBody() const;
  // The names of a sequence's elements; nullptr where the input is none whose elements are known.
  const std::vector<std::string>* Sequence(int input) const;
  // The output is a sequence of these values.
  void SetSequence(int output, std::vector<std::string> elements);

  // Adds a node of ONNX's own domain, as of the operator set that Kindred's lowerings read
  // (kExpansionOpset), with one output, and gives the output's name. Inputs may be "".
  Result<std::string> Add(const std::string& type, std::vector<std::string> inputs,
                          Attributes attributes = {});
  // The same with `outputs` outputs.
  Result<std::vector<std::string>> AddMany(const std::string& type, std::vector<std::string> inputs,
                                           int outputs, Attributes attributes = {});
  // The same, whose output is an output of the expanded node.
  Result<void> AddOut(int output, const std::string& type, std::vector<std::string> inputs,
                      Attributes attributes = {});
  // Stages of the expansion's own: `lowering` reads `inputs` and makes `outputs`, each a fresh name
  // or an output of the expanded node. `name` stands for an operator, for people.
  using StageLowering = std::function<Result<void>(OpContext& op)>;
  Result<void> Lower(const std::string& name, std::vector<std::string> inputs,
                     std::vector<std::string> outputs, const StageLowering& lowering);
  std::string Fresh();
  // The name of an output of the expanded node.
  std::string Out(int output) const { return op.node.outputs[static_cast<std::size_t>(output)]; }
  // Constants: i64 of one dimension; a scalar of a floating or an integer type; floats, which stand
  // for weights.
  std::string Ints(const std::vector<std::int64_t>& values);
  std::string Number(double value, DataType type = DataType::kF32);
  std::string Integer(std::int64_t value, DataType type);
  std::string Floats(Shape shape, const std::vector<double>& values,
                     DataType type = DataType::kF32);
  std::string Constant(ConstantPtr constant);

 private:
  Result<void> AddNode(const std::string& type, std::vector<std::string> inputs,
                       std::vector<std::string> outputs, Attributes attributes);

  GraphBuilder& builder_;
};

// The operator set whose definitions the nodes of expansions follow.
inline constexpr int kExpansionOpset = 17;

OnnxAttribute IntAttribute(std::int64_t value);
OnnxAttribute IntsAttribute(std::vector<std::int64_t> values);
OnnxAttribute FloatAttribute(double value);
OnnxAttribute TextAttribute(std::string value);

using Expansion = Result<void> (*)(Expander& e);
using ExpansionTable = std::map<std::string_view, Expansion>;

// nullptr: not an operator that is expanded. Operators of other domains are named "domain:op".
Expansion FindExpansion(const OnnxNode& node);

void AddAttentionExpansions(ExpansionTable& table);
void AddFeatureExpansions(ExpansionTable& table);
void AddGroupQueryExpansions(ExpansionTable& table);
void AddLinearModelExpansions(ExpansionTable& table);
void AddLossExpansions(ExpansionTable& table);
void AddMicrosoftAttentionExpansions(ExpansionTable& table);
void AddMicrosoftExpansions(ExpansionTable& table);
void AddMicrosoftNormExpansions(ExpansionTable& table);
void AddQuantizedExpansions(ExpansionTable& table);
void AddRecurrenceExpansions(ExpansionTable& table);
void AddRecurrentExpansions(ExpansionTable& table);
void AddSequenceExpansions(ExpansionTable& table);
void AddTreeExpansions(ExpansionTable& table);

}  // namespace kindred
