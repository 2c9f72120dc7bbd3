#include "schedules/internal/error_bounds.h"

#include <cmath>
#include <utility>

namespace kindred {
namespace {

constexpr double kTiny = 1e-30;     // keeps quotients finite
constexpr double kAnything = 1e30;  // the bound of what cannot be bounded
constexpr double kUlps = 4;         // of math functions

ExprPtr F(double value) { return FloatExpr(value, DataType::kF64); }
ExprPtr Abs(const ExprPtr& e) { return UnaryExpr(Op::kAbs, e); }
ExprPtr Max(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMax, a, b); }
ExprPtr Min(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMin, a, b); }
ExprPtr LessEqual(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kLessEqual, a, b); }
ExprPtr Number(const ExprPtr& e) { return CastExpr(DataType::kF64, e); }

// Infinities have finite errors, so that exp(-inf) and max(x, -inf) stay bounded.
ExprPtr Magnitude(const ExprPtr& e) { return Min(Abs(e), F(1e300)); }

// Sums of errors, where nullptr is zero.
ExprPtr Plus(const ExprPtr& a, const ExprPtr& b) {
  if (!a) return b;
  if (!b) return a;
  return a + b;
}

ExprPtr Times(const ExprPtr& error, const ExprPtr& factor) {
  return error ? error * factor : nullptr;
}

ExprPtr Larger(const ExprPtr& a, const ExprPtr& b) {
  if (!a) return b;
  if (!b) return a;
  return SameExpr(*a, *b) ? a : Max(a, b);
}

// The smallest normal number: results below it may be flushed to zero.
double SmallestNormal(DataType type) {
  switch (type) {
    case DataType::kF64: return 0x1p-1022;
    case DataType::kF16:
    case DataType::kF8E5M2: return 0x1p-14;
    case DataType::kF8E4M3: return 0x1p-6;
    default: return 0x1p-126;
  }
}

// Half the distance of subnormals.
double SubnormalRoundoff(DataType type) { return SmallestNormal(type) * UnitRoundoff(type); }

}  // namespace

ErrorAnalysis::ErrorAnalysis(double safety, FindError find_error, TypeOf type_of,
                             Materialize materialize)
    : safety_(safety),
      find_error_(std::move(find_error)),
      type_of_(std::move(type_of)),
      materialize_(std::move(materialize)) {}

BoundedExpr ErrorAnalysis::Of(const ExprPtr& e) {
  auto& memo = guards_ > 0 ? guarded_memo_ : memo_;
  const auto known = memo.find(e.get());
  if (known != memo.end()) return known->second;
  BoundedExpr result = Analyze(e);
  if (guards_ == 0 && IsFloat(e->type)) result = materialize_(std::move(result));
  memo.emplace(e.get(), result);
  alive_.push_back(e);
  return result;
}

ExprPtr ErrorAnalysis::Rounded(const ExprPtr& value, const ExprPtr& error, DataType type) {
  return Plus(error, Magnitude(value) * F(UnitRoundoff(type)) + F(SubnormalRoundoff(type)));
}

BoundedExpr ErrorAnalysis::Narrowed(const BoundedExpr& e, DataType from, DataType type,
                                    double safety) {
  const auto rounded = [type](const ExprPtr& x) { return Number(CastExpr(type, x)); };
  const ExprPtr value = rounded(e.value);
  ExprPtr margin = Times(e.error, F(safety));
  // A kernel may go through f32 on the way.
  if (from == DataType::kF64)
    margin = Plus(margin, Magnitude(e.value) * F(UnitRoundoff(DataType::kF32)));
  if (!margin) return {value, nullptr};
  const ExprPtr high = rounded(e.value + margin), low = rounded(e.value - margin);
  // Beyond the largest number the distance is infinite, or NaN: Min then takes kAnything.
  return {value,
          SelectExpr(BinaryExpr(Op::kEqual, high, low), F(0), Min(high - low, F(kAnything)))};
}

ExprPtr ErrorAnalysis::AsNumber(const BoundedExpr& e) {
  if (!e.error || e.error->type != DataType::kBool) return e.error;
  return SelectExpr(e.error, F(1), F(0));
}

BoundedExpr ErrorAnalysis::Analyze(const ExprPtr& e) {
  switch (e->op) {
    case Op::kInt:
    case Op::kVar:
    case Op::kExtent: return {e, nullptr};
    case Op::kFloat: return {F(e->number), nullptr};
    case Op::kLoad: return Load(*e, nullptr);
    case Op::kPadded: return Load(*e->args[0], e->args[1]);
    case Op::kSelect: return Select(*e);
    case Op::kCast: return Cast(*e);
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual: return Compare(*e);
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot: return Logic(*e);
    default: break;
  }
  if (IsInteger(e->type)) return Integer(*e);
  return e->args.size() == 2 ? Arithmetic(*e) : Function(*e);
}

BoundedExpr ErrorAnalysis::Load(const Expr& e, const ExprPtr& otherwise) {
  std::vector<ExprPtr> indices;
  ExprPtr astray;  // where an index may be another one
  for (const ExprPtr& arg : e.args) {
    const BoundedExpr index = Of(arg);
    indices.push_back(index.value);
    astray = Plus(astray, AsNumber(index));
  }
  const DataType type = type_of_(e.index);
  ExprPtr value = LoadExpr(e.index, indices, type);
  ExprPtr error;
  if (otherwise) {
    const BoundedExpr padding = Of(otherwise);
    value = PaddedExpr(value, CastExpr(type, padding.value));
    error = AsNumber(padding);
    if (IsFloat(type) && !IsConstant(*padding.value) && type != DataType::kF64)
      error = Rounded(padding.value, error, type);
  }
  if (const StoredError stored = find_error_(e.index); stored.tensor >= 0) {
    ExprPtr read = LoadExpr(stored.tensor, std::move(indices), DataType::kF64);
    if (otherwise) read = PaddedExpr(std::move(read), F(0));
    error = Larger(read * F(stored.scale), error);
  }
  if (astray) error = SelectExpr(LessEqual(astray, F(0)), error ? error : F(0), F(kAnything));
  if (IsFloat(type)) value = Number(value);
  if (e.type == DataType::kBool && error) error = BinaryExpr(Op::kLess, F(0), error);
  return {value, error};
}

BoundedExpr ErrorAnalysis::Select(const Expr& e) {
  const BoundedExpr condition = Of(e.args[0]);
  ++guards_;
  const BoundedExpr a = Of(e.args[1]), b = Of(e.args[2]);
  --guards_;
  const ExprPtr value = SelectExpr(condition.value, a.value, b.value);
  if (e.type == DataType::kBool) {
    ExprPtr error;
    const ExprPtr no = IntExpr(0, DataType::kBool);
    if (a.error || b.error)
      error = SelectExpr(condition.value, a.error ? a.error : no, b.error ? b.error : no);
    if (condition.error)
      error = error ? BinaryExpr(Op::kOr, condition.error, error) : condition.error;
    return {value, error};
  }
  ExprPtr error;
  if (a.error || b.error)
    error = SelectExpr(condition.value, a.error ? a.error : F(0), b.error ? b.error : F(0));
  if (condition.error) {
    const ExprPtr apart = Abs(Number(a.value) - Number(b.value));
    error =
        SelectExpr(condition.error, Plus(apart, Larger(a.error, b.error)), error ? error : F(0));
  }
  return {value, error};
}

BoundedExpr ErrorAnalysis::Cast(const Expr& e) {
  const DataType from = e.args[0]->type;
  const BoundedExpr a = Of(e.args[0]);
  if (IsFloat(e.type)) {
    const BoundedExpr number = {Number(a.value), AsNumber(a)};
    if (Contains(e.type, from)) return number;
    if (ByteSize(e.type) <= 2) return Narrowed(number, from, e.type, safety_);
    return {number.value, Rounded(number.value, number.error, e.type)};
  }
  const ExprPtr value = CastExpr(e.type, a.value);
  if (!a.error) return {value, nullptr};
  if (e.type == DataType::kBool) {
    if (from == DataType::kBool) return {value, a.error};
    return {value, LessEqual(Abs(Number(a.value)), a.error * F(safety_))};
  }
  // Truncation may fall on the other side of a whole number.
  if (IsFloat(from)) {
    const ExprPtr margin = a.error * F(safety_);
    return {value, UnaryExpr(Op::kFloor, Number(a.value) + margin) -
                       UnaryExpr(Op::kFloor, Number(a.value) - margin)};
  }
  return {value, AsNumber(a)};
}

BoundedExpr ErrorAnalysis::Compare(const Expr& e) {
  const BoundedExpr a = Of(e.args[0]), b = Of(e.args[1]);
  const ExprPtr value = BinaryExpr(e.op, a.value, b.value);
  const ExprPtr error = Plus(AsNumber(a), AsNumber(b));
  if (!error) return {value, nullptr};
  return {value, LessEqual(Abs(Number(a.value) - Number(b.value)), error * F(safety_))};
}

BoundedExpr ErrorAnalysis::Logic(const Expr& e) {
  const BoundedExpr a = Of(e.args[0]);
  if (e.op == Op::kNot) return {UnaryExpr(Op::kNot, a.value), a.error};
  const BoundedExpr b = Of(e.args[1]);
  const ExprPtr value = BinaryExpr(e.op, a.value, b.value);
  if (!a.error && !b.error) return {value, nullptr};
  // Uncertain only where the certain parts do not decide; they may guard reads, and keep doing so.
  const auto undecided = [&e](const BoundedExpr& x) {
    const ExprPtr open = e.op == Op::kAnd ? x.value : UnaryExpr(Op::kNot, x.value);
    return x.error ? BinaryExpr(Op::kOr, open, x.error) : open;
  };
  const ExprPtr either = !a.error   ? b.error
                         : !b.error ? a.error
                                    : BinaryExpr(Op::kOr, a.error, b.error);
  return {value, BinaryExpr(Op::kAnd, BinaryExpr(Op::kAnd, undecided(a), undecided(b)), either)};
}

// Integers are exact unless they derive from inexact floats.
BoundedExpr ErrorAnalysis::Integer(const Expr& e) {
  const BoundedExpr a = Of(e.args[0]);
  if (e.args.size() == 1) return {UnaryExpr(e.op, a.value), AsNumber(a)};
  const BoundedExpr b = Of(e.args[1]);
  const ExprPtr value = BinaryExpr(e.op, a.value, b.value);
  const ExprPtr x = AsNumber(a), y = AsNumber(b);
  if (!x && !y) return {value, nullptr};
  switch (e.op) {
    case Op::kAdd:
    case Op::kSub: return {value, Plus(x, y)};
    case Op::kMin:
    case Op::kMax: return {value, Larger(x, y)};
    case Op::kMul:
      return {value, Plus(Times(x, Abs(Number(b.value)) + F(1)), Times(y, Abs(Number(a.value))))};
    case Op::kDiv:
      if (!y) return {value, SelectExpr(LessEqual(x, F(0)), F(0), x + F(1))};
      break;
    default: break;
  }
  return {value, SelectExpr(LessEqual(Plus(x, y), F(0)), F(0), F(kAnything))};
}

BoundedExpr ErrorAnalysis::Arithmetic(const Expr& e) {
  const BoundedExpr a = Of(e.args[0]), b = Of(e.args[1]);
  const double unit = UnitRoundoff(e.type);
  const ExprPtr& x = a.value;
  const ExprPtr& y = b.value;
  if (e.op == Op::kPow) return Power(a, b, unit);
  const ExprPtr value = BinaryExpr(e.op, x, y);
  switch (e.op) {
    case Op::kMin:
    case Op::kMax: return {value, Larger(a.error, b.error)};
    case Op::kMul: {
      ExprPtr error;
      if (SameExpr(*x, *y))
        error = Times(a.error, Abs(x) * F(2) + (a.error ? a.error : F(0)));
      else
        error = Plus(Times(a.error, Magnitude(y)),
                     Times(b.error, a.error ? Magnitude(x) + a.error : Magnitude(x)));
      return {value, Plus(error, Magnitude(value) * F(unit))};
    }
    case Op::kDiv: {
      const ExprPtr propagated = Plus(a.error, Times(b.error, Magnitude(value)));
      if (!propagated) return {value, Magnitude(value) * F(unit)};
      const ExprPtr divisor = b.error ? Max(Abs(y) - b.error, F(kTiny)) : Max(Abs(y), F(kTiny));
      return {value, propagated / divisor + Magnitude(value) * F(unit)};
    }
    default: return {value, Plus(Plus(a.error, b.error), Magnitude(value) * F(unit))};
  }
}

BoundedExpr ErrorAnalysis::Power(const BoundedExpr& a, const BoundedExpr& b, double unit) {
  const ExprPtr value = BinaryExpr(Op::kPow, a.value, b.value);
  const ExprPtr base = Max(Abs(a.value), F(kTiny));
  const ExprPtr log = UnaryExpr(Op::kLog, base);
  // Kernels compute exp(b log a): the error of the exponent is relative error of the result.
  ExprPtr error = Magnitude(value) * (Abs(b.value * log) + F(1)) * F(kUlps * 2 * unit);
  if (a.error) {
    if (b.value->op == Op::kFloat && b.value->number >= 1)
      error = error + BinaryExpr(Op::kPow, Abs(a.value) + a.error, b.value) -
              BinaryExpr(Op::kPow, Abs(a.value), b.value);
    else
      error = error + Magnitude(value) * Abs(b.value) * a.error / Max(base - a.error, F(kTiny));
  }
  return {value, Plus(error, Times(b.error, Magnitude(value) * Abs(log)))};
}

BoundedExpr ErrorAnalysis::Function(const Expr& e) {
  const BoundedExpr a = Of(e.args[0]);
  const double unit = UnitRoundoff(e.type);
  const ExprPtr& x = a.value;
  const ExprPtr value = UnaryExpr(e.op, x);
  const ExprPtr relative = Magnitude(value) * F(kUlps * unit);
  const ExprPtr absolute = F(kUlps * unit);
  switch (e.op) {
    case Op::kNeg:
    case Op::kAbs: return {value, a.error};
    case Op::kExp: {
      // v (exp(d) - 1) <= v d exp(d)
      const ExprPtr floor = F(SmallestNormal(e.type));
      if (!a.error) return {value, relative + floor};
      const ExprPtr d = Min(a.error, F(50));
      return {value, Magnitude(value) * d * UnaryExpr(Op::kExp, d) + relative + floor};
    }
    case Op::kLog:
      return {value, Plus(a.error ? a.error / Max(Abs(x) - a.error, F(kTiny)) : nullptr,
                          relative + absolute)};
    case Op::kSqrt:
      return {value,
              Plus(a.error ? Min(a.error / Max(value, F(kTiny)), UnaryExpr(Op::kSqrt, a.error))
                           : nullptr,
                   relative)};
    case Op::kRsqrt:
      return {value,
              Plus(a.error ? Magnitude(value) * a.error / Max(Abs(x) - a.error, F(kTiny)) : nullptr,
                   relative)};
    case Op::kErf: return {value, Plus(Times(a.error, F(1.1284)), absolute)};
    case Op::kTanh:
    case Op::kSin:
    case Op::kCos: return {value, Plus(a.error, absolute)};
    case Op::kTan: {
      const ExprPtr slope = value * value + F(1);
      return {value, slope * Plus(Times(a.error, F(2)), absolute)};
    }
    default: break;
  }
  // floor, ceil, round: exact, but for an argument that may lie beyond the next step.
  if (!a.error) return {value, nullptr};
  const ExprPtr margin = a.error * F(safety_);
  return {value, UnaryExpr(e.op, x + margin) - UnaryExpr(e.op, x - margin)};
}

}  // namespace kindred
