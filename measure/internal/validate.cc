#include "measure/internal/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace kindred {
namespace {

template <typename T>
T Get(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// A small binary float: sign, `exponent_bits`, `mantissa_bits`. IEEE rules unless `finite_only`
// (f8e4m3: no infinities, NaN is all ones).
double SmallFloat(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool finite_only) {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const std::uint32_t top = (1u << exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> mantissa_bits) & top;
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == top && !finite_only) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == top && mantissa == (1u << mantissa_bits) - 1) return NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa | (1u << mantissa_bits),
                           static_cast<int>(exponent) - bias - mantissa_bits);
}

struct Range {
  double largest, smallest;  // finite, positive (the latter subnormal)
  bool infinity = true;      // whether what lies beyond becomes infinity; else NaN
};

Range RangeOf(DataType type) {
  switch (type) {
    case DataType::kF64:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()};
    case DataType::kF16: return {65504, 0x1p-24};
    case DataType::kBF16: return {0x1.fep127, 0x1p-133};
    case DataType::kF8E4M3: return {448, 0x1p-9, false};
    case DataType::kF8E5M2: return {57344, 0x1p-16};
    default: return {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()};
  }
}

bool IsRight(double got, double value, double bound, const Range& range) {
  if (std::abs(got - value) <= bound + range.smallest) return true;
  if (got == value || (std::isnan(got) && std::isnan(value))) return true;
  const bool beyond = range.infinity ? std::isinf(got) && std::signbit(got) == std::signbit(value)
                                     : std::isnan(got);
  return beyond && std::abs(value) + bound >= range.largest;
}

bool AllOnes(DataType type, const std::byte* data, std::int64_t index) {
  const int size = ByteSize(type);
  const std::byte* element = data + index * size;
  return std::all_of(element, element + size,
                     [](std::byte b) { return b == std::byte{kUnwritten}; });
}

std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

std::string Place(const ExpectedOutput& expected, std::int64_t flat) {
  std::string place;
  for (std::size_t d = expected.shape.size(); d-- > 0;) {
    place = std::to_string(flat % expected.shape[d]) + (place.empty() ? "" : ",") + place;
    flat /= expected.shape[d];
  }
  return "output " + expected.name + "[" + place + "]";
}

// Whether index `got` is among the choices of a grid point.
bool IsChoice(const ExpectedOutput& e, std::size_t point, std::int64_t got) {
  const std::size_t count = e.choices.size() / e.bounds.size();
  const auto index = static_cast<std::size_t>(got);
  return got >= 0 && index < count && e.choices[point * count + index] != 0;
}

// Checks grid point `point`, which is element `flat` of the output.
std::string Check(const ExpectedOutput& e, const Range& range, const std::byte* data,
                  std::int64_t flat, std::size_t point) {
  const double bound = e.bounds[point];
  if (e.integral && !IsFloat(e.type)) {
    const std::int64_t got = ReadInteger(e.type, data, flat);
    const std::int64_t value = e.integers[point];
    if (!e.choices.empty()) {
      if (got == value || IsChoice(e, point, got)) return {};
      return Place(e, flat) + " is " + std::to_string(got) + ", expected " + std::to_string(value) +
             " or another index whose value rounding cannot tell from the best";
    }
    const std::uint64_t apart =
        got > value ? static_cast<std::uint64_t>(got) - static_cast<std::uint64_t>(value)
                    : static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(got);
    if (static_cast<double>(apart) <= bound) return {};
    return Place(e, flat) + " is " + std::to_string(got) + ", expected " + std::to_string(value) +
           (bound > 0 ? " +- " + Text(bound) : "");
  }
  const double value = e.integral ? static_cast<double>(e.integers[point]) : e.values[point];
  const double got = ReadElement(e.type, data, flat);
  if (IsRight(got, value, bound, range)) return {};
  if (IsFloat(e.type) && AllOnes(e.type, data, flat)) return Place(e, flat) + " was never written";
  return Place(e, flat) + " is " + Text(got) + ", expected " + Text(value) + " +- " + Text(bound);
}

}  // namespace

double ReadElement(DataType type, const std::byte* data, std::int64_t index) {
  switch (type) {
    case DataType::kF64: return Get<double>(data, index);
    case DataType::kF32: return Get<float>(data, index);
    case DataType::kF16: return SmallFloat(Get<std::uint16_t>(data, index), 5, 10, false);
    case DataType::kBF16: return SmallFloat(Get<std::uint16_t>(data, index), 8, 7, false);
    case DataType::kF8E4M3: return SmallFloat(Get<std::uint8_t>(data, index), 4, 3, true);
    case DataType::kF8E5M2: return SmallFloat(Get<std::uint8_t>(data, index), 5, 2, false);
    default: return static_cast<double>(ReadInteger(type, data, index));
  }
}

std::int64_t ReadInteger(DataType type, const std::byte* data, std::int64_t index) {
  switch (type) {
    case DataType::kI64: return Get<std::int64_t>(data, index);
    case DataType::kI32: return Get<std::int32_t>(data, index);
    case DataType::kI8: return Get<std::int8_t>(data, index);
    case DataType::kU8: return Get<std::uint8_t>(data, index);
    case DataType::kBool: return Get<std::uint8_t>(data, index) != 0 ? 1 : 0;
    default: return static_cast<std::int64_t>(ReadElement(type, data, index));
  }
}

std::string FirstDifference(const ExpectedOutput& expected, const std::byte* data) {
  const Range range = RangeOf(expected.type);
  std::int64_t elements = 1;
  bool sampled = false;
  for (std::size_t d = 0; d < expected.shape.size(); ++d) {
    elements *= expected.shape[d];
    sampled = sampled || !expected.positions[d].empty();
  }
  if (!sampled) {
    for (std::int64_t i = 0; i < elements; ++i) {
      std::string difference = Check(expected, range, data, i, static_cast<std::size_t>(i));
      if (!difference.empty()) return difference;
    }
    return {};
  }
  // The grid, in row-major order: an odometer over the positions.
  const std::size_t rank = expected.shape.size();
  const auto count = [&](std::size_t d) {
    return expected.positions[d].empty() ? expected.shape[d]
                                         : static_cast<std::int64_t>(expected.positions[d].size());
  };
  std::vector<std::int64_t> at(rank, 0);
  const std::size_t points = expected.bounds.size();
  for (std::size_t point = 0; point < points; ++point) {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < rank; ++d)
      flat =
          flat * expected.shape[d] + (expected.positions[d].empty()
                                          ? at[d]
                                          : expected.positions[d][static_cast<std::size_t>(at[d])]);
    std::string difference = Check(expected, range, data, flat, point);
    if (!difference.empty()) return difference;
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < count(d)) break;
      at[d] = 0;
    }
  }
  // Between the grid's points all that can be said is that somebody wrote there.
  for (std::int64_t i = 0; IsFloat(expected.type) && i < elements; ++i) {
    if (AllOnes(expected.type, data, i)) return Place(expected, i) + " was never written";
  }
  return {};
}

}  // namespace kindred
