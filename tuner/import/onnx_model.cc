#include "tuner/import/onnx_model.h"

#include <array>
#include <string_view>
#include <utility>

namespace kindred {
namespace {

// Indexed by onnx::TensorProto::DataType, whose numbers are part of the file format.
constexpr std::array<std::string_view, 29> kTypeNames = {
    "undefined",      "float32",    "uint8",          "int8",       "uint16",    "int16",
    "int32",          "int64",      "string",         "bool",       "float16",   "float64",
    "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",  "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",      "float4e2m1",
    "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2"};

constexpr std::pair<int, DataType> kTypes[] = {
    {1, DataType::kF32},   {2, DataType::kU8},      {3, DataType::kI8},     {6, DataType::kI32},
    {7, DataType::kI64},   {9, DataType::kBool},    {10, DataType::kF16},   {11, DataType::kF64},
    {16, DataType::kBF16}, {17, DataType::kF8E4M3}, {19, DataType::kF8E5M2}};

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

bool IsByteType(int element_type) {
  const auto type = FromOnnxType(element_type);
  return type == DataType::kI8 || type == DataType::kU8;
}

bool LooksAt(int element_type, const Shape& shape, bool quantized) {
  const auto type = FromOnnxType(element_type);
  const std::int64_t count = ElementCount(shape);
  if (!type || count > kLargestConstant) return false;
  return count <= 1 || (IsInteger(*type) && !quantized);
}

int QuantizedInput(std::string_view op) {
  if (op == "DequantizeLinear") return 0;
  if (op == "QLinearConv") return 8;  // its bias
  return op == "QGemm" ? 6 : -1;
}

bool IsQuantized(int element_type, const Shape& shape, bool read_so) {
  const bool matrix = IsByteType(element_type) && shape.size() >= 2;
  return ElementCount(shape) > 1 && (matrix || read_so);
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

}  // namespace kindred
