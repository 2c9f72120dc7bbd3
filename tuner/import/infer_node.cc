#include "tuner/import/infer_node.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <unordered_set>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include "tuner/import/infer_newer.h"
#include "tuner/import/operator_table.h"

namespace kindred {
namespace {

constexpr std::int64_t kLargestInferenceConstant = 4096;

void FillTensor(const ConstantTensor& constant, onnx::TensorProto& proto) {
  proto.set_data_type(ToOnnxType(constant.type));
  for (const std::int64_t extent : constant.shape) proto.add_dims(extent);
  for (std::int64_t i = 0; i < constant.elements(); ++i) {
    switch (constant.type) {
      case DataType::kF32: proto.add_float_data(static_cast<float>(constant.Number(i))); break;
      case DataType::kF64: proto.add_double_data(constant.Number(i)); break;
      case DataType::kI64: proto.add_int64_data(constant.Integer(i)); break;
      default: proto.add_int32_data(static_cast<std::int32_t>(constant.Integer(i))); break;
    }
  }
}

void FillAttribute(const std::string& name, const OnnxAttribute& attribute,
                   onnx::AttributeProto& proto) {
  proto.set_name(name);
  using Kind = OnnxAttribute::Kind;
  switch (attribute.kind) {
    case Kind::kInt:
      proto.set_type(onnx::AttributeProto::INT);
      proto.set_i(attribute.integer);
      break;
    case Kind::kFloat:
      proto.set_type(onnx::AttributeProto::FLOAT);
      proto.set_f(static_cast<float>(attribute.number));
      break;
    case Kind::kString:
      proto.set_type(onnx::AttributeProto::STRING);
      proto.set_s(attribute.text);
      break;
    case Kind::kInts:
      proto.set_type(onnx::AttributeProto::INTS);
      for (const std::int64_t value : attribute.integers) proto.add_ints(value);
      break;
    case Kind::kFloats:
      proto.set_type(onnx::AttributeProto::FLOATS);
      for (const double value : attribute.numbers) proto.add_floats(static_cast<float>(value));
      break;
    case Kind::kStrings:
      proto.set_type(onnx::AttributeProto::STRINGS);
      for (const auto& value : attribute.texts) proto.add_strings(value);
      break;
    case Kind::kTensor:
      proto.set_type(onnx::AttributeProto::TENSOR);
      if (attribute.tensor.data) {
        FillTensor(*attribute.tensor.data, *proto.mutable_t());
      } else {
        proto.mutable_t()->set_data_type(attribute.tensor.element_type);
        for (const std::int64_t extent : attribute.tensor.shape)
          proto.mutable_t()->add_dims(extent);
      }
      break;
    case Kind::kGraph:
    case Kind::kOther: break;
  }
}

void FillValue(const NodeInput& input, onnx::ValueInfoProto& proto) {
  proto.set_name(input.name);
  auto& tensor = *proto.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(input.element_type);
  if (!input.has_shape) return;
  tensor.mutable_shape();
  for (const std::int64_t extent : input.shape)
    tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

InferredType ConvertType(const onnx::TypeProto& type) {
  InferredType result;
  if (!type.has_tensor_type()) return result;
  result.element_type = type.tensor_type().elem_type();
  if (!type.tensor_type().has_shape()) return result;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (!dim.has_dim_value()) return result;
    result.shape.push_back(dim.dim_value());
  }
  result.has_shape = true;
  return result;
}

// The operator's definition, nullptr where libonnx has none for this operator set.
const onnx::OpSchema* SchemaOf(const OnnxNode& node, int opset) {
  const auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = domains.find(node.domain);
  if (opset == 0 || range == domains.end() || opset > range->second.second) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op, opset, node.domain);
}

bool HasSubgraphs(const OnnxNode& node) {
  for (const auto& [name, attribute] : node.attributes)
    if (attribute.kind == OnnxAttribute::Kind::kGraph ||
        attribute.kind == OnnxAttribute::Kind::kOther)
      return true;
  return false;
}

void FillNode(const OnnxNode& node, onnx::NodeProto& proto) {
  proto.set_op_type(node.op);
  proto.set_domain(node.domain);
  proto.set_name(node.name);
  for (const auto& [name, attribute] : node.attributes)
    FillAttribute(name, attribute, *proto.add_attribute());
  for (const auto& input : node.inputs) proto.add_input(input);
  for (const auto& output : node.outputs) proto.add_output(output);
}

Error Contradicts(const OnnxModel& model, const OnnxNode& node, std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return BadInput(model.path + ": " + node.Label() +
                  " contradicts its operator's definition: " + text);
}

// libonnx divides by the numbers without a look, and takes any text for NOTSET.
std::string ImplausibleAttribute(const OnnxNode& node) {
  constexpr std::string_view kAutoPads[] = {"", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  if (const auto pad = node.attributes.find("auto_pad");
      pad != node.attributes.end() &&
      std::ranges::find(kAutoPads, pad->second.text) == std::end(kAutoPads))
    return "auto_pad is '" + pad->second.text + "'";
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const char* name : {"strides", "dilations", "kernel_shape", "group", "blocksize",
                           "num_outputs", "pads", "output_padding", "output_shape", "split"}) {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) continue;
    const std::string_view named = name;
    const bool may_be_zero = named == "pads" || named == "output_padding" || named == "split";
    std::vector<std::int64_t> numbers = found->second.integers;
    if (found->second.kind == OnnxAttribute::Kind::kInt) numbers = {found->second.integer};
    for (const std::int64_t number : numbers)
      if (number > kMost || (named == "pads" ? number < -kMost : number < (may_be_zero ? 0 : 1)))
        return std::string(named) + " holds " + std::to_string(number);
  }
  return "";
}

// libonnx indexes the attributes of windows by the ranks of its inputs without a look.
bool WindowsFit(const OnnxNode& node, const std::vector<NodeInput>& inputs) {
  const bool convolves = node.op.find("Conv") != std::string::npos;
  if ((!convolves && node.op.find("Pool") == std::string::npos) || inputs.empty()) return true;
  if (!inputs[0].has_shape) return true;
  const std::size_t rank = inputs[0].shape.size();
  if (rank < 3 && node.op != "MaxRoiPool") return false;
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (convolves && inputs[i].has_shape && inputs[i].shape.size() != rank &&
        inputs[i].shape.size() != 1)
      return node.op != "Conv" && node.op != "ConvTranspose";
  if (convolves && inputs.size() > 1 && inputs[1].has_shape && inputs[1].shape.size() == 1)
    return false;
  const auto fits = [&](const char* name, std::size_t count) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() || found->second.integers.size() == count;
  };
  return node.op == "MaxRoiPool" || (fits("strides", rank - 2) && fits("dilations", rank - 2) &&
                                     fits("kernel_shape", rank - 2) && fits("pads", 2 * rank - 4) &&
                                     fits("output_padding", rank - 2));
}

}  // namespace

bool KnownToLibrary(const OnnxNode& node) {
  return SchemaOf(node, node.domain.empty() ? std::min(node.opset, kNewestOpset) : node.opset) !=
         nullptr;
}

int LeastInputs(const OnnxNode& node) {
  const onnx::OpSchema* schema =
      SchemaOf(node, node.domain.empty() ? std::min(node.opset, kNewestOpset) : node.opset);
  if (schema != nullptr) return schema->min_input();
  const OperatorDefinition* newer =
      node.domain.empty() ? FindNewerDefinition(node.op, kNewestTabled) : nullptr;
  return newer == nullptr ? 1 : newer->least_inputs;
}

Result<void> VerifyNode(const OnnxModel& model, const OnnxNode& node) {
  const bool own = node.domain.empty();
  if (own && node.opset > kNewestTabled) return {};
  const OperatorDefinition* newer = own ? FindNewerDefinition(node.op, node.opset) : nullptr;
  const onnx::OpSchema* schema =
      SchemaOf(node, own ? std::min(node.opset, kNewestOpset) : node.opset);
  if (HasSubgraphs(node) || (newer == nullptr && schema == nullptr)) return {};
  if (newer != nullptr) {
    if (const std::string text = Contradiction(*newer, node); !text.empty())
      return Contradicts(model, node, text);
  } else {
    onnx::NodeProto proto;
    FillNode(node, proto);
    try {
      schema->Verify(proto);
    } catch (const std::exception& problem) {
      return Contradicts(model, node, problem.what());
    }
  }
  if (const std::string text = ImplausibleAttribute(node); !text.empty())
    return Contradicts(model, node, text);
  return {};
}

namespace {

std::vector<InferredType> InferByLibrary(const OnnxNode& node, const std::vector<NodeInput>& inputs,
                                         bool check_types, std::string& problem) {
  std::vector<InferredType> result(node.outputs.size());
  onnx::ModelProto one;
  one.set_ir_version(8);
  auto& opset = *one.add_opset_import();
  opset.set_domain(node.domain);
  opset.set_version(node.opset);
  auto& graph = *one.mutable_graph();
  graph.set_name("node");
  FillNode(node, *graph.add_node());
  std::unordered_set<std::string> declared;
  for (const NodeInput& input : inputs) {
    if (input.name.empty() || input.element_type == 0 || !declared.insert(input.name).second)
      continue;
    FillValue(input, *graph.add_input());
    if (input.constant && input.constant->elements() <= kLargestInferenceConstant) {
      auto& initializer = *graph.add_initializer();
      FillTensor(*input.constant, initializer);
      initializer.set_name(input.name);
    }
  }
  try {
    const onnx::ShapeInferenceOptions options(check_types, 1, false);
    onnx::shape_inference::InferShapes(one, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& thrown) {
    problem = thrown.what();
    return result;
  }
  for (const auto& value : graph.value_info())
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] == value.name()) result[i] = ConvertType(value.type());
  return result;
}

}  // namespace

Result<std::vector<InferredType>> InferNode(const OnnxModel& model, const OnnxNode& node,
                                            const std::vector<NodeInput>& inputs, bool of_model) {
  const std::vector<InferredType> nothing(node.outputs.size());
  if (HasSubgraphs(node)) return nothing;
  const bool newer = node.domain.empty() && node.opset > kNewestOpset;
  if (newer && node.opset > kNewestTabled) return nothing;
  if (newer) {
    if (auto inferred = InferNewer(node, inputs)) return *inferred;
  }
  const auto older = newer ? AsOlder(node, inputs) : OlderNode{node, inputs};
  if (!older || SchemaOf(older->node, older->node.opset) == nullptr) return nothing;
  if (!WindowsFit(older->node, older->inputs))
    return Contradicts(model, node, "its window or its weight does not fit its input's dimensions");
  std::string problem;
  auto inferred = InferByLibrary(older->node, older->inputs, !newer, problem);
  const bool all_known = std::all_of(inputs.begin(), inputs.end(), [](const NodeInput& input) {
    return input.name.empty() || input.element_type != 0;
  });
  if (!problem.empty() && !newer && of_model && all_known) return Contradicts(model, node, problem);
  return inferred;
}

}  // namespace kindred
