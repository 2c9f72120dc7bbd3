// Is an output right? Compares it with the reference's values and error bounds.
//
// An element is right where it differs from the value by no more than the bound, where both are
// NaN, where both are the same infinity, or where the value plus its bound lies beyond the type's
// largest number and the element is that infinity (of f8e4m3: NaN). Integers without a bound must
// be equal. An index that is one of several choices is right where it is one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/data_type.h"

namespace kindred {

// What is known of one output. All of its elements, or a sampled grid of them. One of c64 is compared
// as f32 with a further dimension, the real and the imaginary part.
struct ExpectedOutput {
  std::string name;
  DataType type = DataType::kF32;   // of the output as kernels write it
  std::vector<std::int64_t> shape;  // of the output as kernels write it
  // Per dimension: the indices known, ascending; empty: all of them.
  std::vector<std::vector<std::int64_t>> positions;
  bool integral =
      false;  // which of the two is filled, one element per point of the grid, row-major
  std::vector<double> values;
  std::vector<std::int64_t> integers;
  std::vector<double> bounds;
  // Of indices that rounding may decide: per point of the grid, for each index whether it is right.
  // The bounds do not count then.
  std::vector<std::uint8_t> choices;
};

// Outputs are filled with this byte before a run: no kernel computes it where the type is floating.
inline constexpr unsigned char kUnwritten = 0xFF;

// Empty where all is right; else names the first bad element: index, what came, what was expected.
std::string FirstDifference(const ExpectedOutput& expected, const std::byte* data);

// Element `index` of an array of `type`; integers as exactly as a double can.
double ReadElement(DataType type, const std::byte* data, std::int64_t index);
std::int64_t ReadInteger(DataType type, const std::byte* data, std::int64_t index);

}  // namespace kindred
