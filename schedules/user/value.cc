#include "schedules/user/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace kindred {
namespace {

std::string_view KindOf(const Value& value) {
  static constexpr std::string_view kNames[] = {"bool", "int", "float", "str", "list"};
  return kNames[value.index()];
}

Error TooLarge() { return BadInput("a whole number does not fit 64 bits"); }

Error WrongKinds(std::string_view op, const Value& a, const Value& b) {
  return BadInput(fmt::format("'{}' of {} and {} has no meaning", op, KindOf(a), KindOf(b)));
}

Result<Value> FromFloat(double x) {
  if (!std::isfinite(x)) return BadInput("a number is out of the range of floats");
  return Value(x);
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> IntegerPower(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return BadInput("0 to a negative power");
    return FromFloat(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  if (base == 0 || base == 1) return Value(exponent == 0 ? std::int64_t{1} : base);
  if (base == -1) return Value(exponent % 2 == 0 ? std::int64_t{1} : std::int64_t{-1});
  for (std::int64_t i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(result, base, &result)) return TooLarge();
  return Value(result);
}

Result<Value> IntegerArithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &result)) return TooLarge();
  } else if (op == "-") {
    if (__builtin_sub_overflow(a, b, &result)) return TooLarge();
  } else if (op == "*") {
    if (__builtin_mul_overflow(a, b, &result)) return TooLarge();
  } else if (op == "**") {
    return IntegerPower(a, b);
  } else if (op == "&") {
    result = a & b;
  } else if (op == "|") {
    result = a | b;
  } else if (op == "^") {
    result = a ^ b;
  } else if (op == "<<" || op == ">>") {
    if (b < 0) return BadInput("a shift by a negative count");
    if (op == ">>") return Value(a >> std::min<std::int64_t>(b, 63));
    if (a != 0 && (b > 62 || __builtin_mul_overflow(a, std::int64_t{1} << b, &result)))
      return TooLarge();
  } else {
    if (b == 0) return BadInput("division by zero");
    if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
    if (b == -1) {  // the one quotient that may not fit, and a remainder of nothing
      if (op == "%") return Value(0);
      if (a == std::numeric_limits<std::int64_t>::min()) return TooLarge();
    }
    result = op == "//" ? FloorDivide(a, b) : a - FloorDivide(a, b) * b;
  }
  return Value(result);
}

Result<Value> FloatArithmetic(std::string_view op, const Value& left, const Value& right) {
  const double a = left.Number(), b = right.Number();
  if (op == "+") return FromFloat(a + b);
  if (op == "-") return FromFloat(a - b);
  if (op == "*") return FromFloat(a * b);
  if (op == "**") {
    if (a == 0 && b < 0) return BadInput("0 to a negative power");
    if (a < 0 && b != std::floor(b)) return BadInput("a root of a negative number");
    return FromFloat(std::pow(a, b));
  }
  if (op != "/" && op != "//" && op != "%") return WrongKinds(op, left, right);
  if (b == 0) return BadInput("division by zero");
  if (op == "/") return FromFloat(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == "%") return FromFloat(remainder);
  const double quotient = (a - remainder) / b;
  const double floor = std::floor(quotient);
  return FromFloat(quotient - floor > 0.5 ? floor + 1 : floor);
}

// -1, 0, 1: a before, equal to, after b. Exact between whole numbers and floats.
int Order(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a.IsInteger() && b.IsInteger()) return sign(a.Integer(), b.Integer());
  return sign(static_cast<long double>(a.IsInteger() ? static_cast<long double>(a.Integer())
                                                     : static_cast<long double>(a.Number())),
              static_cast<long double>(b.IsInteger() ? static_cast<long double>(b.Integer())
                                                     : static_cast<long double>(b.Number())));
}

Result<bool> Contains(const Value& part, const Value& whole) {
  if (const ValueList* list = whole.List()) {
    for (const Value& value : *list)
      if (Equal(value, part)) return true;
    return false;
  }
  if (part.Text() == nullptr || whole.Text() == nullptr) return WrongKinds("in", part, whole);
  return whole.Text()->find(*part.Text()) != std::string::npos;
}

// Lists by their first elements that differ.
Result<int> OrderOf(std::string_view op, const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return Order(a, b);
  if (a.Text() && b.Text()) {
    const int order = a.Text()->compare(*b.Text());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (!a.List() || !b.List()) return WrongKinds(op, a, b);
  for (std::size_t i = 0; i < a.List()->size() && i < b.List()->size(); ++i)
    if (!Equal((*a.List())[i], (*b.List())[i])) return OrderOf(op, (*a.List())[i], (*b.List())[i]);
  return Order(Value(static_cast<std::int64_t>(a.List()->size())),
               Value(static_cast<std::int64_t>(b.List()->size())));
}

}  // namespace

std::int64_t Value::Integer() const {
  const bool* truth = std::get_if<bool>(this);
  return truth ? std::int64_t{*truth} : std::get<std::int64_t>(*this);
}

double Value::Number() const {
  const double* number = std::get_if<double>(this);
  return number ? *number : static_cast<double>(Integer());
}

bool Truth(const Value& value) {
  if (value.IsNumber()) return value.Number() != 0;
  return value.Text() ? !value.Text()->empty() : !value.List()->empty();
}

bool Equal(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return Order(a, b) == 0;
  if (a.Text() && b.Text()) return *a.Text() == *b.Text();
  if (!a.List() || !b.List() || a.List()->size() != b.List()->size()) return false;
  for (std::size_t i = 0; i < a.List()->size(); ++i)
    if (!Equal((*a.List())[i], (*b.List())[i])) return false;
  return true;
}

std::string Repr(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (value.IsInteger()) return fmt::format("{}", value.Integer());
  if (value.IsFloat()) {
    const std::string text = fmt::format("{}", value.Number());
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (value.Text()) return "'" + *value.Text() + "'";
  std::string text;
  for (const Value& element : *value.List()) text += (text.empty() ? "" : ", ") + Repr(element);
  return "[" + text + "]";
}

Result<Value> Arithmetic(std::string_view op, const Value& a, const Value& b) {
  if (a.IsInteger() && b.IsInteger()) return IntegerArithmetic(op, a.Integer(), b.Integer());
  if (a.IsNumber() && b.IsNumber()) return FloatArithmetic(op, a, b);
  if (op == "+" && a.Text() && b.Text()) return Value(*a.Text() + *b.Text());
  if (op == "+" && a.List() && b.List()) {
    ValueList joined = *a.List();
    joined.insert(joined.end(), b.List()->begin(), b.List()->end());
    return Value(std::move(joined));
  }
  if (op == "*" && a.List() && b.IsInteger()) {
    constexpr std::int64_t kMost = 1 << 20;
    const auto size = static_cast<std::int64_t>(a.List()->size());
    if (size > 0 && b.Integer() > kMost / size) return BadInput("a list is too long");
    ValueList repeated;
    for (std::int64_t i = 0; i < b.Integer(); ++i)
      repeated.insert(repeated.end(), a.List()->begin(), a.List()->end());
    return Value(std::move(repeated));
  }
  return WrongKinds(op, a, b);
}

Result<bool> Compare(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return Equal(a, b);
  if (op == "!=") return !Equal(a, b);
  if (op == "in") return Contains(a, b);
  if (op == "not in") {
    KINDRED_TRY(const bool found, Contains(a, b));
    return !found;
  }
  KINDRED_TRY(const int order, OrderOf(op, a, b));
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

Result<Value> Negate(std::string_view op, const Value& a) {
  if (!a.IsNumber() || (op == "~" && !a.IsInteger()))
    return BadInput(fmt::format("'{}' of {} has no meaning", op, KindOf(a)));
  if (a.IsFloat()) return Value(op == "-" ? -a.Number() : a.Number());
  if (op == "~") return Value(~a.Integer());
  return op == "-" ? IntegerArithmetic("-", 0, a.Integer()) : Value(a.Integer());
}

}  // namespace kindred
