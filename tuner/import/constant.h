// Constant tensors whose values the import knows: shape arithmetic, small parameters, literals.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedules/data_type.h"

namespace kindred {

using Shape = std::vector<std::int64_t>;

// Constants with more elements are weights: their data are not looked at.
inline constexpr std::int64_t kLargestConstant = 1 << 16;

// Saturates at 2^60.
std::int64_t ElementCount(const Shape& shape);
// No extent is negative or above 2^40, and not all together above 2^50.
bool PossibleShape(const Shape& shape);
std::string ShapeText(const Shape& shape);  // "[1,64,56,56]"

struct ConstantTensor {
  DataType type = DataType::kF32;
  Shape shape;
  std::vector<std::int64_t> integers;  // for integer types and bool
  std::vector<double> numbers;         // for floating types
  bool splat = false;                  // one stored element stands for all

  std::int64_t elements() const { return ElementCount(shape); }
  std::int64_t Integer(std::int64_t element) const;
  double Number(std::int64_t element) const;
};

using ConstantPtr = std::shared_ptr<const ConstantTensor>;

ConstantPtr IntegerConstant(DataType type, Shape shape, std::vector<std::int64_t> values);
ConstantPtr Reshaped(const ConstantTensor& constant, Shape shape);

// The f64 whose shortest decimal form is the f32's: 0.1f becomes 0.1, which rounds back to the same
// f32.
double ShortestDecimal(float value);

// Decodes little-endian elements as they lie in a file. nullopt: `bytes` is too short for `shape`.
std::optional<ConstantTensor> DecodeConstant(DataType type, Shape shape, const char* bytes,
                                             std::size_t size);

}  // namespace kindred
