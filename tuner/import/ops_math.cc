// Functions of numbers beyond those that the workload language has by name: inverse trigonometric
// and hyperbolic functions by identities, remainders, powers, shifts.
#include <cmath>
#include <limits>
#include <numbers>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

ExprPtr Lit(double value, const ExprPtr& like) { return Literal(value, like->type); }
ExprPtr Sqrt(const ExprPtr& x) { return UnaryExpr(Op::kSqrt, x); }
ExprPtr Log(const ExprPtr& x) { return UnaryExpr(Op::kLog, x); }
ExprPtr Exp(const ExprPtr& x) { return UnaryExpr(Op::kExp, x); }
ExprPtr Abs(const ExprPtr& x) { return UnaryExpr(Op::kAbs, x); }
ExprPtr Neg(const ExprPtr& x) { return UnaryExpr(Op::kNeg, x); }
ExprPtr Less(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kLess, a, b); }
ExprPtr Negative(const ExprPtr& x) { return Less(x, Lit(0, x)); }
ExprPtr Wide(const ExprPtr& x) { return CastExpr(DefaultAccumulator(x->type), x); }

template <ExprPtr (*kFunction)(const ExprPtr&)>
Result<void> Function(OpContext& op) {
  const DataType type = op.InValue(0).type;
  return LowerPointwise(op, {op.In(0)}, type, [](const Exprs& x) { return kFunction(Wide(x[0])); });
}

// For |x| <= 1. Twice atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), which brings x below 0.2, then the
// Taylor series, whose first term left out is below 2^-53 there.
ExprPtr SmallArcTangent(ExprPtr x) {
  constexpr int kHalvings = 2, kTerms = 11;
  for (int i = 0; i < kHalvings; ++i) x = x / (Lit(1, x) + Sqrt(Lit(1, x) + x * x));
  const ExprPtr square = x * x;
  ExprPtr sum = Lit(0, x);
  for (int i = kTerms - 1; i >= 0; --i)
    sum = Lit((i % 2 == 0 ? 1.0 : -1.0) / (2 * i + 1), x) + square * sum;
  return x * sum * Lit(1 << kHalvings, x);
}

ExprPtr ArcTangent(const ExprPtr& x) {
  const ExprPtr large = Less(Lit(1, x), Abs(x));
  const ExprPtr small = SmallArcTangent(SelectExpr(large, Lit(1, x) / x, x));
  const ExprPtr quarter =
      SelectExpr(Negative(x), Lit(-std::numbers::pi / 2, x), Lit(std::numbers::pi / 2, x));
  return SelectExpr(large, quarter - small, small);
}

// asin(x) = 2 atan(x / (1 + sqrt(1 - x^2)))
ExprPtr ArcSine(const ExprPtr& x) {
  return SmallArcTangent(x / (Lit(1, x) + Sqrt((Lit(1, x) - x) * (Lit(1, x) + x)))) * Lit(2, x);
}

ExprPtr ArcCosine(const ExprPtr& x) { return Lit(std::numbers::pi / 2, x) - ArcSine(x); }

ExprPtr HyperbolicSine(const ExprPtr& x) { return (Exp(x) - Exp(Neg(x))) * Lit(0.5, x); }
ExprPtr HyperbolicCosine(const ExprPtr& x) { return (Exp(x) + Exp(Neg(x))) * Lit(0.5, x); }

ExprPtr AreaSine(const ExprPtr& x) {
  const ExprPtr size = Log(Abs(x) + Sqrt(x * x + Lit(1, x)));
  return SelectExpr(Negative(x), Neg(size), size);
}
ExprPtr AreaCosine(const ExprPtr& x) { return Log(x + Sqrt(x * x - Lit(1, x))); }
ExprPtr AreaTangent(const ExprPtr& x) {
  return Log((Lit(1, x) + x) / (Lit(1, x) - x)) * Lit(0.5, x);
}

ExprPtr Truncate(const ExprPtr& x) {
  return SelectExpr(Negative(x), UnaryExpr(Op::kCeil, x), UnaryExpr(Op::kFloor, x));
}

// The remainder by an infinite divisor is the dividend; if it must have the divisor's sign and has
// not, the divisor.
ExprPtr FloatRemainder(const ExprPtr& a, const ExprPtr& b, bool like_c) {
  const ExprPtr quotient = a / b;
  const ExprPtr whole = like_c ? Truncate(quotient) : UnaryExpr(Op::kFloor, quotient);
  const ExprPtr infinite =
      BinaryExpr(Op::kEqual, Abs(b), Literal(std::numeric_limits<double>::infinity(), b->type));
  const ExprPtr finite = Less(Abs(a), Lit(std::numeric_limits<double>::infinity(), a));
  ExprPtr by_infinity = a;
  if (!like_c) by_infinity = SelectExpr(Less(a * b, Lit(0, a)), b, a);
  return SelectExpr(BinaryExpr(Op::kAnd, infinite, finite), by_infinity, a - whole * b);
}

Result<void> Mod(OpContext& op) {
  const bool like_c = op.Int("fmod", 0) != 0;
  const bool integer = IsInteger(op.InValue(0).type);
  return LowerPointwise(op, {op.In(0), op.In(1)}, op.InValue(0).type, [&](const Exprs& x) {
    if (!integer) return FloatRemainder(Wide(x[0]), Wide(x[1]), like_c);
    return like_c ? x[0] - TruncatedQuotient(x[0], x[1]) * x[1] : x[0] % x[1];
  });
}

// x to a power that is a small natural number.
ExprPtr NaturalPower(const ExprPtr& x, std::int64_t power) {
  if (power == 0) return Lit(1, x);
  if (power == 1) return x;
  const ExprPtr half = NaturalPower(x, power / 2);
  return power % 2 == 0 ? half * half : half * half * x;
}

constexpr std::int64_t kMostNaturalPower = 64;

Result<void> Pow(OpContext& op) {
  const DataType type = op.InValue(0).type;
  const ConstantPtr exponent = op.InValue(1).kind == ValueKind::kKnown ? op.Peek(1) : nullptr;
  const bool known = exponent && (exponent->splat || exponent->elements() == 1);
  const double power = known ? exponent->Number(0) : 0;
  const bool natural = known && power >= 0 && power <= (IsFloat(type) ? 3 : kMostNaturalPower) &&
                       power == std::floor(power);
  if (!natural && type == DataType::kI64)
    return Unsupported("64-bit integers to a power that is not known");
  return LowerPointwise(op, {op.In(0), op.In(1)}, type, [&](const Exprs& x) -> ExprPtr {
    if (natural) return NaturalPower(Wide(x[0]), static_cast<std::int64_t>(power));
    // Exact: results of 32 bits are far below 2^53.
    if (!IsFloat(type))
      return CastExpr(type, BinaryExpr(Op::kPow, CastExpr(DataType::kF64, x[0]),
                                       CastExpr(DataType::kF64, x[1])));
    const ExprPtr base = Wide(x[0]);
    if (known && power == 0.5) return Sqrt(base);
    if (known && power == -1) return Lit(1, base) / base;
    if (known && power == -0.5) return UnaryExpr(Op::kRsqrt, base);
    return BinaryExpr(Op::kPow, base, CastExpr(base->type, x[1]));
  });
}

Result<void> IsInf(OpContext& op) {
  const bool negative = op.Int("detect_negative", 1) != 0,
             positive = op.Int("detect_positive", 1) != 0;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return LowerPointwise(op, {op.In(0)}, DataType::kBool, [&](const Exprs& inputs) {
    const ExprPtr x = Wide(inputs[0]);
    const auto is = [&](double value) { return BinaryExpr(Op::kEqual, x, Lit(value, x)); };
    if (negative && positive) return BinaryExpr(Op::kOr, is(kInfinity), is(-kInfinity));
    if (negative) return is(-kInfinity);
    return positive ? is(kInfinity) : IntExpr(0, DataType::kBool);
  });
}

// Shifts are products and quotients by powers of two, which f64 holds exactly. Shifting by as many
// bits as there are, or by a negative number, leaves nothing, or the sign.
Result<void> BitShift(OpContext& op) {
  const std::string direction = op.Text("direction", "");
  const bool left = direction == "LEFT";
  if (!left && direction != "RIGHT") return Unsupported("the direction '" + direction + "'");
  const DataType type = op.InValue(0).type;
  const int bits = 8 * ByteSize(type);
  return LowerPointwise(op, {op.In(0), op.In(1)}, type, [&](const Exprs& inputs) {
    const ExprPtr x = CastExpr(DataType::kI64, inputs[0]), by = CastExpr(DataType::kI64, inputs[1]);
    const ExprPtr factor =
        by->op == Op::kInt && by->integer >= 0 && by->integer < bits
            ? IntExpr(std::int64_t{1} << by->integer)
            : CastExpr(DataType::kI64, BinaryExpr(Op::kPow, FloatExpr(2, DataType::kF64),
                                                  CastExpr(DataType::kF64, by)));
    const ExprPtr gone = BinaryExpr(Op::kOr, Less(by, IntExpr(0)), Less(IntExpr(bits - 1), by));
    if (left) return CastExpr(type, SelectExpr(gone, IntExpr(0), x * factor));
    // 2^63 is no i64: only the sign is left then.
    const ExprPtr sign = SelectExpr(Less(x, IntExpr(0)), IntExpr(-1), IntExpr(0));
    const ExprPtr most = bits == 64 ? BinaryExpr(Op::kEqual, by, IntExpr(63)) : gone;
    return CastExpr(type, SelectExpr(BinaryExpr(Op::kOr, gone, most), sign, x / factor));
  });
}

Result<void> BitwiseNot(OpContext& op) {
  const DataType type = op.InValue(0).type;
  return LowerPointwise(op, {op.In(0)}, type, [&](const Exprs& x) {
    const ExprPtr wide = Wide(x[0]);
    return CastExpr(type, Lit(type == DataType::kU8 ? 255 : -1, wide) - wide);
  });
}

}  // namespace

// ONNX divides integers towards zero, the workload language towards minus infinity.
ExprPtr TruncatedQuotient(const ExprPtr& a, const ExprPtr& b) {
  if (b->op == Op::kInt && b->integer > 0) return SelectExpr(Negative(a), Neg(Neg(a) / b), a / b);
  const ExprPtr magnitude = Abs(a) / Abs(b);
  return SelectExpr(BinaryExpr(Op::kNotEqual, Negative(a), Negative(b)), Neg(magnitude), magnitude);
}

void AddMathOps(LoweringTable& table) {
  table["Atan"] = Function<ArcTangent>;
  table["Asin"] = Function<ArcSine>;
  table["Acos"] = Function<ArcCosine>;
  table["Sinh"] = Function<HyperbolicSine>;
  table["Cosh"] = Function<HyperbolicCosine>;
  table["Asinh"] = Function<AreaSine>;
  table["Acosh"] = Function<AreaCosine>;
  table["Atanh"] = Function<AreaTangent>;
  table["Mod"] = Mod;
  table["Pow"] = Pow;
  table["IsInf"] = IsInf;
  table["BitShift"] = BitShift;
  table["BitwiseNot"] = BitwiseNot;
}

}  // namespace kindred
