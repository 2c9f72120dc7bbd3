#include "tuner/import/onnx_model.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace kindred {
namespace {

// Indexed by onnx::TensorProto::DataType, whose numbers are part of the file format.
constexpr std::array<std::string_view, 21> kTypeNames = {
    "undefined",      "float32",    "uint8",         "int8",       "uint16",   "int16",
    "int32",          "int64",      "string",        "bool",       "float16",  "float64",
    "uint32",         "uint64",     "complex64",     "complex128", "bfloat16", "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"};

constexpr std::pair<int, DataType> kTypes[] = {
    {1, DataType::kF32},  {2, DataType::kU8},   {3, DataType::kI8},
    {6, DataType::kI32},  {7, DataType::kI64},  {9, DataType::kBool},
    {10, DataType::kF16}, {11, DataType::kF64}, {16, DataType::kBF16}};

}  // namespace

int OnnxModel::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 0 : found->second;
}

std::optional<DataType> FromOnnxType(int element_type) {
  for (const auto& [number, type] : kTypes)
    if (number == element_type) return type;
  return std::nullopt;
}

int ToOnnxType(DataType type) {
  for (const auto& [number, known] : kTypes)
    if (known == type) return number;
  return 0;
}

std::string OnnxTypeName(int element_type) {
  if (element_type < 0 || element_type >= static_cast<int>(kTypeNames.size()))
    return "element type " + std::to_string(element_type);
  return std::string(kTypeNames[static_cast<std::size_t>(element_type)]);
}

Result<ConstantPtr> ReadTensor(const OnnxModel& model, const OnnxTensor& tensor) {
  if (tensor.data || tensor.external_file.empty()) return tensor.data;
  const auto type = FromOnnxType(tensor.element_type);
  if (!type || ElementCount(tensor.shape) > kLargestConstant) return ConstantPtr();
  const std::filesystem::path relative(tensor.external_file);
  const std::string what =
      model.path + ": the data of '" + tensor.name + "' lie in '" + tensor.external_file + "', ";
  bool climbs = relative.is_absolute();
  for (const auto& part : relative) climbs = climbs || part == "..";
  if (climbs) return BadInput(what + "which is outside the model's folder; save the model again");
  std::ifstream file(std::filesystem::path(model.path).parent_path() / relative, std::ios::binary);
  if (!file) return BadInput(what + "which cannot be read; put that file beside the model");
  std::string bytes(static_cast<std::size_t>(ElementCount(tensor.shape) * ByteSize(*type)), '\0');
  file.seekg(tensor.external_offset);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  auto decoded =
      DecodeConstant(*type, tensor.shape, bytes.data(),
                     static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (!decoded) return BadInput(what + "which is too short; copy it again");
  return ConstantPtr(std::make_shared<ConstantTensor>(std::move(*decoded)));
}

}  // namespace kindred
