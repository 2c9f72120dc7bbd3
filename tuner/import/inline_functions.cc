#include "tuner/import/inline_functions.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tuner/import/rename_values.h"
#include "tuner/import/sort_nodes.h"

namespace kindred {
namespace {

constexpr int kMostNodes = 1'000'000;

std::string LabelOf(const OnnxFunction& function) {
  return function.domain.empty() ? function.name : function.domain + ":" + function.name;
}

class Inliner {
 public:
  explicit Inliner(const OnnxModel& model) : model_(model) {
    for (const OnnxFunction& function : model.functions)
      functions_[{function.domain == "ai.onnx" ? "" : function.domain, function.name,
                  function.overload}] = &function;
    NoteNames(model);
  }

  Result<void> Run(OnnxGraph& graph, bool nested) {
    KINDRED_TRY(const bool changed, RunNodes(graph.nodes));
    if (changed) KINDRED_CHECK(SortNodes(model_.path, graph, nested));
    return {};
  }

 private:
  const OnnxFunction* Called(const OnnxNode& node) const {
    const auto found = functions_.find({node.domain, node.op, node.overload});
    return found == functions_.end() ? nullptr : found->second;
  }

  void NoteNames(const OnnxGraph& graph) {
    for (const OnnxValue& input : graph.inputs) names_.insert(input.name);
    for (const OnnxTensor& tensor : graph.initializers) names_.insert(tensor.name);
    for (const OnnxNode& node : graph.nodes) {
      names_.insert(node.outputs.begin(), node.outputs.end());
      for (const auto& [name, attribute] : node.attributes)
        if (attribute.graph) NoteNames(*attribute.graph);
    }
  }

  std::string Fresh(const std::string& name) {
    std::string fresh = name;
    for (int count = 2; !names_.insert(fresh).second; ++count)
      fresh = fmt::format("{}_{}", name, count);
    return fresh;
  }

  // Whether any call was among the nodes or in their bodies.
  Result<bool> RunNodes(std::vector<OnnxNode>& nodes) {
    bool changed = false;
    std::vector<OnnxNode> done;
    for (OnnxNode& node : nodes) {
      for (auto& [name, attribute] : node.attributes) {
        if (!attribute.graph) continue;
        auto body = std::make_shared<OnnxGraph>(*attribute.graph);
        KINDRED_CHECK(Run(*body, true));
        attribute.graph = std::move(body);
      }
      const OnnxFunction* function = Called(node);
      if (function == nullptr) {
        done.push_back(std::move(node));
        continue;
      }
      changed = true;
      KINDRED_TRY(auto inner, Expand(node, *function));
      std::move(inner.begin(), inner.end(), std::back_inserter(done));
    }
    nodes = std::move(done);
    return changed;
  }

  // The function's nodes for one call, without calls among them.
  Result<std::vector<OnnxNode>> Expand(const OnnxNode& call, const OnnxFunction& function) {
    const auto again = std::find(calls_.begin(), calls_.end(), &function);
    if (again != calls_.end()) {
      std::string chain;
      for (auto at = again; at != calls_.end(); ++at) chain += LabelOf(**at) + " -> ";
      return BadInput(fmt::format("{}: function '{}' calls itself ({}{}); ONNX forbids that",
                                  model_.path, LabelOf(function), chain, LabelOf(function)));
    }
    count_ += static_cast<int>(function.nodes.size());
    if (count_ > kMostNodes)
      return BadInput(fmt::format("{}: its functions expand to more than {} nodes", model_.path,
                                  kMostNodes));
    KINDRED_TRY(std::vector<OnnxNode> nodes, Instantiate(call, function));
    calls_.push_back(&function);
    KINDRED_CHECK(RunNodes(nodes));
    calls_.pop_back();
    return nodes;
  }

  Result<std::vector<OnnxNode>> Instantiate(const OnnxNode& call, const OnnxFunction& function) {
    if (call.inputs.size() > function.inputs.size() ||
        call.outputs.size() > function.outputs.size())
      return BadInput(fmt::format(
          "{}: {} has {} inputs and {} outputs, but the model's function '{}' has {} and {}",
          model_.path, call.Label(), call.inputs.size(), call.outputs.size(), LabelOf(function),
          function.inputs.size(), function.outputs.size()));
    NewNames names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    std::set<std::string> made;
    for (const OnnxNode& node : function.nodes)
      for (const std::string& output : node.outputs)
        if (!output.empty() && !names.contains(output)) made.insert(output);
    std::vector<std::pair<std::string, std::string>> copies;  // formal output, name in the model
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      const std::string& output = function.outputs[i];
      if (made.contains(output) && !names.contains(output)) {
        names[output] = call.outputs[i];
      } else {
        copies.emplace_back(output, call.outputs[i]);
      }
    }
    for (const std::string& name : made)
      if (!names.contains(name)) names[name] = Fresh(call.name + "/" + name);

    std::vector<OnnxNode> nodes;
    for (const OnnxNode& inner : function.nodes) {
      OnnxNode node = inner;
      RenameValues(names, node);
      node.name = call.name + "/" + inner.name;
      GiveAttributes(call, function, node);
      nodes.push_back(std::move(node));
    }
    for (const auto& [output, name] : copies) {
      OnnxNode copy;
      copy.name = name;
      copy.op = "Identity";
      copy.opset = model_.opset();
      copy.inputs = {NewName(names, output)};
      copy.outputs = {name};
      nodes.push_back(std::move(copy));
    }
    return nodes;
  }

  // Attributes that refer to the call's; operator sets that the function does not name.
  void GiveAttributes(const OnnxNode& call, const OnnxFunction& function, OnnxNode& node) const {
    if (node.opset == 0)
      if (const auto opset = model_.opsets.find(node.domain); opset != model_.opsets.end())
        node.opset = opset->second;
    for (auto at = node.attributes.begin(); at != node.attributes.end();) {
      OnnxAttribute& attribute = at->second;
      if (attribute.graph) {
        auto body = std::make_shared<OnnxGraph>(*attribute.graph);
        for (OnnxNode& inner : body->nodes) GiveAttributes(call, function, inner);
        attribute.graph = std::move(body);
      }
      if (attribute.reference.empty()) {
        ++at;
        continue;
      }
      const auto given = call.attributes.find(attribute.reference);
      const auto standard = function.defaults.find(attribute.reference);
      if (given == call.attributes.end() && standard == function.defaults.end()) {
        at = node.attributes.erase(at);
        continue;
      }
      const bool from_call = given != call.attributes.end();
      attribute = from_call ? given->second : standard->second;
      if (from_call && attribute.graph)
        node.captured.insert(node.captured.end(), call.captured.begin(), call.captured.end());
      ++at;
    }
  }

  const OnnxModel& model_;
  std::map<std::tuple<std::string, std::string, std::string>, const OnnxFunction*> functions_;
  std::set<std::string> names_;
  std::vector<const OnnxFunction*> calls_;  // being expanded, outermost first
  int count_ = 0;
};

}  // namespace

Result<void> InlineFunctions(OnnxModel& model) {
  if (model.functions.empty()) return {};
  return Inliner(model).Run(model, false);
}

}  // namespace kindred
