// Values of tunable parameters and of expressions over them, with Python's semantics.
//
// Whole numbers have 64 bits: a result outside is an error, never a wrapped number. Errors
// (kBadInput) say what is wrong with the operands, not where they stand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

struct Value;
using ValueList = std::vector<Value>;

struct Value : std::variant<bool, std::int64_t, double, std::string, ValueList> {
  using variant::variant;
  // A literal is text, not a truth value.
  Value(const char* text) : variant(std::string(text)) {}
  Value(int number) : variant(std::int64_t{number}) {}

  bool IsNumber() const { return index() <= 2; }  // a truth value is 0 or 1
  bool IsInteger() const { return index() <= 1; }
  bool IsFloat() const { return index() == 2; }
  const std::string* Text() const { return std::get_if<std::string>(this); }
  const ValueList* List() const { return std::get_if<ValueList>(this); }
  std::int64_t Integer() const;  // of IsInteger()
  double Number() const;         // of IsNumber()
};

// What `if value:` asks.
bool Truth(const Value& value);
// As Python's ==: 1 == 1.0 == True; values of different kinds are not equal.
bool Equal(const Value& a, const Value& b);
// As Python's repr: True, 3, 0.5, 'text', [1, 2].
std::string Repr(const Value& value);

// "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>".
Result<Value> Arithmetic(std::string_view op, const Value& a, const Value& b);
// "<", "<=", ">", ">=", "==", "!=", "in", "not in".
Result<bool> Compare(std::string_view op, const Value& a, const Value& b);
// "-", "+", "~".
Result<Value> Negate(std::string_view op, const Value& a);
// abs, all, any, bool, ceil, float, floor, gcd, int, len, log2, max, min, range, round, sqrt, sum.
Result<Value> Call(std::string_view function, const std::vector<Value>& arguments);
bool IsFunction(std::string_view name);

}  // namespace kindred
