#include "schedules/internal/cuda_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace kindred::internal {

CText CudaExprPrinter::Print(const ExprPtr& e) {
  const auto known = names_.find(e.get());
  if (known != names_.end()) return {known->second, kPrimary};
  CText text = PrintNode(*e);
  if (lazy_ > 0 || !WorthTemporary(uses_, *e)) return text;
  const std::string name = fmt::format("t{}", context_.temporaries++);
  context_.Line(fmt::format("const {} {} = {};", CudaComputeType(e->type), name, text.text));
  names_.emplace(e.get(), name);
  return {name, kPrimary};
}

CText CudaExprPrinter::PrintIndex(const ExprPtr& e) {
  const auto affine = AsAffine(*e, static_cast<int>(context_.program.variables.size()));
  if (!affine) return Print(e);
  const bool wide = context_.IsWide(*e);
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
    const std::string name = (wide ? "(long long)" : "") + context_.variable_names[i];
    const bool one = c == 1 || c == -1;
    add(one ? name : fmt::format("{} * {}", name, IntLiteral(std::llabs(c))), c < 0, !one || wide);
  }
  if (affine->constant != 0 || order.empty())
    add(IntLiteral(std::llabs(affine->constant)), affine->constant < 0, false);
  return sum;
}

std::string CudaExprPrinter::Element(int buffer, const ExprPtr& index) {
  const auto b = static_cast<std::size_t>(buffer);
  const Buffer& info = context_.program.buffers[b];
  if (info.scope == Scope::kRegister && info.elements == 1) return context_.buffer_names[b];
  return fmt::format("{}[{}]", context_.buffer_names[b], PrintIndex(index).text);
}

std::string_view CudaExprPrinter::ElementOf(const Expr& e) const {
  if (e.type == DataType::kI64 && !context_.IsWide(e)) return "i32";
  return ComputeElement(e.type);
}

std::string CudaExprPrinter::Operand(const ExprPtr& e, bool wide, int at_least) {
  if (!wide || e->type != DataType::kI64 || context_.IsWide(*e)) return Wrap(Print(e), at_least);
  if (e->op == Op::kInt) return fmt::format("{}LL", e->integer);
  return "(long long)" + Wrap(Print(e), kUnary);
}

std::string CudaExprPrinter::Number(double value, bool is_double) {
  if (std::isfinite(value)) return FloatLiteral(value, is_double);
  const std::string_view bits = std::isnan(value) ? "0x7fc00000" : "0x7f800000";
  return fmt::format("{}{}kd_from_bits_f32({})", value < 0 ? "-" : "", is_double ? "(double)" : "",
                     bits);
}

CText CudaExprPrinter::PrintNode(const Expr& e) {
  if (IsComplex(e)) return Complex(e);
  switch (e.op) {
    case Op::kInt: return {IntLiteral(e.integer), e.integer < 0 ? kUnary : kPrimary};
    case Op::kFloat: {
      const CText number = {Number(e.number, e.type == DataType::kF64),
                            e.number < 0 ? kUnary : kPrimary};
      if (e.type != DataType::kC64) return number;
      return {fmt::format("{}({}, 0.f)", "kd_complex_c64", number.text), kPrimary};
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
    case Op::kNeg:
      if (e.type == DataType::kC64) return Call("kd_neg_c64", e);
      if (e.type != DataType::kI64 && ComputeElement(e.type) == "i32")
        return {fmt::format("(int)(0u - (unsigned){})", Wrap(Print(e.args[0]), kUnary)), kUnary};
      return {"-" + Operand(e.args[0], context_.IsWide(e), kPrimary), kUnary};
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
      const int inside = level + (e.op == Op::kOr ? 15 : 0);
      const std::string left = Wrap(Print(e.args[0]), inside);
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
    default: return Call(fmt::format("kd_{}_{}", Name(e.op), ElementOf(e)), e);
  }
}

std::string CudaExprPrinter::Loaded(const Expr& load) {
  const auto loaded = loaded_.find(&load);
  return loaded != loaded_.end() ? loaded->second : Element(load.index, load.args[0]);
}

CText CudaExprPrinter::Load(const Expr& e) {
  const std::string element = Loaded(e);
  const DataType type = context_.BufferAt(e.index).type;
  return {IsNarrowFloat(type) ? Widened(type, element) : element, kPrimary};
}

CText CudaExprPrinter::Arithmetic(const Expr& e) {
  if (e.type == DataType::kC64) return Call(fmt::format("kd_{}_c64", Name(e.op)), e);
  const bool product = e.op == Op::kMul;
  const std::string_view symbol = product ? "*" : e.op == Op::kAdd ? "+" : "-";
  const int level = product ? kProduct : kSum;
  if (e.type != DataType::kI64 && ComputeElement(e.type) == "i32") {  // wraps around
    const std::string a = Wrap(Print(e.args[0]), kUnary), b = Wrap(Print(e.args[1]), kUnary);
    return {fmt::format("(int)((unsigned){} {} (unsigned){})", a, symbol, b), kUnary};
  }
  const bool wide = context_.IsWide(e);
  const std::string a = Operand(e.args[0], wide, level), b = Operand(e.args[1], wide, level + 1);
  return {fmt::format("{} {} {}", a, symbol, b), level};
}

CText CudaExprPrinter::Division(const Expr& e) {
  const bool divide = e.op == Op::kDiv;
  const std::string_view element = ElementOf(e);
  if (IsFloat(e.type)) {
    if (!divide) return Call(fmt::format("kd_floormod_{}", element), e);
    const std::string a = Wrap(Print(e.args[0]), kProduct);
    return {fmt::format("{} / {}", a, Wrap(Print(e.args[1]), kProduct + 1)), kProduct};
  }
  const auto dividend = BoundsOf(*e.args[0], context_.Ranges());
  const auto divisor = BoundsOf(*e.args[1], context_.Ranges());
  if (dividend && divisor && dividend->low >= 0 && divisor->low > 0 && e.type == DataType::kI64) {
    const bool wide = context_.IsWide(e);
    const std::string_view type = wide ? "unsigned long long" : "unsigned";
    const std::string a = Wrap(Print(e.args[0]), kUnary), b = Wrap(Print(e.args[1]), kUnary);
    const std::string_view cast = e.args[1]->op == Op::kInt ? "" : type;
    return {fmt::format("({})(({}){} {} {}{})", wide ? "long long" : "int", type, a,
                        divide ? "/" : "%", cast.empty() ? "" : fmt::format("({})", cast), b),
            kUnary};
  }
  return Call(fmt::format("kd_floor{}_{}", divide ? "div" : "mod", element), e);
}

CText CudaExprPrinter::Call(const std::string& function, const Expr& e) {
  std::string arguments;
  for (const ExprPtr& arg : e.args) {
    if (!arguments.empty()) arguments += ", ";
    arguments += Print(arg).text;
  }
  return {fmt::format("{}({})", function, arguments), kPrimary};
}

CText CudaExprPrinter::Power(const Expr& e) {
  const Expr& exponent = *e.args[1];
  if (exponent.op == Op::kFloat && IsFloat(e.type)) {
    if (exponent.number == 1) return Print(e.args[0]);
    const std::string base = Wrap(Print(e.args[0]), kPrimary);
    // Repeating the text is cheap where it is a name or a load.
    if (base.size() <= 48) {
      if (exponent.number == 2) return {fmt::format("{0} * {0}", base), kProduct};
      if (exponent.number == 3) return {fmt::format("{0} * {0} * {0}", base), kProduct};
    }
  }
  if (IsFloat(e.type)) return Call(fmt::format("kd_pow_{}", ElementOf(e)), e);
  const std::string base = Print(e.args[0]).text, power = Print(e.args[1]).text;
  return {fmt::format("({})kd_pow_f64({}, {})", CudaComputeType(e.type), base, power), kUnary};
}

// Of complex numbers, or from them. A real factor or divisor multiplies or divides both parts.
CText CudaExprPrinter::Complex(const Expr& e) {
  if (e.op == Op::kCast)
    return {fmt::format("kd_complex_c64({}, 0.f)", Print(e.args[0]).text), kPrimary};
  if (e.op == Op::kMul || e.op == Op::kDiv) {
    const bool left = e.op == Op::kMul && IsRealNumber(*e.args[0]);
    if (left || IsRealNumber(*e.args[1])) {
      const std::string complex = Print(e.args[left ? 1 : 0]).text;
      const std::string real = Print(RealPart(e.args[left ? 0 : 1])).text;
      return {
          fmt::format("kd_{}_c64({}, {})", e.op == Op::kMul ? "scale" : "shrink", complex, real),
          kPrimary};
    }
  }
  return Call(fmt::format("kd_{}_c64", Name(e.op)), e);  // kComplex kReal kImag kConj kAbs too
}

std::string CudaExprPrinter::Widened(DataType type, const std::string& text) {
  return fmt::format("{}({})", fmt::format("kd_{}_to_f32", Name(type)), text);
}

std::string CudaExprPrinter::Narrowed(DataType type, const std::string& text) {
  return fmt::format("{}({})", fmt::format("kd_f32_to_{}", Name(type)), text);
}

CText CudaExprPrinter::Cast(const Expr& e) {
  const DataType from = e.args[0]->type;
  const CText value = Print(e.args[0]);
  const std::string operand = Wrap(value, kUnary);
  switch (e.type) {
    case DataType::kBool:
      if (from == DataType::kBool) return value;
      return {fmt::format("{} != 0", Wrap(value, kSum)), kEquals};
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kF8E4M3:
    case DataType::kF8E5M2: return {Widened(e.type, Narrowed(e.type, value.text)), kPrimary};
    case DataType::kI8:
    case DataType::kU8: return {fmt::format("({}){}", CudaStorageType(e.type), operand), kUnary};
    case DataType::kI64:
      if (IsInteger(from) && !context_.IsWide(*e.args[0])) return value;
      break;
    default: break;
  }
  if (ComputeElement(from) == ComputeElement(e.type)) return value;
  return {fmt::format("({}){}", CudaComputeType(e.type), operand), kUnary};
}

std::string CudaExprPrinter::Stored(DataType type, const ExprPtr& value) {
  // The store itself rounds or wraps.
  const ExprPtr& inner = value->op == Op::kCast && value->type == type ? value->args[0] : value;
  // Of the type already: bits, not a value.
  if (IsNarrowFloat(type) && inner->op == Op::kLoad && inner->type == type &&
      names_.count(inner.get()) == 0)
    return Loaded(*inner);
  const CText text = Print(inner);
  if (type == DataType::kBool && inner->type != DataType::kBool) return Wrap(text, kSum) + " != 0";
  return IsNarrowFloat(type) ? Narrowed(type, text.text) : text.text;
}

}  // namespace kindred::internal
