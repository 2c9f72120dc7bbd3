// How libFuzzer mutates ONNX models: mostly fields of the parsed model are changed by
// reflection, so that deep inputs stay models; all else is left to libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include "schedules/base/seed.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace kindred::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::int64_t kNumbers[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     8,
                                     13,
                                     16,
                                     17,
                                     23,
                                     1 << 16,
                                     1 << 20,
                                     std::int64_t{1} << 31,
                                     std::int64_t{1} << 40,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};

std::int64_t AnyNumber(Random& random) { return kNumbers[random.Below(std::size(kNumbers))]; }

// Every message of a model, and the strings in them.
struct Parts {
  std::vector<Message*> messages;
  std::vector<std::string> texts;

  void Add(Message* message) {
    messages.push_back(message);
    std::vector<const FieldDescriptor*> fields;
    const auto* reflection = message->GetReflection();
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          Add(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                   : reflection->MutableMessage(message, field));
        else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
          texts.push_back(field->is_repeated() ? reflection->GetRepeatedString(*message, field, i)
                                               : reflection->GetString(*message, field));
      }
    }
  }
};

std::string AnyText(const Parts& parts, Random& random) {
  if (parts.texts.empty() || random.Below(8) == 0) return "";
  return parts.texts[random.Below(parts.texts.size())];
}

void SetScalar(Message& message, const FieldDescriptor& field, const Parts& parts, Random& random,
               int at) {
  const auto* r = message.GetReflection();
  const auto set = [&](auto single, auto repeated, auto added, auto value) {
    if (!field.is_repeated())
      (r->*single)(&message, &field, value);
    else if (at >= 0)
      (r->*repeated)(&message, &field, at, value);
    else
      (r->*added)(&message, &field, value);
  };
  using R = google::protobuf::Reflection;
  const std::int64_t number = AnyNumber(random);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return set(&R::SetInt32, &R::SetRepeatedInt32, &R::AddInt32,
                 static_cast<std::int32_t>(number));
    case FieldDescriptor::CPPTYPE_INT64:
      return set(&R::SetInt64, &R::SetRepeatedInt64, &R::AddInt64, number);
    case FieldDescriptor::CPPTYPE_UINT64:
      return set(&R::SetUInt64, &R::SetRepeatedUInt64, &R::AddUInt64,
                 static_cast<std::uint64_t>(number));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return set(&R::SetFloat, &R::SetRepeatedFloat, &R::AddFloat, static_cast<float>(number));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return set(&R::SetDouble, &R::SetRepeatedDouble, &R::AddDouble, static_cast<double>(number));
    case FieldDescriptor::CPPTYPE_ENUM:
      return set(&R::SetEnumValue, &R::SetRepeatedEnumValue, &R::AddEnumValue,
                 static_cast<int>(random.Below(12)));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = AnyText(parts, random);
      if (!field.is_repeated()) return r->SetString(&message, &field, text);
      if (at >= 0) return r->SetRepeatedString(&message, &field, at, text);
      return r->AddString(&message, &field, text);
    }
    default: return;
  }
}

// A copy of a message of the field's type from anywhere in the model; nullptr: there is none. A
// copy, because changing the field may end the life of the original (of a oneof's other member, of
// what contains it).
std::unique_ptr<Message> Donor(const FieldDescriptor& field, const Parts& parts, Random& random) {
  std::vector<const Message*> donors;
  for (const Message* other : parts.messages)
    if (other->GetDescriptor() == field.message_type()) donors.push_back(other);
  if (donors.empty()) return nullptr;
  const Message& donor = *donors[random.Below(donors.size())];
  std::unique_ptr<Message> copy(donor.New());
  copy->CopyFrom(donor);
  return copy;
}

void MutateOnce(onnx::ModelProto& model, Random& random) {
  Parts parts;
  parts.Add(&model);
  Message& message = *parts.messages[random.Below(parts.messages.size())];
  const auto* descriptor = message.GetDescriptor();
  const auto* r = message.GetReflection();
  if (descriptor->field_count() == 0) return;
  const FieldDescriptor& field = *descriptor->field(
      static_cast<int>(random.Below(static_cast<std::uint64_t>(descriptor->field_count()))));
  const bool nested = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  const int count = field.is_repeated() ? r->FieldSize(message, &field) : 0;
  const int at = count > 0 ? static_cast<int>(random.Below(static_cast<std::uint64_t>(count))) : -1;
  switch (random.Below(4)) {
    case 0:  // away with it
      if (at < 0) return r->ClearField(&message, &field);
      r->SwapElements(&message, &field, at, count - 1);
      return r->RemoveLast(&message, &field);
    case 1:  // another order
      if (count > 1)
        r->SwapElements(&message, &field, at,
                        static_cast<int>(random.Below(static_cast<std::uint64_t>(count))));
      return;
    case 2:  // one more, or another
      if (nested && field.is_repeated()) {
        const auto donor = Donor(field, parts, random);
        Message* added = r->AddMessage(&message, &field);
        if (donor) added->CopyFrom(*donor);
        return;
      }
      if (!nested) return SetScalar(message, field, parts, random, -1);
      [[fallthrough]];
    default: {
      if (!nested) return SetScalar(message, field, parts, random, at);
      if (field.is_repeated() && at < 0) return;
      const auto donor = Donor(field, parts, random);
      if (!donor) return;
      Message* part = field.is_repeated() ? r->MutableRepeatedMessage(&message, &field, at)
                                          : r->MutableMessage(&message, &field);
      part->CopyFrom(*donor);
    }
  }
}

// Empty: no model.
std::string Mutated(std::string_view bytes, Random& random) {
  google::protobuf::SetLogHandler(nullptr);
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return "";
  for (std::uint64_t count = 1 + random.Below(3); count > 0; --count) MutateOnce(model, random);
  return model.SerializeAsString();
}

}  // namespace
}  // namespace kindred::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  kindred::Random random(seed);
  if (random.Below(8) != 0) {
    const std::string bytes =
        kindred::fuzz::Mutated({reinterpret_cast<const char*>(data), size}, random);
    if (!bytes.empty() && bytes.size() <= most) {
      std::copy(bytes.begin(), bytes.end(), data);
      return bytes.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
