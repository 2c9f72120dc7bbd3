#include "tuner/import/interpolate.h"

#include <utility>

namespace kindred {

ExprPtr Real(double value, const ExprPtr& like) { return Literal(value, like->type); }

ExprPtr Between(const ExprPtr& x, double low, double high) {
  return BinaryExpr(Op::kMax, BinaryExpr(Op::kMin, x, Real(high, x)), Real(low, x));
}

namespace {

// `place`, a whole number, as an index into `extent`.
ExprPtr AsIndex(const ExprPtr& place, std::int64_t extent) {
  const ExprPtr near = CastExpr(DataType::kI64, Between(place, -1, static_cast<double>(extent)));
  return BinaryExpr(Op::kMax, IntExpr(0), BinaryExpr(Op::kMin, near, IntExpr(extent - 1)));
}

ExprPtr IsInside(const ExprPtr& place, std::int64_t extent) {
  return BinaryExpr(
      Op::kAnd, BinaryExpr(Op::kLessEqual, Real(0, place), place),
      BinaryExpr(Op::kLessEqual, place, Real(static_cast<double>(extent - 1), place)));
}

// Keys' cubic convolution at distances of up to 1, and of 1 to 2.
ExprPtr NearCubic(const ExprPtr& d, double a) {
  return ((Real(a + 2, d) * d - Real(a + 3, d)) * d) * d + Real(1, d);
}
ExprPtr FarCubic(const ExprPtr& d, double a) {
  return ((Real(a, d) * d - Real(5 * a, d)) * d + Real(8 * a, d)) * d - Real(4 * a, d);
}

// The sum over the taps of dimensions from `d` on; `at` has the indices of those before, `inside`
// the condition that they lie over the image.
ExprPtr Combine(const OpContext& op, int image, const Exprs& leading,
                const std::vector<std::vector<Tap>>& taps, const std::vector<std::int64_t>& extents,
                std::size_t d, Exprs at, ExprPtr inside) {
  if (d == taps.size()) {
    Exprs index = leading;
    index.insert(index.end(), at.begin(), at.end());
    const ExprPtr x = op.Load(image, std::move(index));
    const ExprPtr wide = CastExpr(DefaultAccumulator(x->type), x);
    return inside ? SelectExpr(inside, wide, Real(0, wide)) : wide;
  }
  ExprPtr sum;
  for (const Tap& tap : taps[d]) {
    Exprs next = at;
    next.push_back(AsIndex(tap.place, extents[d]));
    const ExprPtr here = IsInside(tap.place, extents[d]);
    const ExprPtr part = Combine(op, image, leading, taps, extents, d + 1, std::move(next),
                                 inside ? BinaryExpr(Op::kAnd, inside, here) : here);
    const ExprPtr term = tap.weight ? part * tap.weight : part;
    sum = sum ? sum + term : term;
  }
  return sum;
}

}  // namespace

std::vector<Tap> NearestTap(const ExprPtr& place) {
  return {{UnaryExpr(Op::kRound, place), nullptr}};
}

std::vector<Tap> LinearTaps(const ExprPtr& place) {
  const ExprPtr first = UnaryExpr(Op::kFloor, place), behind = place - first;
  return {{first, Real(1, place) - behind}, {first + Real(1, place), behind}};
}

std::vector<Tap> CubicTaps(const ExprPtr& place) {
  constexpr double kA = -0.75;
  const ExprPtr first = UnaryExpr(Op::kFloor, place), s = place - first, one = Real(1, place);
  return {{first - one, FarCubic(s + one, kA)},
          {first, NearCubic(s, kA)},
          {first + one, NearCubic(one - s, kA)},
          {first + Real(2, place), FarCubic(Real(2, place) - s, kA)}};
}

ExprPtr Interpolate(const OpContext& op, int image, const Exprs& leading,
                    const std::vector<std::vector<Tap>>& taps,
                    const std::vector<std::int64_t>& extents) {
  return Combine(op, image, leading, taps, extents, 0, {}, nullptr);
}

}  // namespace kindred
