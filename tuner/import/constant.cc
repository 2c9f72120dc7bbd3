#include "tuner/import/constant.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kindred {

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
  if (!IsFloat(type) && !IsInteger(type)) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* at = reinterpret_cast<const std::byte*>(bytes + i * width);
    if (IsInteger(type)) {
      result.integers.push_back(LoadInteger(type, at));
    } else {
      const double number = LoadFloat(type, at);
      result.numbers.push_back(type == DataType::kF32 ? ShortestDecimal(static_cast<float>(number))
                                                      : number);
    }
  }
  return result;
}

}  // namespace kindred
