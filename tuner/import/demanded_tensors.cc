#include "tuner/import/demanded_tensors.h"

#include <deque>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

namespace kindred {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

struct ShapeInput {
  std::string_view op;
  int input;
  std::string_view what;
};
constexpr ShapeInput kShapeInputs[] = {
    {"Resize", 1, "region"}, {"Resize", 2, "scales"}, {"Upsample", 1, "scales"}};

// Operators whose output is their first input's memory.
bool IsView(std::string_view op) {
  return op == "Identity" || op == "Reshape" || op == "Flatten" || op == "Squeeze" ||
         op == "Unsqueeze" || op == "Dropout" || op == "Cast" || op == "CastLike";
}

// The names that a graph, a body or a function defines.
struct Scope {
  const Scope* outer = nullptr;
  const onnx::FunctionProto* function = nullptr;
  std::map<std::string, const google::protobuf::Message*> tensors;
  std::map<std::string, std::string> views;  // of what
  std::set<std::string> others;              // made otherwise
  std::vector<const NodeProto*> nodes;
};

class Finder {
 public:
  explicit Finder(const onnx::ModelProto& model) {
    AddGraph(model.graph(), nullptr);
    for (const auto& function : model.functions()) {
      Scope& scope = scopes_.emplace_back();
      scope.function = &function;
      AddNodes(function.node(), scope);
    }
  }

  std::map<const google::protobuf::Message*, std::string> Run() {
    // Until nothing new is found: arguments follow from the functions' own use of them.
    for (std::size_t known = 0, before = 1; known != before;) {
      before = found_.size() + arguments_.size();
      for (const Scope& scope : scopes_)
        for (const NodeProto* node : scope.nodes) Look(scope, *node);
      known = found_.size() + arguments_.size();
    }
    return std::move(found_);
  }

 private:
  void AddGraph(const GraphProto& graph, const Scope* outer) {
    Scope& scope = scopes_.emplace_back();
    scope.outer = outer;
    for (const TensorProto& tensor : graph.initializer()) scope.tensors[tensor.name()] = &tensor;
    for (const auto& input : graph.input()) scope.others.insert(input.name());
    AddNodes(graph.node(), scope);
  }

  void AddNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope) {
    for (const NodeProto& node : nodes) {
      scope.nodes.push_back(&node);
      for (const std::string& output : node.output()) scope.others.insert(output);
      if (node.output_size() > 0 && node.input_size() > 0 && IsView(node.op_type()))
        scope.views[node.output(0)] = node.input(0);
      for (const auto& attribute : node.attribute()) {
        if (node.op_type() == "Constant" && node.output_size() > 0) {
          scope.tensors[node.output(0)] = &attribute;
          if (attribute.has_t()) scope.tensors[node.output(0)] = &attribute.t();
        }
        if (attribute.has_g()) AddGraph(attribute.g(), &scope);
        for (const GraphProto& graph : attribute.graphs()) AddGraph(graph, &scope);
      }
    }
  }

  void Look(const Scope& scope, const NodeProto& node) {
    const std::string label =
        node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    for (const ShapeInput& input : kShapeInputs)
      if (node.op_type() == input.op && input.input < node.input_size())
        Demand(scope, node.input(input.input),
               std::string(input.what) + " of '" + label + "' (" + node.op_type() + ")");
    for (int i = 0; i < node.input_size(); ++i) {
      const auto argument = arguments_.find({node.domain() + ":" + node.op_type(), i});
      if (argument != arguments_.end()) Demand(scope, node.input(i), argument->second);
    }
  }

  void Demand(const Scope& from, std::string name, const std::string& reason) {
    const Scope* scope = &from;
    for (int steps = 0; scope != nullptr && steps < 10000; ++steps) {
      if (const auto tensor = scope->tensors.find(name); tensor != scope->tensors.end()) {
        found_.emplace(tensor->second, reason);
        return;
      }
      if (const auto view = scope->views.find(name); view != scope->views.end()) {
        name = view->second;
        continue;
      }
      if (scope->function != nullptr) {
        const auto& inputs = scope->function->input();
        for (int i = 0; i < inputs.size(); ++i)
          if (inputs[i] == name)
            arguments_.emplace(
                std::pair(scope->function->domain() + ":" + scope->function->name(), i), reason);
      }
      if (scope->others.contains(name)) return;
      scope = scope->outer;
    }
  }

  std::deque<Scope> scopes_;  // stays in place
  std::map<const google::protobuf::Message*, std::string> found_;
  std::map<std::pair<std::string, int>, std::string> arguments_;  // of functions, by position
};

}  // namespace

std::map<const google::protobuf::Message*, std::string> DemandedTensors(
    const onnx::ModelProto& model) {
  return Finder(model).Run();
}

}  // namespace kindred
