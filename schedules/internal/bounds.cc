#include "schedules/internal/bounds.h"

#include <algorithm>

#include "schedules/internal/int128.h"

namespace kindred::internal {
namespace {

// Far from overflow, so that sums and differences of bounded values are exact.
constexpr std::int64_t kLimit = std::int64_t{1} << 60;

std::optional<Bounds> Bounded(Int128 low, Int128 high) {
  if (low < -kLimit || high > kLimit) return std::nullopt;
  return Bounds{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

std::optional<Bounds> OfBinary(Op op, const Bounds& a, const Bounds& b) {
  switch (op) {
    case Op::kAdd: return Bounded(Int128{a.low} + b.low, Int128{a.high} + b.high);
    case Op::kSub: return Bounded(Int128{a.low} - b.high, Int128{a.high} - b.low);
    case Op::kMul: {
      const Int128 p[4] = {Int128{a.low} * b.low, Int128{a.low} * b.high, Int128{a.high} * b.low,
                           Int128{a.high} * b.high};
      return Bounded(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
    }
    case Op::kDiv:
      if (b.low <= 0) return std::nullopt;
      return Bounds{std::min(FloorDiv(a.low, b.low), FloorDiv(a.low, b.high)),
                    std::max(FloorDiv(a.high, b.low), FloorDiv(a.high, b.high))};
    case Op::kMin: return Bounds{std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::kMax: return Bounds{std::max(a.low, b.low), std::max(a.high, b.high)};
    default: return std::nullopt;
  }
}

std::optional<bool> DecideOrder(Op op, const Bounds& a, const Bounds& b) {
  const bool apart = a.high < b.low || b.high < a.low;
  const bool same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (op) {
    case Op::kLess:
      if (a.high < b.low) return true;
      if (a.low >= b.high) return false;
      return std::nullopt;
    case Op::kLessEqual:
      if (a.high <= b.low) return true;
      if (a.low > b.high) return false;
      return std::nullopt;
    default:
      if (!apart && !same) return std::nullopt;
      return same == (op == Op::kEqual);
  }
}

}  // namespace

std::optional<Bounds> BoundsOf(const Expr& e, const RangeOf& range) {
  if (!IsInteger(e.type)) return std::nullopt;
  switch (e.op) {
    case Op::kInt: return Bounded(e.integer, e.integer);
    case Op::kVar: return range(e.index, false);
    case Op::kExtent: return range(e.index, true);
    case Op::kCast: return e.type == DataType::kI64 ? BoundsOf(*e.args[0], range) : std::nullopt;
    case Op::kSelect: {
      const auto a = BoundsOf(*e.args[1], range), b = BoundsOf(*e.args[2], range);
      if (!a || !b) return std::nullopt;
      return Bounds{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    case Op::kNeg: {
      const auto a = BoundsOf(*e.args[0], range);
      if (!a) return std::nullopt;
      return Bounds{-a->high, -a->low};
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMod:
    case Op::kMin:
    case Op::kMax: break;
    default: return std::nullopt;
  }
  const auto a = BoundsOf(*e.args[0], range), b = BoundsOf(*e.args[1], range);
  if (e.op == Op::kMod) {
    if (!b || b->low <= 0) return std::nullopt;
    if (a && a->low >= 0 && a->high < b->low) return a;
    return Bounds{0, b->high - 1};
  }
  if (!a || !b) return std::nullopt;
  return OfBinary(e.op, *a, *b);
}

std::optional<bool> Decide(const Expr& c, const RangeOf& range) {
  switch (c.op) {
    case Op::kInt: return c.integer != 0;
    case Op::kAnd:
    case Op::kOr: {
      const bool decisive = c.op == Op::kOr;
      const auto a = Decide(*c.args[0], range), b = Decide(*c.args[1], range);
      if (a == decisive || b == decisive) return decisive;
      if (a && b) return !decisive;
      return std::nullopt;
    }
    case Op::kNot: {
      const auto a = Decide(*c.args[0], range);
      if (!a) return std::nullopt;
      return !*a;
    }
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual: {
      const auto a = BoundsOf(*c.args[0], range), b = BoundsOf(*c.args[1], range);
      if (!a || !b) return std::nullopt;
      return DecideOrder(c.op, *a, *b);
    }
    default: return std::nullopt;
  }
}

}  // namespace kindred::internal
