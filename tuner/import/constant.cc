#include "tuner/import/constant.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kindred {
namespace {

double HalfToDouble(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

template <typename T>
T Read(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::int64_t ElementCount(const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t count = 1;
  bool large = false;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
    large = large || __builtin_mul_overflow(count, extent, &count) || count > kMost;
    if (large) count = kMost;
  }
  return count;
}

bool PossibleShape(const Shape& shape) {
  for (const std::int64_t extent : shape)
    if (extent < 0 || extent > std::int64_t{1} << 40) return false;
  return ElementCount(shape) <= std::int64_t{1} << 50;
}

std::string ShapeText(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::int64_t ConstantTensor::Integer(std::int64_t element) const {
  const auto at = static_cast<std::size_t>(splat ? 0 : element);
  if (!IsFloat(type)) return integers[at];
  return std::fabs(numbers[at]) < 0x1p62 ? static_cast<std::int64_t>(numbers[at]) : 0;
}

double ConstantTensor::Number(std::int64_t element) const {
  const auto at = static_cast<std::size_t>(splat ? 0 : element);
  return IsFloat(type) ? numbers[at] : static_cast<double>(integers[at]);
}

ConstantPtr IntegerConstant(DataType type, Shape shape, std::vector<std::int64_t> values) {
  return std::make_shared<ConstantTensor>(
      ConstantTensor{type, std::move(shape), std::move(values), {}, false});
}

ConstantPtr Reshaped(const ConstantTensor& constant, Shape shape) {
  auto result = std::make_shared<ConstantTensor>(constant);
  result->shape = std::move(shape);
  return result;
}

double ShortestDecimal(float value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  const auto printed = std::to_chars(text, text + sizeof text, value);
  double result = value;
  std::from_chars(text, printed.ptr, result);
  return result;
}

std::optional<ConstantTensor> DecodeConstant(DataType type, Shape shape, const char* bytes,
                                             std::size_t size) {
  ConstantTensor result;
  result.type = type;
  result.shape = std::move(shape);
  const auto count = static_cast<std::size_t>(result.elements());
  const auto width = static_cast<std::size_t>(ByteSize(type));
  if (size < count * width) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const char* at = bytes + i * width;
    switch (type) {
      case DataType::kF64: result.numbers.push_back(Read<double>(at)); break;
      case DataType::kF32: result.numbers.push_back(ShortestDecimal(Read<float>(at))); break;
      case DataType::kF16: result.numbers.push_back(HalfToDouble(Read<std::uint16_t>(at))); break;
      case DataType::kBF16:
        result.numbers.push_back(
            std::bit_cast<float>(static_cast<std::uint32_t>(Read<std::uint16_t>(at)) << 16));
        break;
      case DataType::kI64: result.integers.push_back(Read<std::int64_t>(at)); break;
      case DataType::kI32: result.integers.push_back(Read<std::int32_t>(at)); break;
      case DataType::kI8: result.integers.push_back(Read<std::int8_t>(at)); break;
      case DataType::kU8:
      case DataType::kBool: result.integers.push_back(Read<std::uint8_t>(at)); break;
      default: return std::nullopt;
    }
  }
  return result;
}

}  // namespace kindred
