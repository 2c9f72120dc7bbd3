#include "tuner/import/infer_node.h"

#include <exception>
#include <unordered_set>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

namespace kindred {
namespace {

constexpr std::int64_t kLargestInferenceConstant = 4096;

void FillTensor(const ConstantTensor& constant, onnx::TensorProto& proto) {
  proto.set_data_type(ToOnnxType(constant.type));
  for (const std::int64_t extent : constant.shape) proto.add_dims(extent);
  for (std::int64_t i = 0; i < constant.elements(); ++i) {
    switch (constant.type) {
      case DataType::kF32:
        proto.add_float_data(static_cast<float>(constant.Number(i)));
        break;
      case DataType::kF64:
        proto.add_double_data(constant.Number(i));
        break;
      case DataType::kI64:
        proto.add_int64_data(constant.Integer(i));
        break;
      default:
        proto.add_int32_data(static_cast<std::int32_t>(constant.Integer(i)));
        break;
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
    case Kind::kOther:
      break;
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

}  // namespace

Result<std::vector<InferredType>> InferNode(const OnnxModel& model, const OnnxNode& node,
                                            const std::vector<NodeInput>& inputs) {
  std::vector<InferredType> result(node.outputs.size());
  for (const auto& [name, attribute] : node.attributes)
    if (attribute.kind == OnnxAttribute::Kind::kGraph ||
        attribute.kind == OnnxAttribute::Kind::kOther)
      return result;
  const auto version = model.opsets.find(node.domain);
  const bool newer = node.domain.empty() && model.opset() > kNewestOpset;
  const onnx::OpSchema* schema =
      version == model.opsets.end()
          ? nullptr
          : onnx::OpSchemaRegistry::Schema(node.op, version->second, node.domain);
  if (schema == nullptr || newer) return result;

  onnx::ModelProto one;
  one.set_ir_version(8);
  auto& opset = *one.add_opset_import();
  opset.set_domain(node.domain);
  opset.set_version(version->second);
  auto& graph = *one.mutable_graph();
  graph.set_name("node");
  auto& proto = *graph.add_node();
  proto.set_op_type(node.op);
  proto.set_domain(node.domain);
  proto.set_name(node.name);
  for (const auto& [name, attribute] : node.attributes)
    FillAttribute(name, attribute, *proto.add_attribute());
  std::unordered_set<std::string> declared;
  for (const NodeInput& input : inputs) {
    proto.add_input(input.name);
    if (input.name.empty() || !declared.insert(input.name).second || input.element_type == 0)
      continue;
    FillValue(input, *graph.add_input());
    if (input.constant && input.constant->elements() <= kLargestInferenceConstant) {
      auto& initializer = *graph.add_initializer();
      FillTensor(*input.constant, initializer);
      initializer.set_name(input.name);
    }
  }
  for (const auto& output : node.outputs) proto.add_output(output);

  try {
    schema->Verify(proto);
    const onnx::ShapeInferenceOptions options(true, 1, false);
    onnx::shape_inference::InferShapes(one, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& problem) {
    std::string text = problem.what();
    for (char& c : text)
      if (c == '\n') c = ' ';
    return BadInput(model.path + ": " + node.Label() +
                    " contradicts its operator's definition: " + text);
  }
  for (const auto& value : graph.value_info())
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] == value.name()) result[i] = ConvertType(value.type());
  return result;
}

}  // namespace kindred
