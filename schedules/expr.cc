#include "schedules/expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "schedules/internal/int128.h"
#include "schedules/internal/node_map.h"

namespace kindred {
namespace {

constexpr std::array<std::string_view, 41> kNames = {
    "int",   "float",   "var",        "extent", "load",      "padded", "add", "sub",   "mul",
    "div",   "mod",     "min",        "max",    "pow",       "neg",    "abs", "exp",   "log",
    "sqrt",  "rsqrt",   "erf",        "tanh",   "sin",       "cos",    "tan", "floor", "ceil",
    "round", "less",    "less_equal", "equal",  "not_equal", "and",    "or",  "not",   "select",
    "cast",  "complex", "real",       "imag",   "conj"};

ExprPtr Make(Op op, DataType type, ExprList args) {
  auto e = MakeNode<Expr>();
  e->op = op;
  e->type = type;
  e->args = std::move(args);
  return e;
}

bool IsNarrow(DataType type) { return DefaultAccumulator(type) != type; }

ExprPtr Widen(const ExprPtr& e) { return CastExpr(DefaultAccumulator(e->type), e); }

bool FitsInt(DataType type, Int128 value) {
  return value >= IntegerLowest(type) && value <= IntegerHighest(type);
}

// A constant in another type where nothing is lost by reading the literal anew in that type.
ExprPtr ConvertConstant(const ExprPtr& e, DataType type) {
  if (e->op == Op::kInt) {
    if (IsInteger(type)) return FitsInt(type, e->integer) ? IntExpr(e->integer, type) : nullptr;
    return FloatExpr(static_cast<double>(e->integer), type);
  }
  return IsInteger(type) ? nullptr : FloatExpr(e->number, type);
}

// Gives both the same type where that loses nothing.
void Unify(ExprPtr& a, ExprPtr& b) {
  if (a->type == b->type) return;
  if (IsConstant(*a) && !IsConstant(*b)) {
    if (ExprPtr converted = ConvertConstant(a, b->type)) a = std::move(converted);
  } else if (IsConstant(*b) && !IsConstant(*a)) {
    if (ExprPtr converted = ConvertConstant(b, a->type)) b = std::move(converted);
  } else if (IsConstant(*a) && (a->type == DataType::kC64 || b->type == DataType::kC64)) {
    ExprPtr& real = a->type == DataType::kC64 ? b : a;
    real = ConvertConstant(real, DataType::kC64);
  } else if (IsConstant(*a) && a->op != b->op) {
    ExprPtr& integer = a->op == Op::kInt ? a : b;
    integer = ConvertConstant(integer, a->op == Op::kInt ? b->type : a->type);
  }
  if (a->type == b->type) return;
  const bool same_class = (IsFloat(a->type) && IsFloat(b->type)) ||
                          (IsInteger(a->type) && IsInteger(b->type)) ||
                          Contains(a->type, b->type) || Contains(b->type, a->type);
  if (!same_class || IsInteger(a->type) != IsInteger(b->type)) return;  // CheckWorkload reports it
  DataType type = a->type;
  if (Contains(b->type, a->type)) {
    type = b->type;
  } else if (!Contains(a->type, b->type)) {
    type = DefaultAccumulator(a->type);  // f16 beside bf16, i8 beside u8
    if (!Contains(type, b->type)) type = b->type;
  }
  a = CastExpr(type, a);
  b = CastExpr(type, b);
}

std::optional<std::int64_t> FoldInt(Op op, std::int64_t a, std::int64_t b, DataType type) {
  Int128 value = 0;
  switch (op) {
    case Op::kAdd: value = static_cast<Int128>(a) + b; break;
    case Op::kSub: value = static_cast<Int128>(a) - b; break;
    case Op::kMul: value = static_cast<Int128>(a) * b; break;
    case Op::kDiv:
    case Op::kMod: {
      if (b == 0) return std::nullopt;
      const Int128 wide = a;
      Int128 quotient = wide / b;
      if (wide % b != 0 && ((wide < 0) != (b < 0))) --quotient;
      value = op == Op::kDiv ? quotient : wide - quotient * b;
      break;
    }
    case Op::kMin: value = std::min(a, b); break;
    case Op::kMax: value = std::max(a, b); break;
    case Op::kLess: value = a < b; break;
    case Op::kLessEqual: value = a <= b; break;
    case Op::kEqual: value = a == b; break;
    case Op::kNotEqual: value = a != b; break;
    case Op::kAnd: value = a != 0 && b != 0; break;
    case Op::kOr: value = a != 0 || b != 0; break;
    default: return std::nullopt;
  }
  if (!FitsInt(type, value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<double> FoldFloat(Op op, double a, double b) {
  double value = 0;
  switch (op) {
    case Op::kAdd: value = a + b; break;
    case Op::kSub: value = a - b; break;
    case Op::kMul: value = a * b; break;
    case Op::kDiv: value = a / b; break;
    case Op::kMin: value = std::fmin(a, b); break;
    case Op::kMax: value = std::fmax(a, b); break;
    case Op::kPow: value = std::pow(a, b); break;
    default: return std::nullopt;
  }
  return value;
}

std::optional<double> FoldUnary(Op op, double a) {
  double value = 0;
  switch (op) {
    case Op::kNeg: value = -a; break;
    case Op::kAbs: value = std::fabs(a); break;
    case Op::kExp: value = std::exp(a); break;
    case Op::kLog: value = std::log(a); break;
    case Op::kSqrt: value = std::sqrt(a); break;
    case Op::kRsqrt: value = 1 / std::sqrt(a); break;
    case Op::kErf: value = std::erf(a); break;
    case Op::kTanh: value = std::tanh(a); break;
    case Op::kSin: value = std::sin(a); break;
    case Op::kCos: value = std::cos(a); break;
    case Op::kTan: value = std::tan(a); break;
    case Op::kFloor: value = std::floor(a); break;
    case Op::kCeil: value = std::ceil(a); break;
    case Op::kRound: value = std::nearbyint(a); break;
    default: return std::nullopt;
  }
  return value;
}

bool IsFloatValue(const Expr& e, double value) { return e.op == Op::kFloat && e.number == value; }

bool Commutes(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax || op == Op::kEqual ||
         op == Op::kNotEqual || op == Op::kAnd || op == Op::kOr;
}

// y * k with k a multiple of c. Only indices (i64) are taken not to wrap.
bool IsMultiple(const Expr& x, std::int64_t c) {
  return c != 0 && c != -1 && x.op == Op::kMul && x.args[1]->op == Op::kInt &&
         x.args[1]->integer % c == 0;
}

// x op constant, x not constant; nullptr: nothing to simplify. `type` is the operands'.
ExprPtr SimplifyInt(Op op, const ExprPtr& x, std::int64_t c, DataType type) {
  switch (op) {
    case Op::kAdd:
      if (c == 0) return x;
      if (x->op == Op::kAdd && x->args[1]->op == Op::kInt)
        if (const auto sum = FoldInt(Op::kAdd, x->args[1]->integer, c, type))
          return BinaryExpr(Op::kAdd, x->args[0], IntExpr(*sum, type));
      return nullptr;
    case Op::kSub:
      if (c == IntegerLowest(type)) return nullptr;
      return BinaryExpr(Op::kAdd, x, IntExpr(-c, type));
    case Op::kMul:
      if (c == 0) return IntExpr(0, type);
      if (c == 1) return x;
      if (x->op == Op::kMul && x->args[1]->op == Op::kInt)
        if (const auto product = FoldInt(Op::kMul, x->args[1]->integer, c, type))
          return BinaryExpr(Op::kMul, x->args[0], IntExpr(*product, type));
      return nullptr;
    case Op::kDiv:
      if (c == 1) return x;
      if (type == DataType::kI64 && IsMultiple(*x, c))
        return BinaryExpr(Op::kMul, x->args[0], IntExpr(x->args[1]->integer / c, type));
      return nullptr;
    case Op::kMod:
      if (c == 1) return IntExpr(0, type);
      if (type == DataType::kI64 && IsMultiple(*x, c)) return IntExpr(0, type);
      return nullptr;
    case Op::kAnd: return c != 0 ? x : IntExpr(0, DataType::kBool);
    case Op::kOr: return c != 0 ? IntExpr(1, DataType::kBool) : x;
    default: return nullptr;
  }
}

// The parts, the conjugate and the negative of numbers whose parts are written out; nullptr: of
// others.
ExprPtr SimplifyComplex(Op op, const ExprPtr& z) {
  ExprPtr real, imag;
  if (z->op == Op::kComplex) {
    real = z->args[0];
    imag = z->args[1];
  } else if (z->type == DataType::kC64 && (z->op == Op::kCast || z->op == Op::kFloat)) {
    real = z->op == Op::kCast ? z->args[0] : FloatExpr(z->number, DataType::kF32);
    imag = FloatExpr(0, DataType::kF32);
  } else {
    return op == Op::kConj && z->op == Op::kConj ? z->args[0] : nullptr;
  }
  switch (op) {
    case Op::kReal: return real;
    case Op::kImag: return imag;
    case Op::kConj:
      return z->op == Op::kComplex
                 ? BinaryExpr(Op::kComplex, real, UnaryExpr(Op::kNeg, std::move(imag)))
                 : z;
    case Op::kNeg: return z->op == Op::kFloat ? FloatExpr(-z->number, z->type) : nullptr;
    default: return nullptr;
  }
}

bool IsLogic(Op op) { return op == Op::kAnd || op == Op::kOr; }

bool IsComparison(Op op) {
  return op == Op::kLess || op == Op::kLessEqual || op == Op::kEqual || op == Op::kNotEqual;
}

ExprPtr Rebuild(const Expr& e, std::span<const ExprPtr> args) {
  switch (e.op) {
    case Op::kInt: return IntExpr(e.integer, e.type);
    case Op::kFloat: return FloatExpr(e.number, e.type);
    case Op::kVar: return VarExpr(e.index, e.type);
    case Op::kExtent: return ExtentExpr(e.index);
    case Op::kLoad: return LoadExpr(e.index, args, e.type);
    case Op::kPadded: return PaddedExpr(args[0], args[1]);
    case Op::kSelect: return SelectExpr(args[0], args[1], args[2]);
    case Op::kCast: return CastExpr(e.type, args[0]);
    default:
      return args.size() == 1 ? UnaryExpr(e.op, args[0]) : BinaryExpr(e.op, args[0], args[1]);
  }
}

using Memo = internal::NodeMap<ExprPtr>;

ExprPtr RewriteInto(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& replace,
                    Memo& memo) {
  if (const ExprPtr* known = memo.Find(e.get())) return *known;
  ExprPtr result = e;
  if (!e->args.empty()) {
    std::array<ExprPtr, 3> few;
    std::vector<ExprPtr> many(e->args.size() > few.size() ? e->args.size() : 0);
    const std::span<ExprPtr> args =
        many.empty() ? std::span(few).first(e->args.size()) : std::span(many);
    bool changed = false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      args[i] = RewriteInto(e->args[i], replace, memo);
      changed |= args[i] != e->args[i];
    }
    if (changed) {
      result = Rebuild(*e, args);
      // A node that folds away to one of its arguments, or to another kind, was seen already.
      if (result->op != e->op || std::find(args.begin(), args.end(), result) != args.end()) {
        memo.Add(e.get()).first = result;
        return result;
      }
    }
  }
  if (ExprPtr replaced = replace(result)) result = std::move(replaced);
  memo.Add(e.get()).first = result;
  return result;
}

// e += factor * x, false on overflow.
bool AddProduct(std::int64_t& e, std::int64_t factor, std::int64_t x) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(factor, x, &product) && !__builtin_add_overflow(e, product, &e);
}

bool CollectAffine(const Expr& e, std::int64_t factor, Affine& out) {
  switch (e.op) {
    case Op::kInt: return AddProduct(out.constant, factor, e.integer);
    case Op::kVar:
      if (e.index < 0 || static_cast<std::size_t>(e.index) >= out.coefficients.size()) return false;
      return AddProduct(out.coefficients[static_cast<std::size_t>(e.index)], factor, 1);
    case Op::kAdd:
      return CollectAffine(*e.args[0], factor, out) && CollectAffine(*e.args[1], factor, out);
    case Op::kSub:
    case Op::kNeg: {
      std::int64_t negative = 0;
      if (__builtin_sub_overflow(std::int64_t{0}, factor, &negative)) return false;
      if (e.op == Op::kNeg) return CollectAffine(*e.args[0], negative, out);
      return CollectAffine(*e.args[0], factor, out) && CollectAffine(*e.args[1], negative, out);
    }
    case Op::kMul:
      for (std::size_t side : {std::size_t{1}, std::size_t{0}}) {
        if (e.args[side]->op != Op::kInt) continue;
        std::int64_t product = 0;
        return !__builtin_mul_overflow(factor, e.args[side]->integer, &product) &&
               CollectAffine(*e.args[1 - side], product, out);
      }
      return false;
    case Op::kCast: return e.type == DataType::kI64 && CollectAffine(*e.args[0], factor, out);
    default: return false;
  }
}

}  // namespace

std::string_view Name(Op op) { return kNames[static_cast<std::size_t>(op)]; }

ExprPtr IntExpr(std::int64_t value, DataType type) {
  auto e = MakeNode<Expr>();
  e->op = Op::kInt;
  e->type = type;
  e->integer = value;
  return e;
}

ExprPtr FloatExpr(double value, DataType type) {
  auto e = MakeNode<Expr>();
  e->op = Op::kFloat;
  e->type = type;
  e->number = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : RoundTo(type, value);
  return e;
}

ExprPtr VarExpr(int index, DataType type) {
  auto e = MakeNode<Expr>();
  e->op = Op::kVar;
  e->type = type;
  e->index = index;
  return e;
}

ExprPtr ExtentExpr(int symbol) {
  auto e = MakeNode<Expr>();
  e->op = Op::kExtent;
  e->index = symbol;
  return e;
}

ExprPtr LoadExpr(int tensor, ExprList indices, DataType type) {
  auto e = MakeNode<Expr>();
  e->op = Op::kLoad;
  e->type = type;
  e->index = tensor;
  e->args = std::move(indices);
  return e;
}

ExprPtr PaddedExpr(ExprPtr load, ExprPtr value) {
  if (value->type != load->type && IsConstant(*value))
    if (ExprPtr converted = ConvertConstant(value, load->type)) value = std::move(converted);
  const DataType type = load->type;
  return Make(Op::kPadded, type, {std::move(load), std::move(value)});
}

ExprPtr UnaryExpr(Op op, ExprPtr a) {
  if (op == Op::kNot) {
    if (a->op == Op::kInt) return IntExpr(a->integer == 0, DataType::kBool);
    if (a->op == Op::kNot) return a->args[0];
    return Make(op, DataType::kBool, {std::move(a)});
  }
  if (IsNarrow(a->type)) a = Widen(a);
  const bool math = op >= Op::kExp && op <= Op::kRound;
  if (math && a->op == Op::kInt) a = FloatExpr(static_cast<double>(a->integer), DataType::kF32);
  if (a->op == Op::kInt && a->integer != IntegerLowest(a->type))
    return IntExpr(op == Op::kNeg ? -a->integer : std::abs(a->integer), a->type);
  if (a->op == Op::kFloat && a->type != DataType::kC64)
    if (const auto value = FoldUnary(op, a->number)) return FloatExpr(*value, a->type);
  if (op == Op::kNeg && a->op == Op::kNeg) return a->args[0];
  if (ExprPtr simple = SimplifyComplex(op, a)) return simple;
  const bool part = op == Op::kReal || op == Op::kImag;
  const bool magnitude = op == Op::kAbs && a->type == DataType::kC64;
  const DataType type = part || magnitude ? DataType::kF32 : a->type;
  return Make(op, type, {std::move(a)});
}

ExprPtr BinaryExpr(Op op, ExprPtr a, ExprPtr b) {
  // The types of indices and of most arithmetic need no widening.
  const bool alike = a->type == b->type && (a->type == DataType::kI64 || a->type == DataType::kF32);
  if (!alike && !IsLogic(op)) {
    // A constant takes the type of what stands beside it, so the other side widens first.
    const bool a_constant = IsConstant(*a);
    const bool b_constant = IsConstant(*b);
    if (IsNarrow(a->type) && (!a_constant || b_constant)) a = Widen(a);
    if (IsNarrow(b->type) && (!b_constant || a_constant)) b = Widen(b);
    Unify(a, b);
  }
  const DataType operands = a->type;
  if (op == Op::kComplex) {
    if (operands == DataType::kF32 && IsFloatValue(*b, 0)) return CastExpr(DataType::kC64, a);
    return Make(op, DataType::kC64, {std::move(a), std::move(b)});
  }
  const DataType type = IsLogic(op) || IsComparison(op) ? DataType::kBool : operands;
  if (a->type == b->type) {
    if (a->op == Op::kInt && b->op == Op::kInt)
      if (const auto value = FoldInt(op, a->integer, b->integer, type))
        return IntExpr(*value, type);
    const bool real = operands != DataType::kC64 || op <= Op::kDiv;
    if (a->op == Op::kFloat && b->op == Op::kFloat && real) {
      if (const auto value = FoldFloat(op, a->number, b->number)) return FloatExpr(*value, type);
      if (IsComparison(op)) {
        const double x = a->number, y = b->number;
        const bool value = op == Op::kLess        ? x < y
                           : op == Op::kLessEqual ? x <= y
                           : op == Op::kEqual     ? x == y
                                                  : x != y;
        return IntExpr(value, DataType::kBool);
      }
    }
    if (a->op == Op::kInt && b->op != Op::kInt && Commutes(op)) std::swap(a, b);
    if (b->op == Op::kInt && a->op != Op::kInt)
      if (ExprPtr simple = SimplifyInt(op, a, b->integer, operands)) return simple;
    if (!IsInteger(operands)) {
      if (op == Op::kAdd && IsFloatValue(*b, 0)) return a;
      if (op == Op::kAdd && IsFloatValue(*a, 0)) return b;
      if (op == Op::kSub && IsFloatValue(*b, 0)) return a;
      if ((op == Op::kMul || op == Op::kDiv) && IsFloatValue(*b, 1)) return a;
      if (op == Op::kMul && IsFloatValue(*a, 1)) return b;
    }
  }
  return Make(op, type, {std::move(a), std::move(b)});
}

ExprPtr SelectExpr(ExprPtr condition, ExprPtr if_true, ExprPtr if_false) {
  Unify(if_true, if_false);
  if (condition->op == Op::kInt) return condition->integer != 0 ? if_true : if_false;
  const DataType type = if_true->type;
  return Make(Op::kSelect, type, {std::move(condition), std::move(if_true), std::move(if_false)});
}

ExprPtr CastExpr(DataType type, ExprPtr a) {
  if (a->type == type) return a;
  if (IsConstant(*a)) {
    if (type == DataType::kBool)
      return IntExpr(a->op == Op::kInt ? a->integer != 0 : a->number != 0, type);
    if (ExprPtr converted = ConvertConstant(a, type)) return converted;
    if (a->op == Op::kFloat && IsInteger(type) && std::fabs(a->number) < 0x1p62 &&
        FitsInt(type, static_cast<std::int64_t>(a->number)))
      return IntExpr(static_cast<std::int64_t>(a->number), type);
  }
  // A complex number is made of f32.
  if (type == DataType::kC64 && a->type != DataType::kF32 && a->type != DataType::kC64)
    a = CastExpr(DataType::kF32, a);
  // Through a type that holds every value: the inner cast does nothing.
  if (type != DataType::kC64 && a->op == Op::kCast && Contains(a->type, a->args[0]->type))
    return CastExpr(type, a->args[0]);
  return Make(Op::kCast, type, {std::move(a)});
}

bool IsConstant(const Expr& e) { return e.op == Op::kInt || e.op == Op::kFloat; }

bool IsInt(const Expr& e, std::int64_t value) { return e.op == Op::kInt && e.integer == value; }

bool SameExpr(const Expr& a, const Expr& b) {
  if (&a == &b) return true;
  if (a.op != b.op || a.type != b.type || a.index != b.index || a.integer != b.integer ||
      a.args.size() != b.args.size() ||
      std::bit_cast<std::uint64_t>(a.number) != std::bit_cast<std::uint64_t>(b.number))
    return false;
  for (std::size_t i = 0; i < a.args.size(); ++i)
    if (!SameExpr(*a.args[i], *b.args[i])) return false;
  return true;
}

ExprPtr Rewrite(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& replace) {
  Memo memo;
  return RewriteInto(e, replace, memo);
}

ExprPtr SubstituteVars(const ExprPtr& e, std::span<const ExprPtr> values) {
  return Rewrite(e, [values](const ExprPtr& node) -> ExprPtr {
    if (node->op != Op::kVar || static_cast<std::size_t>(node->index) >= values.size())
      return nullptr;
    return values[static_cast<std::size_t>(node->index)];
  });
}

ExprPtr Clone(const ExprPtr& e) {
  auto copy = MakeNode<Expr>(*e);
  for (ExprPtr& arg : copy->args) arg = Clone(arg);
  return copy;
}

void Visit(const Expr& e, const std::function<void(const Expr&)>& visit) {
  visit(e);
  for (const ExprPtr& arg : e.args) Visit(*arg, visit);
}

std::optional<Affine> AsAffine(const Expr& e, int variables) {
  Affine affine;
  affine.coefficients.resize(static_cast<std::size_t>(variables));
  if (e.type != DataType::kI64 || !CollectAffine(e, 1, affine)) return std::nullopt;
  return affine;
}

ExprPtr FromAffine(const Affine& affine) {
  ExprPtr sum;
  for (std::size_t i = 0; i < affine.coefficients.size(); ++i) {
    if (affine.coefficients[i] == 0) continue;
    ExprPtr term = VarExpr(static_cast<int>(i)) * affine.coefficients[i];
    sum = sum ? sum + term : term;
  }
  return sum ? sum + affine.constant : IntExpr(affine.constant);
}

}  // namespace kindred
