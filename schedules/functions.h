// The functions of the workload language by name: math functions, and sugar that expands into them
// (relu, gelu, silu, ...; docs/workload_language.md lists the formulas). The parser and the
// importers of other formats build expressions with them, so that equal functions have equal trees.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedules/expr.h"

namespace kindred {

struct FunctionInfo {
  std::string_view name;
  int least = 1, most = 1;  // number of arguments
  bool floats = true;       // takes floats only
};

// nullptr: no such function.
const FunctionInfo* FindFunction(std::string_view name);
std::string KnownFunctions();

// `arguments` has between `least` and `most` expressions; those of functions with `floats` are
// floats.
ExprPtr ApplyFunction(const FunctionInfo& function, std::span<const ExprPtr> arguments);

// Words that cannot be the name of a tensor or an axis unless they stand in quotes.
bool IsReserved(std::string_view word);

}  // namespace kindred
