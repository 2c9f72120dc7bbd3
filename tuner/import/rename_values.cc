#include "tuner/import/rename_values.h"

#include <memory>

namespace kindred {
namespace {

// What the body makes itself keeps its name.
std::shared_ptr<const OnnxGraph> Renamed(NewNames names, const OnnxGraph& graph) {
  for (const OnnxValue& input : graph.inputs) names.erase(input.name);
  for (const OnnxTensor& tensor : graph.initializers) names.erase(tensor.name);
  for (const OnnxNode& node : graph.nodes)
    for (const std::string& output : node.outputs) names.erase(output);
  auto renamed = std::make_shared<OnnxGraph>(graph);
  for (OnnxNode& node : renamed->nodes) RenameValues(names, node);
  for (OnnxValue& output : renamed->outputs) output.name = NewName(names, output.name);
  return renamed;
}

}  // namespace

std::string NewName(const NewNames& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

void RenameValues(const NewNames& names, OnnxNode& node) {
  for (auto* list : {&node.inputs, &node.outputs, &node.captured})
    for (std::string& name : *list) name = NewName(names, name);
  std::erase(node.captured, "");
  for (auto& [name, attribute] : node.attributes)
    if (attribute.graph) attribute.graph = Renamed(names, *attribute.graph);
}

OnnxGraph RenamedBody(OnnxGraph body, NewNames names, const std::string& prefix) {
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names[name] = prefix + name;
  };
  for (const OnnxValue& input : body.inputs) add(input.name);
  for (const OnnxTensor& tensor : body.initializers) add(tensor.name);
  for (const OnnxNode& node : body.nodes)
    for (const std::string& output : node.outputs) add(output);
  for (auto* list : {&body.inputs, &body.outputs, &body.described})
    for (OnnxValue& value : *list) value.name = NewName(names, value.name);
  for (OnnxTensor& tensor : body.initializers) tensor.name = NewName(names, tensor.name);
  for (OnnxNode& node : body.nodes) RenameValues(names, node);
  return body;
}

}  // namespace kindred
