// Reads the protobuf. Beside infer_node.cc the only file that sees protobuf's headers.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <set>
#include <unordered_map>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include "tuner/import/onnx_model.h"
#include "tuner/import/sort_nodes.h"

namespace kindred {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::TensorProto;
using Opsets = std::map<std::string, int>;

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

Result<OnnxTensor> ConvertTensor(const std::string& path, const TensorProto& proto) {
  OnnxTensor tensor;
  tensor.name = proto.name();
  tensor.element_type = proto.data_type();
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::string what = path + ": tensor '" + tensor.name + "' ";
  if (!PossibleShape(tensor.shape))
    return BadInput(what + "has impossible dimensions " + ShapeText(tensor.shape) +
                    "; save the model again");
  const std::int64_t count = ElementCount(tensor.shape);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    for (const auto& entry : proto.external_data()) {
      if (entry.key() == "location") tensor.external_file = entry.value();
      if (entry.key() == "offset") tensor.external_offset = std::atoll(entry.value().c_str());
      if (entry.key() == "length") tensor.external_length = std::atoll(entry.value().c_str());
    }
    if (tensor.external_file.empty())
      return BadInput(what + "has external data without a location; save the model again");
    return tensor;
  }
  const auto type = FromOnnxType(tensor.element_type);
  if (!type || count > kLargestConstant) return tensor;
  const std::string bytes = BytesOf(proto, *type);
  auto decoded = DecodeConstant(*type, tensor.shape, bytes.data(), bytes.size());
  // A weight may be stored without its data (a model stripped for sharing); only a size that
  // contradicts the shape is an error.
  if (!decoded && !bytes.empty())
    return BadInput(what + "of shape " + ShapeText(tensor.shape) + " holds " +
                    std::to_string(bytes.size()) +
                    " bytes, too few; the file is damaged, export it again");
  if (decoded) tensor.data = std::make_shared<ConstantTensor>(std::move(*decoded));
  return tensor;
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

Result<OnnxGraph> ConvertGraph(const std::string& path, GraphProto& graph, const Opsets& opsets,
                               bool nested);

Result<OnnxAttribute> ConvertAttribute(const std::string& path, AttributeProto& proto,
                                       const Opsets& opsets) {
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
    KINDRED_TRY(attribute.tensor, ConvertTensor(path, proto.t()));
  }
  if (proto.has_g()) {
    KINDRED_TRY(auto graph, ConvertGraph(path, *proto.mutable_g(), opsets, true));
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

Result<OnnxNode> ConvertNode(const std::string& path, onnx::NodeProto& proto, int position,
                             const Opsets& opsets) {
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
    auto converted = ConvertAttribute(path, attribute, opsets);
    if (!converted) return BadInput(converted.error().message + " (in " + node.Label() + ")");
    node.attributes.emplace(attribute.name(), std::move(*converted));
    if (attribute.has_g()) Captured(attribute.g(), {}, node.captured);
    for (const auto& graph : attribute.graphs()) Captured(graph, {}, node.captured);
  }
  return node;
}

Result<OnnxGraph> ConvertGraph(const std::string& path, GraphProto& proto, const Opsets& opsets,
                               bool nested) {
  OnnxGraph graph;
  for (TensorProto& tensor : *proto.mutable_initializer()) {
    KINDRED_TRY(auto converted, ConvertTensor(path, tensor));
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
    KINDRED_TRY(auto node, ConvertNode(path, *proto.mutable_node(i), i, opsets));
    graph.nodes.push_back(std::move(node));
  }
  KINDRED_CHECK(SortNodes(path, graph, nested));
  return graph;
}

Opsets ReadOpsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& opset : imports)
    opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = static_cast<int>(opset.version());
  return opsets;
}

Result<OnnxFunction> ConvertFunction(const std::string& path, onnx::FunctionProto& proto) {
  OnnxFunction function;
  function.name = proto.name();
  function.domain = proto.domain();
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  const Opsets opsets = ReadOpsets(proto.opset_import());
  for (int i = 0; i < proto.node_size(); ++i) {
    KINDRED_TRY(auto node, ConvertNode(path, *proto.mutable_node(i), i, opsets));
    function.nodes.push_back(std::move(node));
  }
  return function;
}

Result<void> Parse(const std::string& path, onnx::ModelProto& proto) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return BadInput(path + ": cannot be read (" + std::strerror(errno) + ")");
  const std::streamoff size = file.tellg();
  if (size > INT_MAX)
    return BadInput(
        path +
        ": is larger than 2 GiB, which no ONNX file can be; store its weights as external data");
  file.seekg(0);
  google::protobuf::io::IstreamInputStream stream(&file);
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT_MAX);
  if (size <= 0 || !proto.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    return BadInput(path + ": is not a complete ONNX model (" +
                    std::to_string(std::max<std::streamoff>(size, 0)) +
                    " bytes); it is truncated or another kind of file, fetch or export it again");
  if (!proto.has_graph() || proto.opset_import().empty())
    return BadInput(path + ": is not an ONNX model: it has no " +
                    (proto.has_graph() ? "operator set version" : "graph") + "; export it again");
  return {};
}

}  // namespace

Result<OnnxModel> LoadOnnx(const std::string& path) {
  onnx::ModelProto proto;
  google::protobuf::SetLogHandler(
      nullptr);  // its complaints about malformed files go into our message
  KINDRED_CHECK(Parse(path, proto));
  OnnxModel model;
  model.path = path;
  model.ir_version = static_cast<int>(proto.ir_version());
  model.opsets = ReadOpsets(proto.opset_import());
  KINDRED_TRY(static_cast<OnnxGraph&>(model),
              ConvertGraph(path, *proto.mutable_graph(), model.opsets, false));
  for (auto& function : *proto.mutable_functions()) {
    KINDRED_TRY(auto converted, ConvertFunction(path, function));
    model.functions.push_back(std::move(converted));
  }
  return model;
}

}  // namespace kindred
