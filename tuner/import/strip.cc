#include "tuner/import/strip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "tuner/import/demanded_tensors.h"
#include "tuner/import/external_data.h"
#include "tuner/import/parse_onnx.h"

namespace kindred {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

// Lists and texts in attributes of other operators than ONNX's own: longer ones hold what a model
// has learned.
constexpr int kLongestList = 16;
constexpr std::size_t kLongestText = 256;

Shape ShapeOf(const TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

void ClearData(TensorProto& tensor) {
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_string_data();
  tensor.clear_int64_data();
  tensor.clear_raw_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

std::string RawBytes(const ConstantTensor& constant) {
  const auto width = static_cast<std::size_t>(ByteSize(constant.type));
  std::string bytes(static_cast<std::size_t>(constant.elements()) * width, '\0');
  for (std::int64_t i = 0; i < constant.elements(); ++i) {
    auto* to = reinterpret_cast<std::byte*>(bytes.data()) + static_cast<std::size_t>(i) * width;
    if (IsFloat(constant.type)) {
      StoreFloat(constant.type, constant.Number(i), to);
    } else {
      StoreInteger(constant.type, constant.Integer(i), to);
    }
  }
  return bytes;
}

class Stripper {
 public:
  explicit Stripper(const std::string& path) : path_(path), external_(path) {}

  Result<StripReport> Run(onnx::ModelProto& model) {
    report_.bytes_before = FileSize(path_);
    demanded_ = DemandedTensors(model);
    model.clear_training_info();
    model.clear_doc_string();
    model.clear_metadata_props();
    for (const auto& function : model.functions())
      functions_.insert({function.domain(), function.name()});
    KINDRED_CHECK(Graph(*model.mutable_graph()));
    for (auto& function : *model.mutable_functions()) {
      function.clear_doc_string();
      KINDRED_CHECK(Defaults(function));
      KeepYounger(function, {kFunctionAttribute, kFunctionOverload});
      KINDRED_CHECK(Nodes(*function.mutable_node(), {}));
    }
    model.DiscardUnknownFields();
    for (auto& [message, fields] : younger_)
      message->GetReflection()->MutableUnknownFields(message)->MergeFrom(fields);
    for (const std::string& file : files_)
      report_.bytes_before += FileSize(std::filesystem::path(path_).parent_path() / file);
    return std::move(report_);
  }

 private:
  static std::int64_t FileSize(const std::filesystem::path& file) {
    std::error_code problem;
    const auto size = std::filesystem::file_size(file, problem);
    return problem ? 0 : static_cast<std::int64_t>(size);
  }

  // Fields that libonnx 1.12 does not know, and the import does.
  static constexpr int kNodeOverload = 8, kFunctionAttribute = 11, kFunctionOverload = 13;

  void KeepYounger(google::protobuf::Message& message, std::initializer_list<int> numbers) {
    const auto& all = message.GetReflection()->GetUnknownFields(message);
    for (int i = 0; i < all.field_count(); ++i)
      if (std::find(numbers.begin(), numbers.end(), all.field(i).number()) != numbers.end())
        younger_[&message].AddField(all.field(i));
  }

  // Of a function's attributes.
  Result<void> Defaults(onnx::FunctionProto& function) {
    auto& fields = *function.GetReflection()->MutableUnknownFields(&function);
    for (int i = 0; i < fields.field_count(); ++i) {
      auto& field = *fields.mutable_field(i);
      AttributeProto attribute;
      if (field.number() != kFunctionAttribute ||
          field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
          !attribute.ParseFromString(field.length_delimited()))
        continue;
      KINDRED_CHECK(Attribute(attribute, function.name() + "." + attribute.name(), kOfFunction));
      attribute.DiscardUnknownFields();
      field.set_length_delimited(attribute.SerializeAsString());
    }
    return {};
  }

  Result<void> Graph(GraphProto& graph) {
    graph.clear_doc_string();
    graph.clear_quantization_annotation();
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (auto& value : *list) value.clear_doc_string();
    std::set<std::string> quantized;
    for (const NodeProto& node : graph.node()) AddQuantized(node, quantized);
    for (TensorProto& tensor : *graph.mutable_initializer())
      KINDRED_CHECK(Tensor(tensor, tensor.name(), quantized.contains(tensor.name())));
    for (auto& sparse : *graph.mutable_sparse_initializer())
      DropSparse(sparse, sparse.values().name());
    return Nodes(*graph.mutable_node(), std::move(quantized));
  }

  static void AddQuantized(const NodeProto& node, std::set<std::string>& names) {
    const int input = QuantizedInput(node.op_type());
    if (input >= 0 && input < node.input_size()) names.insert(node.input(input));
  }

  Result<void> Nodes(google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                     std::set<std::string> quantized) {
    for (const NodeProto& node : nodes) AddQuantized(node, quantized);
    for (NodeProto& node : nodes) {
      node.clear_doc_string();
      KeepYounger(node, {kNodeOverload});
      const bool constant = node.op_type() == "Constant" && node.output_size() > 0;
      const std::string name = constant              ? node.output(0)
                               : node.name().empty() ? node.op_type()
                                                     : node.name();
      const bool own = node.domain().empty() || node.domain() == "ai.onnx";
      const auto kind = functions_.contains({node.domain(), node.op_type()}) ? kOfFunction
                        : own                                                ? kOwn
                        : node.domain() == "ai.onnx.ml"                      ? kClassical
                                                                             : kForeign;
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (constant) {
          attribute.clear_doc_string();
          KINDRED_CHECK(Constant(attribute, name, quantized.contains(name)));
        } else {
          KINDRED_CHECK(Attribute(attribute, name + "." + attribute.name(), kind));
        }
      }
    }
    return {};
  }

  Result<void> Constant(AttributeProto& attribute, const std::string& name, bool quantized) {
    if (attribute.has_t()) return Tensor(*attribute.mutable_t(), name, quantized);
    if (attribute.has_sparse_tensor()) DropSparse(*attribute.mutable_sparse_tensor(), name);
    const auto demand = demanded_.find(&attribute);
    if (attribute.floats_size() > 1 && demand != demanded_.end()) {
      Note(name, true, demand->second);
    } else if (attribute.floats_size() > 1) {
      // A list of floats is a weight like any other.
      auto& tensor = *attribute.mutable_t();
      tensor.set_data_type(TensorProto::FLOAT);
      tensor.add_dims(attribute.floats_size());
      attribute.set_name("value");
      attribute.set_type(AttributeProto::TENSOR);
      attribute.clear_floats();
      Drop(tensor, name);
    }
    if (attribute.strings_size() == 0 && attribute.s().empty()) return {};
    for (std::string& text : *attribute.mutable_strings()) text.clear();
    if (attribute.has_s()) attribute.set_s("");
    Note(name, false, "");
    return {};
  }

  // Whose attribute it is. A list for a function of the model is read by the function's nodes, and
  // keeps its length. The shape of a classical model stands in the lengths of its lists, its
  // integers and the modes of its nodes; whether a list holds something negative decides too.
  enum Kind { kOwn, kForeign, kOfFunction, kClassical };

  Result<void> Attribute(AttributeProto& attribute, const std::string& name, Kind kind) {
    attribute.clear_doc_string();
    if (attribute.has_t()) KINDRED_CHECK(Tensor(*attribute.mutable_t(), name, false));
    for (TensorProto& tensor : *attribute.mutable_tensors())
      KINDRED_CHECK(Tensor(tensor, name, false));
    if (attribute.has_sparse_tensor()) DropSparse(*attribute.mutable_sparse_tensor(), name);
    for (auto& sparse : *attribute.mutable_sparse_tensors()) DropSparse(sparse, name);
    if (attribute.has_g()) KINDRED_CHECK(Graph(*attribute.mutable_g()));
    for (GraphProto& graph : *attribute.mutable_graphs()) KINDRED_CHECK(Graph(graph));

    bool dropped = false;
    if (attribute.floats_size() > kLongestList) {
      const int length = attribute.floats_size();
      const bool negative = std::any_of(attribute.floats().begin(), attribute.floats().end(),
                                        [](float number) { return number < 0; });
      attribute.clear_floats();
      if (kind == kOfFunction || kind == kClassical) attribute.mutable_floats()->Resize(length, 0);
      if (kind == kClassical && negative) attribute.set_floats(0, -1);
      dropped = true;
    }
    if (attribute.strings_size() > kLongestList && kind == kClassical) {
      if (attribute.name() != "nodes_modes")
        for (std::string& text : *attribute.mutable_strings()) text.clear();
      dropped = attribute.name() != "nodes_modes" || dropped;
    } else if (attribute.strings_size() > kLongestList) {
      attribute.clear_strings();
      dropped = true;
    }
    if (kind == kForeign && attribute.ints_size() > kLongestList) {
      attribute.clear_ints();
      dropped = true;
    }
    if (kind != kOwn && attribute.s().size() > kLongestText) {
      attribute.set_s("");
      dropped = true;
    }
    if (dropped) Note(name, false, "");
    return {};
  }

  Result<void> Tensor(TensorProto& tensor, const std::string& name, bool read_as_quantized) {
    const auto demand = demanded_.find(&tensor);
    const Shape shape = ShapeOf(tensor);
    if (!PossibleShape(shape))
      return BadInput(path_ + ": tensor '" + name + "' has impossible dimensions " +
                      ShapeText(shape) + "; save the model again");
    tensor.clear_doc_string();
    const bool external = tensor.data_location() == TensorProto::EXTERNAL;
    OnnxTensor described;
    described.name = name;
    described.element_type = tensor.data_type();
    described.shape = shape;
    for (const auto& entry : tensor.external_data())
      KINDRED_CHECK(SetExternalPlace(described, entry.key(), entry.value(),
                                     path_ + ": tensor '" + name + "' "));
    if (external && !described.IsStripped()) files_.insert(described.external_file);
    const bool quantized = IsQuantized(tensor.data_type(), shape, read_as_quantized);
    std::string reason;
    if (demand != demanded_.end() && ElementCount(shape) <= kLargestConstant) {
      reason = demand->second;
    } else if (LooksAt(tensor.data_type(), shape, quantized)) {
      reason = ElementCount(shape) <= 1 ? "a single number" : "integers";
    }
    if (reason.empty() || described.IsStripped()) {
      Drop(tensor, name);
      return {};
    }
    if (external) {
      KINDRED_TRY(const ConstantPtr data, external_.Read(described));
      if (!data) return Internal(path_ + ": no data of '" + name + "'");
      ClearData(tensor);
      tensor.set_raw_data(RawBytes(*data));
    }
    Note(name, true, reason);
    return {};
  }

  void Drop(TensorProto& tensor, const std::string& name) {
    ClearData(tensor);
    tensor.clear_doc_string();
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& location = *tensor.add_external_data();
    location.set_key("location");
    location.set_value(std::string(kStrippedLocation));
    Note(name, false, "");
  }

  void DropSparse(onnx::SparseTensorProto& sparse, const std::string& name) {
    Drop(*sparse.mutable_values(), name);
    Drop(*sparse.mutable_indices(), name + " (indices)");
  }

  void Note(const std::string& name, bool kept, const std::string& reason) {
    report_.tensors.push_back({name, kept, reason});
  }

  const std::string path_;
  ExternalData external_;
  std::map<const google::protobuf::Message*, std::string> demanded_;
  std::set<std::string> files_;                              // of external data
  std::set<std::pair<std::string, std::string>> functions_;  // domain and name
  std::map<google::protobuf::Message*, google::protobuf::UnknownFieldSet> younger_;
  StripReport report_;
};

Error Unwritable(const std::string& out) {
  return Environment(out + ": cannot be written (" + std::strerror(errno) + ")");
}

// All of it, or nothing.
Result<void> Write(const std::string& bytes, const std::string& out) {
  const std::string unfinished = out + "." + std::to_string(::getpid()) + ".part";
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return Unwritable(out);
  bool written = true;
  for (std::size_t at = 0; written && at < bytes.size();) {
    const ::ssize_t count = ::write(file, bytes.data() + at, bytes.size() - at);
    written = count > 0;
    at += written ? static_cast<std::size_t>(count) : 0;
  }
  written = written && ::fsync(file) == 0;
  written = ::close(file) == 0 && written;
  if (written && ::rename(unfinished.c_str(), out.c_str()) == 0) return {};
  const Error error = Unwritable(out);
  ::unlink(unfinished.c_str());
  return error;
}

}  // namespace

int StripReport::kept() const {
  return static_cast<int>(std::count_if(tensors.begin(), tensors.end(),
                                        [](const StrippedTensor& tensor) { return tensor.kept; }));
}

Result<StripReport> StripOnnx(const std::string& path, const std::string& out) {
  std::error_code problem;
  if (std::filesystem::equivalent(path, out, problem))
    return BadInput(out + ": is the model itself; write the stripped one to another file");
  onnx::ModelProto model;
  KINDRED_CHECK(ParseOnnx(path, model));
  KINDRED_TRY(StripReport report, Stripper(path).Run(model));
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return Internal(path + ": cannot be serialized");
  KINDRED_CHECK(Write(bytes, out));
  report.bytes_after = static_cast<std::int64_t>(bytes.size());
  return report;
}

}  // namespace kindred
