// The functions of expressions: Python's built-in ones that mean something for parameters, and a
// few of its module math.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "schedules/user/value.h"

namespace kindred {
namespace {

constexpr std::array<std::string_view, 18> kFunctions = {
    "abs", "all",  "any",  "bool", "ceil", "float", "floor", "gcd",  "int",
    "len", "list", "log2", "max",  "min",  "range", "round", "sqrt", "sum"};

Result<Value> Whole(double x) {
  if (!(std::fabs(x) < 9.2e18)) return BadInput("a whole number does not fit 64 bits");
  return Value(static_cast<std::int64_t>(x));
}

Result<Value> Extreme(bool largest, const ValueList& values) {
  if (values.empty()) return BadInput("min and max of nothing");
  const Value* best = values.data();
  for (const Value& value : values) {
    KINDRED_TRY(const bool better, Compare(largest ? ">" : "<", value, *best));
    if (better) best = &value;
  }
  return *best;
}

Result<Value> Range(const std::vector<Value>& arguments) {
  constexpr std::int64_t kMost = 1 << 20;
  for (const Value& argument : arguments)
    if (!argument.IsInteger()) return BadInput("range takes whole numbers");
  if (arguments.size() > 3) return BadInput("range takes one to three numbers");
  const std::int64_t first = arguments.size() > 1 ? arguments[0].Integer() : 0;
  const std::int64_t end = arguments[arguments.size() > 1 ? 1 : 0].Integer();
  const std::int64_t step = arguments.size() > 2 ? arguments[2].Integer() : 1;
  if (step == 0) return BadInput("range with a step of 0");
  ValueList values;
  std::int64_t value = first;
  while (step > 0 ? value < end : value > end) {
    if (static_cast<std::int64_t>(values.size()) == kMost) return BadInput("a list is too long");
    values.emplace_back(value);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  return Value(std::move(values));
}

Result<Value> OfList(std::string_view function, const ValueList& list) {
  if (function == "len") return Value(static_cast<std::int64_t>(list.size()));
  if (function == "list") return Value(list);
  if (function == "all") return Value(std::all_of(list.begin(), list.end(), Truth));
  if (function == "any") return Value(std::any_of(list.begin(), list.end(), Truth));
  Value sum = 0;
  for (const Value& value : list) {
    KINDRED_TRY(sum, Arithmetic("+", sum, value));
  }
  return sum;
}

Result<Value> OfNumber(std::string_view function, const Value& a) {
  if (function == "abs")
    return a.IsFloat() ? Value(std::fabs(a.Number()))
                       : (a.Integer() < 0 ? Negate("-", a) : Result<Value>(Value(a.Integer())));
  if (function == "float") return Value(a.Number());
  if (function == "sqrt" || function == "log2") {
    if (a.Number() < 0 || (a.Number() == 0 && function == "log2"))
      return BadInput(fmt::format("{} of {}", function, Repr(a)));
    return Value(function == "sqrt" ? std::sqrt(a.Number()) : std::log2(a.Number()));
  }
  if (a.IsInteger()) return Value(a.Integer());
  if (function == "floor") return Whole(std::floor(a.Number()));
  if (function == "ceil") return Whole(std::ceil(a.Number()));
  return Whole(function == "int" ? std::trunc(a.Number()) : std::nearbyint(a.Number()));
}

}  // namespace

bool IsFunction(std::string_view name) {
  return std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
}

Result<Value> Call(std::string_view function, const std::vector<Value>& arguments) {
  if (arguments.empty()) return BadInput(fmt::format("{} takes an argument", function));
  const Value& first = arguments[0];
  if (function == "range") return Range(arguments);
  if (function == "min" || function == "max") {
    if (arguments.size() > 1) return Extreme(function == "max", arguments);
    // Of a single number: T1 texts write max(x) where x may be a list.
    return first.List() ? Extreme(function == "max", *first.List()) : Result<Value>(first);
  }
  if (function == "gcd") {
    for (const Value& argument : arguments)
      if (!argument.IsInteger()) return BadInput("gcd takes whole numbers");
    std::int64_t result = 0;
    for (const Value& argument : arguments) result = std::gcd(result, argument.Integer());
    return Value(result);
  }
  if (arguments.size() > 1) return BadInput(fmt::format("{} takes one argument", function));
  if (function == "bool") return Value(Truth(first));
  if (function == "len" && first.Text())
    return Value(static_cast<std::int64_t>(first.Text()->size()));
  const bool of_list = function == "len" || function == "list" || function == "all" ||
                       function == "any" || function == "sum";
  if (of_list) {
    if (!first.List()) return BadInput(fmt::format("{} takes a list", function));
    return OfList(function, *first.List());
  }
  if (!first.IsNumber()) return BadInput(fmt::format("{} takes a number", function));
  return OfNumber(function, first);
}

}  // namespace kindred
