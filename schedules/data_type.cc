#include "schedules/data_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace kindred {
namespace {

struct TypeInfo {
  std::string_view name;
  int bytes;
  bool is_float, is_integer;
  // Floats narrower than 64 bits: bits of the significand (hidden one included), of the exponent,
  // the smallest normal exponent and the largest finite value.
  int precision, exponent_bits, min_exponent;
  double largest;
};

constexpr std::array<TypeInfo, 12> kTypes = {{
    {"f64", 8, true, false, 53, 11, -1022, std::numeric_limits<double>::max()},
    {"f32", 4, true, false, 24, 8, -126, std::numeric_limits<float>::max()},
    {"f16", 2, true, false, 11, 5, -14, 65504.0},
    {"bf16", 2, true, false, 8, 8, -126, 0x1.fep127},
    {"f8e4m3", 1, true, false, 4, 4, -6, 448.0},
    {"f8e5m2", 1, true, false, 3, 5, -14, 57344.0},
    {"i64", 8, false, true, 0, 0, 0, 0},
    {"i32", 4, false, true, 0, 0, 0, 0},
    {"i8", 1, false, true, 0, 0, 0, 0},
    {"u8", 1, false, true, 0, 0, 0, 0},
    {"bool", 1, false, true, 0, 0, 0, 0},
    {"c64", 8, false, false, 0, 0, 0, 0},
}};

const TypeInfo& Info(DataType type) { return kTypes[static_cast<std::size_t>(type)]; }

template <typename T>
T Read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void Write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Floats of 8 and 16 bits.
std::uint32_t EncodeSmall(const TypeInfo& info, DataType type, double value) {
  const int mantissa_bits = info.precision - 1;
  const std::uint32_t sign = std::signbit(value) ? 1u << (mantissa_bits + info.exponent_bits) : 0;
  const std::uint32_t all_exponent = ((1u << info.exponent_bits) - 1) << mantissa_bits;
  const bool has_infinity = type != DataType::kF8E4M3;
  if (std::isnan(value) || (std::isinf(value) && !has_infinity)) {
    const std::uint32_t payload =
        has_infinity ? 1u << (mantissa_bits - 1) : (1u << mantissa_bits) - 1;
    return sign | all_exponent | payload;
  }
  if (std::isinf(value)) return sign | all_exponent;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), info.min_exponent);
  const auto scaled = static_cast<std::uint32_t>(std::ldexp(magnitude, mantissa_bits - exponent));
  if (scaled < (1u << mantissa_bits)) return sign | scaled;  // subnormal
  const auto biased = static_cast<std::uint32_t>(exponent - info.min_exponent + 1);
  return sign | (biased << mantissa_bits) | (scaled - (1u << mantissa_bits));
}

double DecodeSmall(const TypeInfo& info, DataType type, std::uint32_t bits) {
  const int mantissa_bits = info.precision - 1;
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const std::uint32_t exponent = (bits >> mantissa_bits) & ((1u << info.exponent_bits) - 1);
  const double sign = (bits >> (mantissa_bits + info.exponent_bits)) != 0 ? -1 : 1;
  if (type == DataType::kF8E4M3) {
    if (exponent == 15 && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == (1u << info.exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, info.min_exponent - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits),
                           info.min_exponent + static_cast<int>(exponent) - 1 - mantissa_bits);
}

}  // namespace

std::string_view Name(DataType type) { return Info(type).name; }

std::optional<DataType> ParseDataType(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  return std::nullopt;
}

int ByteSize(DataType type) { return Info(type).bytes; }
bool IsFloat(DataType type) { return Info(type).is_float; }
bool IsInteger(DataType type) { return Info(type).is_integer; }

double UnitRoundoff(DataType type) {
  return IsFloat(type) ? std::ldexp(1.0, -Info(type).precision) : 0;
}

DataType DefaultAccumulator(DataType type) {
  if (IsFloat(type)) return type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
  if (IsInteger(type)) return type == DataType::kI64 ? DataType::kI64 : DataType::kI32;
  return type;
}

bool Contains(DataType outer, DataType inner) {
  if (outer == inner) return true;
  if (outer == DataType::kC64) return IsFloat(inner) && Contains(DataType::kF32, inner);
  if (IsInteger(inner) && IsInteger(outer))
    return outer != DataType::kBool && IntegerLowest(outer) <= IntegerLowest(inner) &&
           IntegerHighest(outer) >= IntegerHighest(inner);
  if (IsInteger(inner) && IsFloat(outer)) {
    if (inner == DataType::kBool) return true;
    const int bits = inner == DataType::kI64 ? 64 : inner == DataType::kI32 ? 32 : 8;
    return Info(outer).precision >= bits;
  }
  if (IsFloat(inner) && IsFloat(outer)) {
    const TypeInfo& a = Info(outer);
    const TypeInfo& b = Info(inner);
    return a.precision >= b.precision && a.largest >= b.largest &&
           a.min_exponent - a.precision <= b.min_exponent - b.precision &&
           outer != DataType::kF8E4M3;  // which lacks infinity
  }
  return false;
}

std::int64_t IntegerLowest(DataType type) {
  switch (type) {
    case DataType::kI64: return std::numeric_limits<std::int64_t>::min();
    case DataType::kI32: return std::numeric_limits<std::int32_t>::min();
    case DataType::kI8: return -128;
    default: return 0;
  }
}

std::int64_t IntegerHighest(DataType type) {
  switch (type) {
    case DataType::kI64: return std::numeric_limits<std::int64_t>::max();
    case DataType::kI32: return std::numeric_limits<std::int32_t>::max();
    case DataType::kI8: return 127;
    case DataType::kU8: return 255;
    default: return 1;
  }
}

double RoundTo(DataType type, double value) {
  if (type == DataType::kF32) return static_cast<float>(value);
  if (!IsFloat(type) || type == DataType::kF64 || value == 0 || std::isnan(value)) return value;
  const TypeInfo& info = Info(type);
  if (std::isinf(value))
    return type == DataType::kF8E4M3 ? std::numeric_limits<double>::quiet_NaN() : value;
  const int exponent = std::max(std::ilogb(value), info.min_exponent);
  const int shift = exponent - (info.precision - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -shift)), shift);
  if (std::fabs(rounded) <= info.largest) return rounded;
  return type == DataType::kF8E4M3 ? std::numeric_limits<double>::quiet_NaN()
                                   : std::copysign(std::numeric_limits<double>::infinity(), value);
}

double LoadFloat(DataType type, const std::byte* from) {
  switch (ByteSize(type)) {
    case 8: return Read<double>(from);
    case 4: return Read<float>(from);
    case 2: return DecodeSmall(Info(type), type, Read<std::uint16_t>(from));
    default: return DecodeSmall(Info(type), type, Read<std::uint8_t>(from));
  }
}

void StoreFloat(DataType type, double value, std::byte* to) {
  switch (ByteSize(type)) {
    case 8: return Write(to, value);
    case 4: return Write(to, static_cast<float>(value));
    default: break;
  }
  const std::uint32_t bits = EncodeSmall(Info(type), type, RoundTo(type, value));
  if (ByteSize(type) == 2) return Write(to, static_cast<std::uint16_t>(bits));
  Write(to, static_cast<std::uint8_t>(bits));
}

std::int64_t LoadInteger(DataType type, const std::byte* from) {
  switch (type) {
    case DataType::kI64: return Read<std::int64_t>(from);
    case DataType::kI32: return Read<std::int32_t>(from);
    case DataType::kI8: return Read<std::int8_t>(from);
    default: return Read<std::uint8_t>(from);
  }
}

void StoreInteger(DataType type, std::int64_t value, std::byte* to) {
  switch (type) {
    case DataType::kI64: return Write(to, value);
    case DataType::kI32: return Write(to, static_cast<std::int32_t>(value));
    case DataType::kBool: return Write(to, static_cast<std::uint8_t>(value != 0));
    default: return Write(to, static_cast<std::uint8_t>(value));
  }
}

}  // namespace kindred
