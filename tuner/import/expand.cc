#include "tuner/import/expand.h"

#include "tuner/import/graph_builder.h"

namespace kindred {

std::string Expander::In(int input) const {
  return op.Has(input) ? op.node.inputs[static_cast<std::size_t>(input)] : "";
}

bool Expander::Wants(int output) const {
  return output < static_cast<int>(op.node.outputs.size()) &&
         builder_.IsRead(op.node.outputs[static_cast<std::size_t>(output)]);
}

const GraphValue& Expander::ValueOf(const std::string& name) const { return builder_.Named(name); }

bool Expander::InBody() const { return builder_.InBody(); }

const std::vector<std::string>* Expander::Sequence(int input) const {
  return op.Has(input) ? builder_.ElementsOf(op.In(input)) : nullptr;
}

void Expander::SetSequence(int output, std::vector<std::string> elements) {
  builder_.AddSequence(Out(output), std::move(elements));
}

Result<std::string> Expander::Add(const std::string& type, std::vector<std::string> inputs,
                                  Attributes attributes) {
  std::string made = Fresh();
  KINDRED_CHECK(AddNode(type, std::move(inputs), {made}, std::move(attributes)));
  return made;
}

Result<std::vector<std::string>> Expander::AddMany(const std::string& type,
                                                   std::vector<std::string> inputs, int outputs,
                                                   Attributes attributes) {
  std::vector<std::string> made;
  for (int i = 0; i < outputs; ++i) made.push_back(Fresh());
  KINDRED_CHECK(AddNode(type, std::move(inputs), made, std::move(attributes)));
  return made;
}

Result<void> Expander::AddOut(int output, const std::string& type, std::vector<std::string> inputs,
                              Attributes attributes) {
  return AddNode(type, std::move(inputs), {op.node.outputs[static_cast<std::size_t>(output)]},
                 std::move(attributes));
}

Result<void> Expander::Lower(const std::string& name, std::vector<std::string> inputs,
                             std::vector<std::string> outputs, const StageLowering& lowering) {
  OnnxNode node;
  node.name = op.node.name;
  node.op = name;
  node.opset = kExpansionOpset;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return builder_.LowerPart(std::move(node), lowering);
}

std::string Expander::Ints(const std::vector<std::int64_t>& values) {
  return Constant(
      IntegerConstant(DataType::kI64, {static_cast<std::int64_t>(values.size())}, values));
}

std::string Expander::Number(double value, DataType type) { return Floats({}, {value}, type); }

std::string Expander::Integer(std::int64_t value, DataType type) {
  return Constant(IntegerConstant(type, {}, {value}));
}

std::string Expander::Floats(Shape shape, const std::vector<double>& values, DataType type) {
  return Constant(
      std::make_shared<ConstantTensor>(ConstantTensor{type, std::move(shape), {}, values, false}));
}

std::string Expander::Fresh() { return builder_.FreshName(op.node.name); }

std::string Expander::Constant(ConstantPtr constant) {
  std::string name = Fresh();
  builder_.AddKnown(name, std::move(constant));
  return name;
}

Result<void> Expander::AddNode(const std::string& type, std::vector<std::string> inputs,
                               std::vector<std::string> outputs, Attributes attributes) {
  OnnxNode node;
  node.name = op.node.name;
  node.op = type;
  node.opset = kExpansionOpset;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return builder_.ProcessPart(std::move(node));
}

OnnxAttribute IntAttribute(std::int64_t value) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kInt;
  attribute.integer = value;
  return attribute;
}

OnnxAttribute IntsAttribute(std::vector<std::int64_t> values) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kInts;
  attribute.integers = std::move(values);
  return attribute;
}

OnnxAttribute FloatAttribute(double value) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kFloat;
  attribute.number = value;
  return attribute;
}

OnnxAttribute TextAttribute(std::string value) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kString;
  attribute.text = std::move(value);
  return attribute;
}

Expansion FindExpansion(const OnnxNode& node) {
  static const ExpansionTable table = [] {
    ExpansionTable all;
    AddAttentionExpansions(all);
    AddFeatureExpansions(all);
    AddGroupQueryExpansions(all);
    AddLinearModelExpansions(all);
    AddLossExpansions(all);
    AddMicrosoftAttentionExpansions(all);
    AddMicrosoftExpansions(all);
    AddMicrosoftNormExpansions(all);
    AddQuantizedExpansions(all);
    AddRecurrenceExpansions(all);
    AddRecurrentExpansions(all);
    AddSequenceExpansions(all);
    AddTreeExpansions(all);
    return all;
  }();
  const auto found = table.find(node.Kind());
  return found == table.end() ? nullptr : found->second;
}

}  // namespace kindred
