// Interval analysis of integer expressions: the smallest and largest value an index can take, given
// the ranges of the variables and the conditions under which it is evaluated.
//
// The analysis is sound and not complete: an interval may be wider than the truth. Values beyond
// +-kUnbounded are treated as unknown. Not thread safe; one object per walk over an expression.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedules/expr.h"

namespace kindred {

inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 61;

struct Interval {
  std::int64_t low = -kUnbounded, high = kUnbounded;  // inclusive
  bool operator==(const Interval&) const = default;
  // An empty interval (code that never runs) lies inside everything.
  bool Inside(std::int64_t from, std::int64_t to) const {
    return low > high || (low >= from && high <= to);
  }
};

class RangeAnalysis {
 public:
  // Interval of a load of an integer tensor; called with the kLoad node.
  using LoadRange = std::function<Interval(const Expr&)>;

  // `variables[i]` is the range of kVar i, `symbols[i]` that of kExtent i.
  RangeAnalysis(std::vector<Interval> variables, std::vector<Interval> symbols,
                LoadRange load_range);

  Interval Of(const Expr& e) const;

  // Takes `condition` to be `truth` until the matching Restore(mark).
  std::size_t Mark() const { return facts_.size(); }
  void Assume(const Expr& condition, bool truth);
  void Restore(std::size_t mark);

 private:
  struct Fact {
    const Expr* expr = nullptr;  // null: the affine form alone
    Affine affine;               // empty coefficients: not affine
    Interval interval;
    int variable = -1;  // a range narrowed by this fact, and what it was before
    Interval before;
  };

  void AddFact(const Expr* expr, std::optional<Affine> affine, Interval interval);
  Interval Basic(const Expr& e) const;
  Interval OfAffine(const Affine& affine) const;
  void AssumeOrdered(const Expr& a, const Expr& b, std::int64_t gap);  // a + gap <= b

  std::vector<Interval> variables_;
  std::vector<Interval> symbols_;
  LoadRange load_range_;
  std::vector<Fact> facts_;
};

}  // namespace kindred
