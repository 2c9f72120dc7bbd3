// Parameters of a component, declared once: one struct, and one table of its numeric fields that
// feeds the command line, JSON and the docs. A table is a constexpr array of ParameterSpec.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "schedules/base/result.h"

namespace kindred {

template <typename Struct>
struct ParameterSpec {
  std::string_view name;
  double Struct::*field;  // every tunable number is a double; whole numbers have integral = true
  double low, high;       // inclusive bounds
  bool integral;
  std::string_view help;
};

// Sets one field by name. Errors: unknown name (lists the known ones), not finite, out of bounds.
template <typename Struct>
Result<void> SetParameter(Struct& target, std::span<const ParameterSpec<Struct>> table,
                          std::string_view name, double value) {
  std::string known;
  for (const auto& spec : table) {
    if (spec.name == name) {
      if (!(value >= spec.low && value <= spec.high) ||
          (spec.integral && value != std::floor(value)))
        return BadInput("parameter " + std::string(name) + " must be " +
                        (spec.integral ? "a whole number" : "a number") + " between " +
                        std::to_string(spec.low) + " and " + std::to_string(spec.high));
      target.*(spec.field) = value;
      return {};
    }
    known += (known.empty() ? "" : ", ") + std::string(spec.name);
  }
  return BadInput("unknown parameter '" + std::string(name) + "'; known are: " + known);
}

}  // namespace kindred
