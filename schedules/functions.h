// The functions of the workload language by name: math functions, and sugar that expands into them
// (relu, gelu, silu, ...; docs/workload_language.md lists the formulas). The parser and the
// importers of other formats build expressions with them, so that equal functions have equal trees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedules/expr.h"

namespace kindred {

struct FunctionInfo {
  enum class Takes : std::uint8_t { kFloats, kComplex, kNumbers };  // of its arguments' types

  std::string_view name;
  int least = 1, most = 1;  // number of arguments
  Takes takes = Takes::kFloats;
};

// nullptr: no such function.
const FunctionInfo* FindFunction(std::string_view name);
std::string KnownFunctions();

// `arguments` has between `least` and `most` expressions, of the types that the function takes.
ExprPtr ApplyFunction(const FunctionInfo& function, std::span<const ExprPtr> arguments);

// Words that cannot be the name of a tensor or an axis unless they stand in quotes.
bool IsReserved(std::string_view word);

}  // namespace kindred
