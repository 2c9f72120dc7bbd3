#include "schedules/internal/emit_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace kindred::internal {
namespace {

std::string_view LibmName(Op op) {
  switch (op) {
    case Op::kRound: return "rint";
    case Op::kAbs: return "fabs";
    default: return Name(op);
  }
}

}  // namespace

CText ScalarPrinter::Print(const ExprPtr& e) {
  const auto known = names_.find(e.get());
  if (known != names_.end()) return {known->second, kPrimary};
  CText text = PrintNode(*e);
  if (lazy_ > 0 || !WorthTemporary(uses_, *e)) return text;
  const std::string name = fmt::format("t{}", context_.temporaries++);
  context_.Line(
      fmt::format("const {} {} = {};", CTypeOf(ComputeElement(e->type)), name, text.text));
  names_.emplace(e.get(), name);
  return {name, kPrimary};
}

CText ScalarPrinter::PrintIndex(const ExprPtr& e) {
  const auto affine = AsAffine(*e, static_cast<int>(context_.program.variables.size()));
  if (!affine) return Print(e);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < affine->coefficients.size(); ++i)
    if (affine->coefficients[i] != 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::llabs(affine->coefficients[a]) > std::llabs(affine->coefficients[b]);
  });
  CText sum;
  const auto add = [&](const std::string& term, bool negative, bool product) {
    if (sum.text.empty())
      sum = {(negative ? "-" : "") + term, negative ? kUnary : product ? kProduct : kPrimary};
    else
      sum = {sum.text + (negative ? " - " : " + ") + term, kSum};
  };
  for (const std::size_t i : order) {
    const std::int64_t c = affine->coefficients[i];
    const std::string& name = context_.variable_names[i];
    const bool one = c == 1 || c == -1;
    add(one ? name : fmt::format("{} * {}", name, std::llabs(c)), c < 0, !one);
  }
  if (affine->constant != 0 || order.empty())
    add(IntLiteral(std::llabs(affine->constant)), affine->constant < 0, false);
  return sum;
}

std::string ScalarPrinter::RegisterName(int buffer, std::int64_t index) {
  const auto b = static_cast<std::size_t>(buffer);
  const int lanes = context_.register_lanes[b];
  if (lanes > 1)
    return fmt::format("{}_{}[{}]", context_.buffer_names[b], index / lanes, index % lanes);
  if (context_.program.buffers[b].elements == 1) return context_.buffer_names[b];
  return fmt::format("{}_{}", context_.buffer_names[b], index);
}

void ScalarPrinter::Assign(int buffer, const ExprPtr& index, const std::string& value) {
  const Buffer& b = context_.BufferAt(buffer);
  const std::string& name = context_.buffer_names[static_cast<std::size_t>(buffer)];
  if (b.scope != Scope::kRegister)
    return context_.Line(fmt::format("{}[{}] = {};", name, PrintIndex(index).text, value));
  const int lanes = context_.register_lanes[static_cast<std::size_t>(buffer)];
  if (b.type != DataType::kC64 || lanes == 1)
    return context_.Line(fmt::format("{} = {};", RegisterName(buffer, index->integer), value));
  // One of the numbers in a vector.
  const std::int64_t number = index->integer / lanes, part = 2 * (index->integer % lanes);
  const std::string whole = fmt::format("t{}", context_.temporaries++);
  context_.Line(fmt::format("const float _Complex {} = {};", whole, value));
  context_.Line(fmt::format("{0}_{1}[{2}] = __real__ {4}, {0}_{1}[{3}] = __imag__ {4};", name,
                            number, part, part + 1, whole));
}

CText ScalarPrinter::PrintNode(const Expr& e) {
  if (IsComplex(e)) return Complex(e);
  switch (e.op) {
    case Op::kInt: return {IntLiteral(e.integer), e.integer < 0 ? kUnary : kPrimary};
    case Op::kFloat: {
      const CText number = {FloatLiteral(e.number, e.type == DataType::kF64),
                            e.number < 0 ? kUnary : kPrimary};
      if (e.type != DataType::kC64) return number;
      return {"(float _Complex)" + Wrap(number, kUnary), kUnary};
    }
    case Op::kVar: return {context_.variable_names[static_cast<std::size_t>(e.index)], kPrimary};
    case Op::kExtent: return {context_.symbol_names[static_cast<std::size_t>(e.index)], kPrimary};
    case Op::kLoad: return Load(e);
    case Op::kPadded: return Print(e.args[0]);  // CheckProgram rejects it
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul: return Arithmetic(e);
    case Op::kDiv:
    case Op::kMod: return Division(e);
    case Op::kMin:
    case Op::kMax:
    case Op::kAbs:
      return Call(
          context_.helpers.Scalar(fmt::format("kd_{}_{}", Name(e.op), ComputeElement(e.type))), e);
    case Op::kNeg:
      if (ComputeElement(e.type) == "i32")
        return {fmt::format("(int)(0u - (unsigned){})", Wrap(Print(e.args[0]), kUnary)), kUnary};
      return {"-" + Wrap(Print(e.args[0]), kPrimary), kUnary};
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual: {
      const std::string_view symbol = e.op == Op::kLess        ? "<"
                                      : e.op == Op::kLessEqual ? "<="
                                      : e.op == Op::kEqual     ? "=="
                                                               : "!=";
      const bool order = e.op == Op::kLess || e.op == Op::kLessEqual;
      return {fmt::format("{} {} {}", Wrap(Print(e.args[0]), kSum), symbol,
                          Wrap(Print(e.args[1]), kSum)),
              order ? kCompare : kEquals};
    }
    case Op::kAnd:
    case Op::kOr: {
      const int level = e.op == Op::kAnd ? kLogicalAnd : kLogicalOr;
      const std::string left = Wrap(Print(e.args[0]), level + (e.op == Op::kOr ? 15 : 0));
      const bool lazy = !context_.Safe(*e.args[1]);
      lazy_ += lazy;
      const std::string right = Wrap(Print(e.args[1]), level + 15);
      lazy_ -= lazy;
      return {fmt::format("{} {} {}", left, e.op == Op::kAnd ? "&&" : "||", right), level};
    }
    case Op::kNot: return {"!" + Wrap(Print(e.args[0]), kUnary), kUnary};
    case Op::kSelect: {
      const std::string condition = Wrap(Print(e.args[0]), kConditional + 1);
      const bool lazy = !context_.Safe(*e.args[1]) || !context_.Safe(*e.args[2]);
      lazy_ += lazy;
      const std::string yes = Wrap(Print(e.args[1]), kConditional + 1);
      const std::string no = Wrap(Print(e.args[2]), kConditional);
      lazy_ -= lazy;
      return {fmt::format("{} ? {} : {}", condition, yes, no), kConditional};
    }
    case Op::kCast: return Cast(e);
    case Op::kPow: return Power(e);
    default: return Function(e);
  }
}

// Of complex numbers, or from them. Real factors and divisors stay real: C multiplies them with
// both parts.
CText ScalarPrinter::Complex(const Expr& e) {
  const auto call = [&](std::string_view function) {
    return Call(context_.helpers.Scalar(fmt::format("kd_{}_c64", function)), e);
  };
  switch (e.op) {
    case Op::kMul: {
      if (!IsRealNumber(*e.args[0]) && !IsRealNumber(*e.args[1])) return call("mul");
      const CText a = Print(RealPart(e.args[0])), b = Print(RealPart(e.args[1]));
      const std::string product = fmt::format("{} * {}", Wrap(a, kProduct), Wrap(b, kProduct + 1));
      const bool both = IsRealNumber(*e.args[0]) && IsRealNumber(*e.args[1]);
      if (both) return {fmt::format("(float _Complex)({})", product), kUnary};
      return {product, kProduct};
    }
    case Op::kDiv:
      if (!IsRealNumber(*e.args[1])) return call("div");
      return {fmt::format("{} / {}", Wrap(Print(e.args[0]), kProduct),
                          Wrap(Print(RealPart(e.args[1])), kProduct + 1)),
              kProduct};
    case Op::kReal: return {"__real__ " + Wrap(Print(e.args[0]), kPrimary), kUnary};
    case Op::kImag: return {"__imag__ " + Wrap(Print(e.args[0]), kPrimary), kUnary};
    case Op::kCast: return {"(float _Complex)" + Wrap(Print(e.args[0]), kUnary), kUnary};
    default: return call(Name(e.op));  // kComplex kConj kAbs
  }
}

CText ScalarPrinter::Load(const Expr& e) {
  const Buffer& b = context_.BufferAt(e.index);
  CText element;
  const int lanes = context_.register_lanes[static_cast<std::size_t>(e.index)];
  if (b.scope == Scope::kRegister && b.type == DataType::kC64 && lanes > 1) {
    const std::int64_t part = 2 * (e.args[0]->integer % lanes);
    const std::string name =
        fmt::format("{}_{}", context_.buffer_names[static_cast<std::size_t>(e.index)],
                    e.args[0]->integer / lanes);
    return {fmt::format("{0}({1}[{2}], {1}[{3}])", context_.helpers.Scalar("kd_complex_c64"), name,
                        part, part + 1),
            kPrimary};
  }
  if (b.scope == Scope::kRegister)
    element = {RegisterName(e.index, e.args[0]->integer), kPrimary};
  else
    element = {fmt::format("{}[{}]", context_.buffer_names[static_cast<std::size_t>(e.index)],
                           PrintIndex(e.args[0]).text),
               kPrimary};
  if (b.type == DataType::kF16) return {"(float)" + element.text, kUnary};
  if (IsNarrowFloat(b.type)) return {Widened(b.type, element.text), kPrimary};
  return element;
}

CText ScalarPrinter::Arithmetic(const Expr& e) {
  const bool product = e.op == Op::kMul;
  const std::string_view symbol = product ? "*" : e.op == Op::kAdd ? "+" : "-";
  const int level = product ? kProduct : kSum;
  const CText a = Print(e.args[0]), b = Print(e.args[1]);
  if (ComputeElement(e.type) == "i32")  // wraps around
    return {fmt::format("(int)((unsigned){} {} (unsigned){})", Wrap(a, kUnary), symbol,
                        Wrap(b, kUnary)),
            kUnary};
  return {fmt::format("{} {} {}", Wrap(a, level), symbol, Wrap(b, level + 1)), level};
}

CText ScalarPrinter::Division(const Expr& e) {
  const bool divide = e.op == Op::kDiv;
  const std::string_view element = ComputeElement(e.type);
  if (IsFloat(e.type)) {
    if (!divide) return Call(context_.helpers.Scalar(fmt::format("kd_floormod_{}", element)), e);
    return {fmt::format("{} / {}", Wrap(Print(e.args[0]), kProduct),
                        Wrap(Print(e.args[1]), kProduct + 1)),
            kProduct};
  }
  const std::int64_t divisor = e.args[1]->op == Op::kInt ? e.args[1]->integer : 0;
  if (e.type == DataType::kI64 && divisor > 0) {
    const auto range = BoundsOf(*e.args[0], context_.Ranges());
    if (range && range->low >= 0) {
      const bool narrow = range->high <= std::numeric_limits<std::uint32_t>::max() &&
                          divisor <= std::numeric_limits<std::int32_t>::max();
      return {fmt::format("(int64_t)(({}){} {} {})", narrow ? "unsigned" : "uint64_t",
                          Wrap(Print(e.args[0]), kUnary), divide ? "/" : "%",
                          IntLiteral(divisor) + (narrow                 ? ""
                                                 : divisor > 0x7fffffff ? ""
                                                                        : "L")),
              kUnary};
    }
  }
  return Call(
      context_.helpers.Scalar(fmt::format("kd_floor{}_{}", divide ? "div" : "mod", element)), e);
}

CText ScalarPrinter::Call(const std::string& name, const Expr& e) {
  std::string arguments;
  for (const ExprPtr& arg : e.args) {
    if (!arguments.empty()) arguments += ", ";
    arguments += Print(arg).text;
  }
  return {fmt::format("{}({})", name, arguments), kPrimary};
}

CText ScalarPrinter::Function(const Expr& e) {
  const bool is_double = e.type == DataType::kF64;
  const std::string_view element = ComputeElement(e.type);
  const bool own = !context_.program.plain && !is_double;
  const bool simple = e.op == Op::kSqrt || e.op == Op::kRsqrt || e.op == Op::kFloor ||
                      e.op == Op::kCeil || e.op == Op::kRound;
  if (own || simple)
    return Call(context_.helpers.Scalar(fmt::format("kd_{}_{}", Name(e.op), element)), e);
  context_.helpers.NeedLibm();
  return Call(fmt::format("__builtin_{}{}", LibmName(e.op), is_double ? "" : "f"), e);
}

CText ScalarPrinter::Power(const Expr& e) {
  const Expr& exponent = *e.args[1];
  const std::string_view element = ComputeElement(e.type);
  if (exponent.op == Op::kFloat && IsFloat(e.type)) {
    if (exponent.number == 1) return Print(e.args[0]);
    const std::string base = Wrap(Print(e.args[0]), kPrimary);
    // Repeating the text is cheap where it is a name or a load.
    if (base.size() <= 48) {
      if (exponent.number == 2) return {fmt::format("{0} * {0}", base), kProduct};
      if (exponent.number == 3) return {fmt::format("{0} * {0} * {0}", base), kProduct};
    }
  }
  if (!IsFloat(e.type)) {
    context_.helpers.NeedLibm();
    return {fmt::format("({})__builtin_pow({}, {})", CTypeOf(element), Print(e.args[0]).text,
                        Print(e.args[1]).text),
            kUnary};
  }
  return Call(context_.helpers.Scalar(fmt::format("kd_pow_{}", element)), e);
}

std::string ScalarPrinter::Widened(DataType type, const std::string& text) {
  return fmt::format("{}({})", context_.helpers.Scalar(fmt::format("kd_{}_to_f32", Name(type))),
                     text);
}

std::string ScalarPrinter::Narrowed(DataType type, const std::string& text) {
  return fmt::format("{}({})", context_.helpers.Scalar(fmt::format("kd_f32_to_{}", Name(type))),
                     text);
}

CText ScalarPrinter::Cast(const Expr& e) {
  const DataType from = e.args[0]->type;
  const CText value = Print(e.args[0]);
  const std::string operand = Wrap(value, kUnary);
  switch (e.type) {
    case DataType::kBool:
      if (from == DataType::kBool) return value;
      return {fmt::format("{} != 0", Wrap(value, kSum)), kEquals};
    case DataType::kF16: return {"(float)(_Float16)" + operand, kUnary};
    case DataType::kBF16:
    case DataType::kF8E4M3:
    case DataType::kF8E5M2: return {Widened(e.type, Narrowed(e.type, value.text)), kPrimary};
    case DataType::kI8:
    case DataType::kU8:
      return {fmt::format("({}){}", CTypeOf(StorageElement(e.type)), operand), kUnary};
    default: break;
  }
  if (ComputeElement(from) == ComputeElement(e.type)) return value;
  return {fmt::format("({}){}", CTypeOf(ComputeElement(e.type)), operand), kUnary};
}

std::string ScalarPrinter::Stored(DataType type, const ExprPtr& value) {
  // The store itself rounds or wraps.
  const ExprPtr& inner = value->op == Op::kCast && value->type == type ? value->args[0] : value;
  const CText text = Print(inner);
  if (type == DataType::kBool && inner->type != DataType::kBool) return Wrap(text, kSum) + " != 0";
  return IsNarrowFloat(type) && type != DataType::kF16 ? Narrowed(type, text.text) : text.text;
}

}  // namespace kindred::internal
