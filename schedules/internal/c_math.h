// The scalar helper functions of emitted C, as source text.
#pragma once

#include <array>
#include <span>
#include <string_view>

#define KD_INLINE "static inline __attribute__((unused)) "

namespace kindred::internal {

struct ScalarHelper {
  std::string_view name;
  std::array<std::string_view, 8> needs;  // helpers that must stand before it; empty: none
  bool libm;
  bool lanewise;
  std::string_view text;
};

// Between f32 and how narrower floats lie in memory.
std::span<const ScalarHelper> NarrowFloatHelpers();
// Of complex numbers.
std::span<const ScalarHelper> ComplexHelpers();

// `name` must be one of the lists.
const ScalarHelper& FindScalarHelper(std::string_view name);

}  // namespace kindred::internal
