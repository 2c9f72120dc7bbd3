// The scalar helper functions of emitted C, as source text.
#pragma once

#include <array>
#include <string_view>

namespace kindred::internal {

struct ScalarHelper {
  std::string_view name;
  std::array<std::string_view, 8> needs;  // helpers that must stand before it; empty: none
  bool libm;
  bool lanewise;
  std::string_view text;
};

// `name` must be one of the list.
const ScalarHelper& FindScalarHelper(std::string_view name);

}  // namespace kindred::internal
