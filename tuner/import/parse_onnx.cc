#include "tuner/import/parse_onnx.h"

#include <climits>
#include <cstring>
#include <system_error>
#include <vector>

#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

#include "schedules/text_form.h"
#include "tuner/import/skim_onnx.h"

namespace kindred {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Whether all names in the model can be written as JSON. Strings of protobuf are UTF-8 by
// definition, but its older syntax, which ONNX uses, does not see to it.
bool NamesAreUtf8(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  const auto* reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    const bool text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int i = 0; i < count; ++i) {
      if (!text) {
        if (!NamesAreUtf8(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                               : reflection->GetMessage(message, field)))
          return false;
        continue;
      }
      std::string scratch;
      const std::string& name =
          field->is_repeated() ? reflection->GetRepeatedStringReference(message, field, i, &scratch)
                               : reflection->GetStringReference(message, field, &scratch);
      if (!IsUtf8(name)) return false;
    }
  }
  return true;
}

}  // namespace

Result<void> ParseOnnx(const std::string& path, onnx::ModelProto& model) {
  google::protobuf::SetLogHandler(
      nullptr);  // its complaints about malformed files go into our message
  SkimmedFile file = SkimOnnx(path);
  if (file.problem != 0)
    return BadInput(path + ": cannot be read (" + std::strerror(file.problem) + ")");
  if (file.size > INT_MAX)
    return BadInput(
        path +
        ": is larger than 2 GiB, which no ONNX file can be; store its weights as external data");
  if (!file.bytes || !model.ParseFromString(*file.bytes))
    return BadInput(path + ": is not a complete ONNX model (" + std::to_string(file.size) +
                    " bytes); it is truncated or another kind of file, fetch or export it again");
  if (!NamesAreUtf8(model))
    return BadInput(path + ": has a name that is not UTF-8; it is damaged, export it again");
  if (!model.has_graph() || model.opset_import().empty())
    return BadInput(path + ": is not an ONNX model: it has no " +
                    (model.has_graph() ? "operator set version" : "graph") + "; export it again");
  return {};
}

}  // namespace kindred
