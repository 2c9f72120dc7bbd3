#include "schedules/internal/interval.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/internal/int128.h"

namespace kindred {
namespace {

std::int64_t Clamp(Int128 value) {
  if (value <= -kUnbounded) return -kUnbounded;
  if (value >= kUnbounded) return kUnbounded;
  return static_cast<std::int64_t>(value);
}

std::int64_t AddEnds(std::int64_t a, std::int64_t b) { return Clamp(static_cast<Int128>(a) + b); }

std::int64_t MulEnds(std::int64_t a, std::int64_t b) { return Clamp(static_cast<Int128>(a) * b); }

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0);
}

// An unknown end (a low one of -kUnbounded, a high one of kUnbounded) stays unknown.
Interval WithUnknownEnds(Interval result, bool low, bool high) {
  return {low ? -kUnbounded : result.low, high ? kUnbounded : result.high};
}

Interval Sum(Interval a, Interval b) {
  return WithUnknownEnds({AddEnds(a.low, b.low), AddEnds(a.high, b.high)},
                         a.low == -kUnbounded || b.low == -kUnbounded,
                         a.high == kUnbounded || b.high == kUnbounded);
}
Interval Shifted(Interval a, std::int64_t by) { return Sum(a, {Clamp(by), Clamp(by)}); }
Interval Negate(Interval a) { return {-a.high, -a.low}; }

Interval Product(Interval a, Interval b) {
  const std::int64_t ends[] = {MulEnds(a.low, b.low), MulEnds(a.low, b.high),
                               MulEnds(a.high, b.low), MulEnds(a.high, b.high)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

Interval Quotient(Interval a, Interval b) {
  if (b.low <= 0) return {};
  const std::int64_t ends[] = {FloorDiv(a.low, b.low), FloorDiv(a.low, b.high),
                               FloorDiv(a.high, b.low), FloorDiv(a.high, b.high)};
  return WithUnknownEnds({*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)},
                         a.low == -kUnbounded, a.high == kUnbounded);
}

Interval Remainder(Interval a, Interval b) {
  if (b.low <= 0) return {};
  if (b.low == b.high && a.low > -kUnbounded && a.high < kUnbounded) {
    const std::int64_t block = FloorDiv(a.low, b.low);
    if (block == FloorDiv(a.high, b.low)) return {a.low - block * b.low, a.high - block * b.low};
  }
  return {0, b.high - 1};
}

Interval Meet(Interval a, Interval b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

// a - b, nothing where that overflows.
std::optional<Affine> Difference(const Affine& a, const Affine& b) {
  Affine difference = a;
  bool overflows = __builtin_sub_overflow(a.constant, b.constant, &difference.constant);
  for (std::size_t i = 0; i < a.coefficients.size(); ++i)
    overflows |=
        __builtin_sub_overflow(a.coefficients[i], b.coefficients[i], &difference.coefficients[i]);
  return overflows ? std::nullopt : std::optional(std::move(difference));
}

Interval TypeRange(DataType type) {
  if (!IsInteger(type)) return {};
  return {Clamp(IntegerLowest(type)), Clamp(IntegerHighest(type))};
}

}  // namespace

RangeAnalysis::RangeAnalysis(std::vector<Interval> variables, std::vector<Interval> symbols,
                             LoadRange load_range)
    : variables_(std::move(variables)),
      symbols_(std::move(symbols)),
      load_range_(std::move(load_range)) {}

Interval RangeAnalysis::OfAffine(const Affine& affine) const {
  Interval sum{affine.constant, affine.constant};
  for (std::size_t i = 0; i < affine.coefficients.size(); ++i) {
    const std::int64_t c = affine.coefficients[i];
    if (c != 0) sum = Sum(sum, Product(variables_[i], {c, c}));
  }
  return sum;
}

Interval RangeAnalysis::Of(const Expr& e) const {
  Interval result = Basic(e);
  const auto affine = facts_.empty() && e.op != Op::kAdd && e.op != Op::kSub
                          ? std::nullopt
                          : AsAffine(e, static_cast<int>(variables_.size()));
  if (affine) result = Meet(result, OfAffine(*affine));
  for (const Fact& fact : facts_) {
    if (fact.expr && SameExpr(*fact.expr, e)) result = Meet(result, fact.interval);
    if (affine && !fact.affine.coefficients.empty() &&
        fact.affine.coefficients == affine->coefficients) {
      if (const auto difference = Difference(*affine, fact.affine))
        result = Meet(result, Shifted(fact.interval, difference->constant));
    }
  }
  return result;
}

Interval RangeAnalysis::Basic(const Expr& e) const {
  switch (e.op) {
    case Op::kInt: return {Clamp(e.integer), Clamp(e.integer)};
    case Op::kVar:
      return static_cast<std::size_t>(e.index) < variables_.size()
                 ? variables_[static_cast<std::size_t>(e.index)]
                 : Interval{};
    case Op::kExtent:
      return static_cast<std::size_t>(e.index) < symbols_.size()
                 ? symbols_[static_cast<std::size_t>(e.index)]
                 : Interval{};
    case Op::kLoad: return Meet(TypeRange(e.type), load_range_ ? load_range_(e) : Interval{});
    case Op::kPadded: {
      const Interval inner = Of(*e.args[0]), value = Of(*e.args[1]);
      return {std::min(inner.low, value.low), std::max(inner.high, value.high)};
    }
    case Op::kSelect: {
      Interval branches[2];
      for (const bool truth : {true, false}) {
        RangeAnalysis inner = *this;
        inner.Assume(*e.args[0], truth);
        branches[truth ? 0 : 1] = inner.Of(*e.args[truth ? 1 : 2]);
      }
      // A branch that never runs says nothing.
      if (branches[0].low > branches[0].high) return branches[1];
      if (branches[1].low > branches[1].high) return branches[0];
      return {std::min(branches[0].low, branches[1].low),
              std::max(branches[0].high, branches[1].high)};
    }
    case Op::kCast:
      if (!IsInteger(e.args[0]->type)) return TypeRange(e.type);
      {
        const Interval inner = Of(*e.args[0]), range = TypeRange(e.type);
        if (e.type == DataType::kBool) return {0, 1};
        return inner.Inside(range.low, range.high) ? inner : range;
      }
    default: break;
  }
  if (!IsInteger(e.type)) return {};
  if (e.type == DataType::kBool) return {0, 1};
  const Interval a = Of(*e.args[0]);
  const Interval b = e.args.size() > 1 ? Of(*e.args[1]) : Interval{};
  Interval result;
  switch (e.op) {
    case Op::kAdd: result = Sum(a, b); break;
    case Op::kSub: result = Sum(a, Negate(b)); break;
    case Op::kMul: result = Product(a, b); break;
    case Op::kDiv: result = Quotient(a, b); break;
    case Op::kMod: result = Remainder(a, b); break;
    case Op::kMin: result = {std::min(a.low, b.low), std::min(a.high, b.high)}; break;
    case Op::kMax: result = {std::max(a.low, b.low), std::max(a.high, b.high)}; break;
    case Op::kNeg: result = Negate(a); break;
    case Op::kAbs:
      result = {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, std::max(-a.low, a.high)};
      break;
    default: break;
  }
  // Arithmetic that may wrap in its type can be anything.
  const Interval range = TypeRange(e.type);
  return result.Inside(range.low, range.high) ? result : range;
}

void RangeAnalysis::AddFact(const Expr* expr, std::optional<Affine> affine, Interval interval) {
  Fact fact;
  fact.expr = expr;
  fact.interval = interval;
  if (affine) {
    int used = 0;
    for (std::size_t i = 0; i < affine->coefficients.size(); ++i) {
      if (affine->coefficients[i] == 0) continue;
      ++used;
      fact.variable = static_cast<int>(i);
    }
    const bool one = used == 1 && affine->coefficients[static_cast<std::size_t>(fact.variable)] !=
                                      std::numeric_limits<std::int64_t>::min();
    if (one) {  // low <= c*v + k <= high narrows v
      Interval& range = variables_[static_cast<std::size_t>(fact.variable)];
      fact.before = range;
      std::int64_t c = affine->coefficients[static_cast<std::size_t>(fact.variable)];
      Interval scaled = Negate(Shifted(Negate(interval), affine->constant));
      if (c < 0) {
        scaled = Negate(scaled);
        c = -c;
      }
      if (scaled.low != -kUnbounded) range.low = std::max(range.low, -FloorDiv(-scaled.low, c));
      if (scaled.high != kUnbounded) range.high = std::min(range.high, FloorDiv(scaled.high, c));
    } else {
      fact.variable = -1;
    }
    if (used > 0) fact.affine = std::move(*affine);
  }
  facts_.push_back(std::move(fact));
}

void RangeAnalysis::AssumeOrdered(const Expr& a, const Expr& b, std::int64_t gap) {
  const Interval of_a = Of(a), of_b = Of(b);
  const int variables = static_cast<int>(variables_.size());
  if (of_b.high != kUnbounded) AddFact(&a, AsAffine(a, variables), {-kUnbounded, of_b.high - gap});
  if (of_a.low != -kUnbounded) AddFact(&b, AsAffine(b, variables), {of_a.low + gap, kUnbounded});
  const auto left = AsAffine(a, variables), right = AsAffine(b, variables);
  if (!left || !right) return;
  // a - b <= -gap, and the same the other way round.
  AddFact(nullptr, Difference(*left, *right), {-kUnbounded, -gap});
  AddFact(nullptr, Difference(*right, *left), {gap, kUnbounded});
}

void RangeAnalysis::Assume(const Expr& condition, bool truth) {
  switch (condition.op) {
    case Op::kNot: return Assume(*condition.args[0], !truth);
    case Op::kAnd:
    case Op::kOr: {
      if ((condition.op == Op::kAnd) != truth) return;
      std::vector<const Expr*> parts{&condition};
      for (std::size_t i = 0; i < parts.size();) {
        if (parts[i]->op != condition.op) {
          ++i;
          continue;
        }
        const Expr* split = parts[i];
        parts[i] = split->args[0].get();
        parts.push_back(split->args[1].get());
      }
      // Twice: what the second says may sharpen the first (i < j and j < 4).
      for (int round = 0; round < 2; ++round)
        for (const Expr* part : parts) Assume(*part, truth);
      return;
    }
    case Op::kLess:
    case Op::kLessEqual: {
      const Expr& a = *condition.args[0];
      const Expr& b = *condition.args[1];
      if (!IsInteger(a.type)) return;
      const bool strict = condition.op == Op::kLess;
      if (truth) return AssumeOrdered(a, b, strict ? 1 : 0);
      return AssumeOrdered(b, a, strict ? 0 : 1);
    }
    case Op::kEqual:
    case Op::kNotEqual:
      if ((condition.op == Op::kEqual) != truth || !IsInteger(condition.args[0]->type)) return;
      AssumeOrdered(*condition.args[0], *condition.args[1], 0);
      AssumeOrdered(*condition.args[1], *condition.args[0], 0);
      return;
    default: return;
  }
}

void RangeAnalysis::Restore(std::size_t mark) {
  while (facts_.size() > mark) {
    const Fact& fact = facts_.back();
    if (fact.variable >= 0) variables_[static_cast<std::size_t>(fact.variable)] = fact.before;
    facts_.pop_back();
  }
}

}  // namespace kindred
