// From the protobuf to plain structs.
#include <algorithm>
#include <set>

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "tuner/import/external_data.h"
#include "tuner/import/inline_functions.h"
#include "tuner/import/onnx_model.h"
#include "tuner/import/parse_onnx.h"
#include "tuner/import/sort_nodes.h"

namespace kindred {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::TensorProto;
using Opsets = std::map<std::string, int>;

class Converter {
 public:
  explicit Converter(const std::string& path) : path_(path), external_(path) {}

  Result<OnnxGraph> Graph(GraphProto& proto, const Opsets& opsets, bool nested);
  Result<OnnxFunction> Function(onnx::FunctionProto& proto);

 private:
  Result<OnnxTensor> Tensor(const TensorProto& proto);
  // Where external data lie; reads those that the import looks at.
  Result<void> Locate(const TensorProto& proto, const std::string& what, OnnxTensor& tensor);
  Result<OnnxAttribute> Attribute(AttributeProto& proto, const Opsets& opsets);
  Result<OnnxNode> Node(onnx::NodeProto& proto, int position, const Opsets& opsets);

  const std::string path_;
  ExternalData external_;
};

// The typed fields hold one element per entry; f16 and bf16 lie in int32_data as bit patterns.
std::string BytesOf(const TensorProto& proto, DataType type) {
  if (proto.has_raw_data()) return proto.raw_data();
  std::string bytes;
  const auto append = [&](auto value) {
    const std::size_t width = std::min(sizeof value, static_cast<std::size_t>(ByteSize(type)));
    bytes.append(reinterpret_cast<const char*>(&value), width);
  };
  for (const float v : proto.float_data()) append(v);
  for (const double v : proto.double_data()) append(v);
  for (const std::int64_t v : proto.int64_data()) append(v);
  for (const std::int32_t v : proto.int32_data()) append(v);
  return bytes;
}

Result<OnnxTensor> Converter::Tensor(const TensorProto& proto) {
  OnnxTensor tensor;
  tensor.name = proto.name();
  tensor.element_type = proto.data_type();
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::string what = path_ + ": tensor '" + tensor.name + "' ";
  if (!PossibleShape(tensor.shape))
    return BadInput(what + "has impossible dimensions " + ShapeText(tensor.shape) +
                    "; save the model again");
  if (proto.data_location() == TensorProto::EXTERNAL) {
    KINDRED_CHECK(Locate(proto, what, tensor));
    return tensor;
  }
  const auto type = FromOnnxType(tensor.element_type);
  if (!type || ElementCount(tensor.shape) > kLargestConstant) return tensor;
  const std::string bytes = BytesOf(proto, *type);
  auto decoded = DecodeConstant(*type, tensor.shape, bytes.data(), bytes.size());
  // A weight may be stored without its data (by other tools than ours); only a size that
  // contradicts the shape is an error.
  if (!decoded && !bytes.empty())
    return BadInput(what + "of shape " + ShapeText(tensor.shape) + " holds " +
                    std::to_string(bytes.size()) +
                    " bytes, too few; the file is damaged, export it again");
  if (decoded) tensor.data = std::make_shared<ConstantTensor>(std::move(*decoded));
  return tensor;
}

Result<void> Converter::Locate(const TensorProto& proto, const std::string& what,
                               OnnxTensor& tensor) {
  for (const auto& entry : proto.external_data())
    KINDRED_CHECK(SetExternalPlace(tensor, entry.key(), entry.value(), what));
  if (tensor.external_file.empty())
    return BadInput(what + "has external data without a location; save the model again");
  if (!tensor.IsStripped() && LooksAt(tensor.element_type, tensor.shape, false)) {
    KINDRED_TRY(tensor.data, external_.Read(tensor));
  }
  return {};
}

// Names that `graph` and its subgraphs read without defining them.
void Captured(const GraphProto& graph, std::set<std::string> defined,
              std::vector<std::string>& names) {
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) defined.insert(output);
  const auto use = [&](const std::string& name) {
    if (!name.empty() && !defined.contains(name)) names.push_back(name);
  };
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) use(input);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) Captured(attribute.g(), defined, names);
  }
  for (const auto& output : graph.output()) use(output.name());
}

Result<OnnxAttribute> Converter::Attribute(AttributeProto& proto, const Opsets& opsets) {
  OnnxAttribute attribute;
  using Kind = OnnxAttribute::Kind;
  switch (proto.type()) {
    case AttributeProto::INT: attribute.kind = Kind::kInt; break;
    case AttributeProto::FLOAT: attribute.kind = Kind::kFloat; break;
    case AttributeProto::STRING: attribute.kind = Kind::kString; break;
    case AttributeProto::INTS: attribute.kind = Kind::kInts; break;
    case AttributeProto::FLOATS: attribute.kind = Kind::kFloats; break;
    case AttributeProto::STRINGS: attribute.kind = Kind::kStrings; break;
    case AttributeProto::TENSOR: attribute.kind = Kind::kTensor; break;
    case AttributeProto::GRAPH: attribute.kind = Kind::kGraph; break;
    default: attribute.kind = Kind::kOther; break;
  }
  attribute.integer = proto.i();
  attribute.number = ShortestDecimal(proto.f());
  attribute.text = proto.s();
  attribute.integers.assign(proto.ints().begin(), proto.ints().end());
  for (const float number : proto.floats()) attribute.numbers.push_back(ShortestDecimal(number));
  attribute.texts.assign(proto.strings().begin(), proto.strings().end());
  if (proto.has_t()) {
    KINDRED_TRY(attribute.tensor, Tensor(proto.t()));
  }
  if (proto.has_g()) {
    KINDRED_TRY(auto graph, Graph(*proto.mutable_g(), opsets, true));
    attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
  }
  attribute.reference = proto.ref_attr_name();
  return attribute;
}

OnnxValue ConvertValue(const onnx::ValueInfoProto& proto) {
  OnnxValue value;
  value.name = proto.name();
  if (!proto.type().has_tensor_type()) return value;
  const auto& tensor = proto.type().tensor_type();
  value.element_type = tensor.elem_type();
  value.has_shape = tensor.has_shape();
  for (const auto& proto_dim : tensor.shape().dim()) {
    OnnxDim dim;
    if (proto_dim.has_dim_value()) dim.value = proto_dim.dim_value();
    if (dim.value < 0) dim.value = -1;
    dim.symbol = proto_dim.dim_param();
    value.dims.push_back(std::move(dim));
  }
  return value;
}

Result<OnnxNode> Converter::Node(onnx::NodeProto& proto, int position, const Opsets& opsets) {
  OnnxNode node;
  node.op = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  node.name = proto.name();
  for (const auto& output : node.outputs)
    if (node.name.empty()) node.name = output;
  if (node.name.empty()) node.name = "#" + std::to_string(position);
  if (const auto opset = opsets.find(node.domain); opset != opsets.end())
    node.opset = opset->second;
  for (auto& attribute : *proto.mutable_attribute()) {
    // First, because conversion takes the bodies apart.
    if (attribute.has_g()) Captured(attribute.g(), {}, node.captured);
    for (const auto& graph : attribute.graphs()) Captured(graph, {}, node.captured);
    auto converted = Attribute(attribute, opsets);
    if (!converted) return BadInput(converted.error().message + " (in " + node.Label() + ")");
    node.attributes.emplace(attribute.name(), std::move(*converted));
  }
  return node;
}

void MarkQuantized(std::vector<OnnxNode>& nodes, std::vector<OnnxTensor>& initializers) {
  std::set<std::string> names;
  for (const OnnxNode& node : nodes) {
    const int input = QuantizedInput(node.op);
    if (input >= 0 && input < static_cast<int>(node.inputs.size()))
      names.insert(node.inputs[static_cast<std::size_t>(input)]);
  }
  const auto mark = [&](const std::string& name, OnnxTensor& tensor) {
    tensor.quantized = IsQuantized(tensor.element_type, tensor.shape, names.contains(name));
  };
  for (OnnxTensor& tensor : initializers) mark(tensor.name, tensor);
  for (OnnxNode& node : nodes)
    if (node.op == "Constant" && node.attributes.contains("value") && !node.outputs.empty())
      mark(node.outputs[0], node.attributes.at("value").tensor);
}

Result<OnnxGraph> Converter::Graph(GraphProto& proto, const Opsets& opsets, bool nested) {
  OnnxGraph graph;
  for (TensorProto& tensor : *proto.mutable_initializer()) {
    KINDRED_TRY(auto converted, Tensor(tensor));
    graph.initializers.push_back(std::move(converted));
    TensorProto().Swap(&tensor);  // gives the data back at once
  }
  for (const auto& sparse : proto.sparse_initializer()) {
    OnnxTensor tensor;
    tensor.name = sparse.values().name();
    tensor.element_type = sparse.values().data_type();
    tensor.shape.assign(sparse.dims().begin(), sparse.dims().end());
    graph.initializers.push_back(std::move(tensor));
  }
  for (const auto& value : proto.input()) graph.inputs.push_back(ConvertValue(value));
  for (const auto& value : proto.output()) graph.outputs.push_back(ConvertValue(value));
  for (const auto& value : proto.value_info()) graph.described.push_back(ConvertValue(value));
  for (int i = 0; i < proto.node_size(); ++i) {
    KINDRED_TRY(auto node, Node(*proto.mutable_node(i), i, opsets));
    graph.nodes.push_back(std::move(node));
  }
  MarkQuantized(graph.nodes, graph.initializers);
  KINDRED_CHECK(SortNodes(path_, graph, nested));
  return graph;
}

Opsets ReadOpsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& opset : imports)
    opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] =
        static_cast<int>(std::clamp<std::int64_t>(opset.version(), 0, INT_MAX));
  return opsets;
}

Result<OnnxFunction> Converter::Function(onnx::FunctionProto& proto) {
  OnnxFunction function;
  function.name = proto.name();
  function.domain = proto.domain();
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  const Opsets opsets = ReadOpsets(proto.opset_import());
  for (int i = 0; i < proto.node_size(); ++i) {
    KINDRED_TRY(auto node, Node(*proto.mutable_node(i), i, opsets));
    function.nodes.push_back(std::move(node));
  }
  std::vector<OnnxTensor> none;
  MarkQuantized(function.nodes, none);
  // Defaults of attributes are younger than libonnx 1.12: field 11, attribute_proto.
  const auto& younger = proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < younger.field_count(); ++i) {
    constexpr int kAttributeProto = 11;
    AttributeProto fixed;
    if (younger.field(i).number() != kAttributeProto ||
        younger.field(i).type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
        !fixed.ParseFromString(younger.field(i).length_delimited()))
      continue;
    KINDRED_TRY(auto converted, Attribute(fixed, opsets));
    function.defaults.emplace(fixed.name(), std::move(converted));
  }
  return function;
}

}  // namespace

Result<OnnxModel> LoadOnnx(const std::string& path) {
  onnx::ModelProto proto;
  KINDRED_CHECK(ParseOnnx(path, proto));
  Converter converter(path);
  OnnxModel model;
  model.path = path;
  model.ir_version = static_cast<int>(proto.ir_version());
  model.opsets = ReadOpsets(proto.opset_import());
  for (const auto& [domain, version] : model.opsets)
    if (version < 1)
      return BadInput(path + ": names the operator set " + std::to_string(version) +
                      (domain.empty() ? "" : " of '" + domain + "'") +
                      "; the first is 1, export the model again");
  KINDRED_TRY(static_cast<OnnxGraph&>(model),
              converter.Graph(*proto.mutable_graph(), model.opsets, false));
  for (auto& function : *proto.mutable_functions()) {
    KINDRED_TRY(auto converted, converter.Function(function));
    model.functions.push_back(std::move(converted));
  }
  KINDRED_CHECK(InlineFunctions(model));
  return model;
}

}  // namespace kindred
