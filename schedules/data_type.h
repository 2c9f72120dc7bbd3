// Element types of tensors: names, sizes, rounding, and how an element lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kindred {

enum class DataType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kI64,
  kI32,
  kI8,
  kU8,
  kBool,
  kC64,
};

// "f32", "bool", ...: the spelling of the workload language and of every JSON form.
std::string_view Name(DataType type);
std::optional<DataType> ParseDataType(std::string_view name);

int ByteSize(DataType type);
bool IsFloat(DataType type);    // f64 f32 f16 bf16 f8*
bool IsInteger(DataType type);  // i64 i32 i8 u8 bool

// Unit roundoff of a floating type (2^-24 for f32); 0 for integers.
double UnitRoundoff(DataType type);

// f32 for floats of at most 32 bits, f64 for f64, i32 for i8/u8/bool/i32, i64 for i64. Arithmetic
// on the narrower types happens in this type too (schedules/expr.h).
DataType DefaultAccumulator(DataType type);

// Whether every value of `inner` is a value of `outer`, so that a cast there and back changes
// nothing.
bool Contains(DataType outer, DataType inner);

// The smallest and the largest value of an integer type.
std::int64_t IntegerLowest(DataType type);
std::int64_t IntegerHighest(DataType type);

// `value` rounded to the nearest number of a floating type, ties to even; overflow and infinities
// give infinity (f8e4m3, which has none, NaN). Integers and c64: unchanged.
double RoundTo(DataType type, double value);

// One element in memory (ByteSize(type) bytes, any alignment), for floating types; StoreFloat
// rounds as RoundTo.
double LoadFloat(DataType type, const std::byte* from);
void StoreFloat(DataType type, double value, std::byte* to);
// The same for integer types; StoreInteger wraps as C does, and bool becomes 0 or 1.
std::int64_t LoadInteger(DataType type, const std::byte* from);
void StoreInteger(DataType type, std::int64_t value, std::byte* to);

}  // namespace kindred
