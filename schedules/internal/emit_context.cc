#include "schedules/internal/emit_context.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace kindred::internal {

std::string TakeName(std::set<std::string>& taken, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}{}", wanted, i);
  return name;
}

RangeOf EmitContext::Ranges() const {
  return [this](int index, bool extent) -> std::optional<Bounds> {
    const auto i = static_cast<std::size_t>(index);
    if (extent) return Bounds{workload.symbols[i].low, workload.symbols[i].high};
    return ranges[i];
  };
}

bool EmitContext::Safe(const Expr& e) const {
  if (e.op == Op::kLoad && BufferAt(e.index).scope != Scope::kRegister) {
    const auto range = BoundsOf(*e.args[0], Ranges());
    if (!range || range->low < 0 || range->high >= BufferAt(e.index).elements) return false;
  }
  if ((e.op == Op::kDiv || e.op == Op::kMod) && IsInteger(e.type) && e.args[1]->op != Op::kInt)
    return false;  // a zero divisor traps
  for (const ExprPtr& arg : e.args)
    if (!Safe(*arg)) return false;
  return true;
}

bool EmitContext::UsesVar(const Expr& e, int var) const {
  if (e.op == Op::kVar && e.index == var) return true;
  for (const ExprPtr& arg : e.args)
    if (UsesVar(*arg, var)) return true;
  return false;
}

std::string_view StorageElement(DataType type) {
  switch (type) {
    case DataType::kF64: return "f64";
    case DataType::kF16: return "f16";
    case DataType::kBF16:
    case DataType::kF8E4M3:
    case DataType::kF8E5M2: return Name(type);
    case DataType::kI64: return "i64";
    case DataType::kI32: return "i32";
    case DataType::kI8: return "i8";
    case DataType::kU8:
    case DataType::kBool: return "u8";
    case DataType::kC64: return "c64";
    default: return "f32";
  }
}

bool IsNarrowFloat(DataType type) { return IsFloat(type) && ByteSize(type) < 4; }

std::string_view ComputeElement(DataType type) {
  if (type == DataType::kF64 || type == DataType::kC64) return Name(type);
  if (IsFloat(type)) return "f32";
  return type == DataType::kI64 ? "i64" : "i32";
}

bool IsComplex(const Expr& e) {
  switch (e.op) {
    case Op::kMul:
    case Op::kDiv:
    case Op::kCast: return e.type == DataType::kC64;
    case Op::kAbs: return e.args[0]->type == DataType::kC64;
    case Op::kComplex:
    case Op::kReal:
    case Op::kImag:
    case Op::kConj: return true;
    default: return false;
  }
}

bool IsRealNumber(const Expr& e) {
  return e.type == DataType::kC64 && (e.op == Op::kCast || e.op == Op::kFloat);
}

ExprPtr RealPart(const ExprPtr& e) {
  if (!IsRealNumber(*e)) return e;
  return e->op == Op::kCast ? e->args[0] : FloatExpr(e->number, DataType::kF32);
}

std::string Wrap(const CText& t, int at_least) {
  return t.precedence < at_least ? "(" + t.text + ")" : t.text;
}

std::string IntLiteral(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807L - 1)";
  if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
  const bool wide = value > std::numeric_limits<std::int32_t>::max() ||
                    value < std::numeric_limits<std::int32_t>::min();
  return fmt::format("{}{}", value, wide ? "L" : "");
}

std::string FloatLiteral(double value, bool is_double) {
  const std::string_view suffix = is_double ? "" : "f";
  if (std::isnan(value)) return fmt::format("__builtin_nan{}(\"\")", suffix);
  if (std::isinf(value)) return fmt::format("{}__builtin_inf{}()", value < 0 ? "-" : "", suffix);
  std::string text =
      is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".";
  return text + std::string(suffix);
}

void CountUses(const EmitContext& context, const Expr& e, UseCounts& uses) {
  if (++uses[&e] > 1) return;
  if (e.op == Op::kSelect) {
    CountUses(context, *e.args[0], uses);
    if (context.Safe(*e.args[1]) && context.Safe(*e.args[2])) {
      CountUses(context, *e.args[1], uses);
      CountUses(context, *e.args[2], uses);
    }
    return;
  }
  if (e.op == Op::kAnd || e.op == Op::kOr) {
    CountUses(context, *e.args[0], uses);
    if (context.Safe(*e.args[1])) CountUses(context, *e.args[1], uses);
    return;
  }
  if (e.op == Op::kLoad) return;  // index arithmetic is left to the compiler
  for (const ExprPtr& arg : e.args) CountUses(context, *arg, uses);
}

bool WorthTemporary(const UseCounts& uses, const Expr& e) {
  if (e.args.empty() || e.op == Op::kLoad || e.type == DataType::kI64) return false;
  const auto found = uses.find(&e);
  return found != uses.end() && found->second > 1;
}

}  // namespace kindred::internal
