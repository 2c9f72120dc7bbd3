// The complex half of the vector printer. A number that does not depend on the lane stays a scalar
// where it is a factor: its parts are multiplied with whole vectors. A product is two terms,
//
//   x y = re(x) y + im(x) (i y)
//
// so that a sum with a product becomes two fused multiply-adds, and i y is shared by all that is
// multiplied with the same y.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "schedules/internal/emit_vector.h"

namespace kindred::internal {
namespace {

bool IsName(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

std::string VectorPrinter::ComplexName(const ExprPtr& e) {
  const std::string text = AsVector(Print(e));
  if (IsName(text)) return text;
  const std::string name = fmt::format("t{}", context_.temporaries++);
  context_.Line(
      fmt::format("const {} {} = {};", context_.helpers.Vector("c64", lanes_), name, text));
  return name;
}

std::pair<std::string, std::string> VectorPrinter::ComplexTerms(const Expr& product) {
  ExprPtr x = product.args[0], y = product.args[1];
  if (IsRealNumber(*y)) std::swap(x, y);
  if (IsRealNumber(*x)) {
    const Value real = Convert(Print(RealPart(x)), "f32");
    const std::string other = AsVector(Print(y));
    const std::string factor =
        real.vector
            ? fmt::format("{}({})", context_.helpers.Complex("twice", lanes_), real.text.text)
            : Wrap(real.text, kProduct);
    return {fmt::format("{} * {}", factor, Wrap({other, kUnary}, kUnary)), ""};
  }
  if (!context_.UsesVar(*y, lane_)) std::swap(x, y);
  const std::string turn = context_.helpers.Complex("turn", lanes_);
  if (!context_.UsesVar(*x, lane_)) {
    std::string scalar = scalar_.Print(x).text;
    if (!IsName(scalar)) {
      const std::string name = fmt::format("t{}", context_.temporaries++);
      context_.Line(fmt::format("const float _Complex {} = {};", name, scalar));
      scalar = name;
    }
    const std::string other = ComplexName(y);
    return {fmt::format("__real__ {} * {}", scalar, other),
            fmt::format("__imag__ {} * {}({})", scalar, turn, other)};
  }
  const std::string a = ComplexName(x), b = ComplexName(y);
  return {fmt::format("{}({}) * {}", context_.helpers.Complex("even", lanes_), a, b),
          fmt::format("{}({}) * {}({})", context_.helpers.Complex("odd", lanes_), a, turn, b)};
}

VectorPrinter::Value VectorPrinter::ComplexSum(const ExprPtr& e) {
  const auto is_product = [this](const ExprPtr& x) {
    return x->op == Op::kMul && context_.UsesVar(*x, lane_) && !WorthTemporary(uses_, *x) &&
           names_.count(x.get()) == 0;
  };
  // What is no product stands first: the products are added to it.
  ExprPtr first = e->args[0], second = e->args[1];
  const bool add = e->op == Op::kAdd;
  if (add && is_product(first)) std::swap(first, second);
  std::string text;
  const auto append = [&text](const char* symbol, const std::string& term) {
    if (!term.empty()) text += text.empty() ? term : fmt::format(" {} {}", symbol, term);
  };
  for (const ExprPtr& part : {first, second}) {
    const char* symbol = add || part == first ? "+" : "-";
    if (is_product(part)) {
      const auto [a, b] = ComplexTerms(*part);
      append(symbol, a);
      append(symbol, b);
    } else {
      const Value v = Print(part);
      append(symbol, v.vector ? Wrap(v.text, kSum + 1) : AsVector(v));
    }
  }
  return {{text, kSum}, "c64", true, false};
}

VectorPrinter::Value VectorPrinter::Complex(const ExprPtr& e) {
  const std::string_view element = ComputeElement(e->type);
  const auto argument = [&](std::size_t i) { return AsVector(Print(e->args[i])); };
  const auto call = [&](std::string_view function, const std::string& arguments) {
    return Value{
        {fmt::format("{}({})", context_.helpers.Complex(function, lanes_), arguments), kPrimary},
        element,
        true,
        false};
  };
  switch (e->op) {
    case Op::kAdd:
    case Op::kSub: return ComplexSum(e);
    case Op::kNeg:
      return {{"-" + Wrap(Print(e->args[0]).text, kPrimary), kUnary}, element, true, false};
    case Op::kMul: {
      const auto [a, b] = ComplexTerms(*e);
      if (b.empty()) return {{a, kProduct}, element, true, false};
      return {{a + " + " + b, kSum}, element, true, false};
    }
    case Op::kDiv: {
      if (!IsRealNumber(*e->args[1])) return call("div", argument(0) + ", " + argument(1));
      const Value divisor = Convert(Print(RealPart(e->args[1])), "f32");
      const std::string text =
          divisor.vector
              ? fmt::format("{}({})", context_.helpers.Complex("twice", lanes_), divisor.text.text)
              : Wrap(divisor.text, kProduct + 1);
      const Value number = Print(e->args[0]);
      const std::string whole = number.vector ? Wrap(number.text, kProduct) : AsVector(number);
      return {{fmt::format("{} / {}", whole, text), kProduct}, element, true, false};
    }
    case Op::kCast: {
      const std::string real = AsVector(Convert(Print(e->args[0]), "f32"));
      return call("complex",
                  fmt::format("{}, ({}){{0}}", real, context_.helpers.Vector("f32", lanes_)));
    }
    case Op::kComplex:
      return call("complex", AsVector(Convert(Print(e->args[0]), "f32")) + ", " +
                                 AsVector(Convert(Print(e->args[1]), "f32")));
    default: return call(Name(e->op), argument(0));  // kReal kImag kConj kAbs
  }
}

}  // namespace kindred::internal
