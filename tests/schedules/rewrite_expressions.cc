// Rewrites of expressions: arithmetic and guards that change nothing.
#include <algorithm>

#include "tests/schedules/edit_workload.h"
#include "tests/schedules/rewrite_kinds.h"

namespace kindred {
namespace {

// An index that was read from a tensor, which CheckWorkload takes as valid in plain form only.
bool IsReadIndex(const Site& site) { return site.index() && HasLoad(*site.expr); }

// A constant that an index or a condition may need in plain form to be proven right.
bool IsFactor(const Site& site) {
  return site.expr->op == Op::kInt && site.where != Site::kValue && site.where != Site::kIndex;
}

// c x as a sum of two terms, a difference, or a product.
ExprPtr RawTerm(const ExprPtr& x, std::int64_t c, Random& random) {
  const auto product = [&](std::int64_t factor) {
    if (factor == 1 && random.Below(2) == 0) return x;
    return RawExpr(Op::kMul, DataType::kI64, {x, IntExpr(factor)});
  };
  switch (random.Below(4)) {
    case 0: return RawExpr(Op::kAdd, DataType::kI64, {product(c - 1), product(1)});
    case 1: return RawExpr(Op::kSub, DataType::kI64, {product(c + 2), product(2)});
    case 2: return RawExpr(Op::kNeg, DataType::kI64, {product(-c)});
    default: return product(c);
  }
}

}  // namespace

bool AddCast(Disguised& d, Random& random) {
  Workload& w = d.workload;
  if (random.Below(3) == 0) {  // what the store, or the accumulator, does anyhow
    Stage& stage = w.stages[random.Below(w.stages.size())];
    const bool reduces = stage.combiner != Combiner::kNone;
    const DataType type = reduces ? stage.accumulator : w.tensors[Size(stage.tensor)].type;
    if (IsArg(stage) && type != stage.body->type) return false;
    stage.body = RawExpr(Op::kCast, type, {stage.body});
    return true;
  }
  // A cast condition would hide what it guards.
  const auto site = Pick(SitesOf(w,
                                 [](const Site& s) {
                                   return !IsFactor(s) && (s.where != Site::kInsideCondition ||
                                                           s.expr->type != DataType::kBool);
                                 }),
                         random);
  const DataType type = site->expr->type;
  std::vector<DataType> wider;
  for (const DataType other : {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kI64,
                               DataType::kI32, DataType::kI8, DataType::kBool})
    if (Contains(other, type) && IsFloat(other) == IsFloat(type)) wider.push_back(other);
  const auto through = Pick(wider, random);
  if (!through) return false;
  ExprPtr e = RawExpr(Op::kCast, *through, {site->expr});
  Replace(w, *site, RawExpr(Op::kCast, type, {std::move(e)}));
  return true;
}

bool AddIdentity(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const auto site = Pick(SitesOf(w,
                                 [](const Site& s) {
                                   return !IsReadIndex(s) && !IsFactor(s) &&
                                          s.expr->type != DataType::kBool &&
                                          DefaultAccumulator(s.expr->type) == s.expr->type;
                                 }),
                         random);
  if (!site) return false;
  const DataType type = site->expr->type;
  const bool add = random.Below(2) == 0;
  std::vector<ExprPtr> operands{site->expr, Constant(type, add ? 0 : 1)};
  if (random.Below(2) == 0) std::swap(operands[0], operands[1]);
  Replace(w, *site, RawExpr(add ? Op::kAdd : Op::kMul, type, std::move(operands)));
  return true;
}

bool UnfoldConstant(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const auto site = Pick(
      SitesOf(w,
              [](const Site& s) {
                if (DefaultAccumulator(s.expr->type) != s.expr->type || IsFactor(s)) return false;
                return s.expr->op == Op::kInt || (s.expr->op == Op::kFloat && s.expr->number != 0);
              }),
      random);
  if (!site) return false;
  const Expr& e = *site->expr;
  const double more = 1.0 + static_cast<double>(random.Below(4));
  const bool integer = e.op == Op::kInt;
  const ExprPtr first = integer ? IntExpr(e.integer - static_cast<std::int64_t>(more), e.type)
                                : FloatExpr(e.number / 2, e.type);
  const ExprPtr second = integer ? Constant(e.type, more) : first;
  Replace(w, *site, RawExpr(Op::kAdd, e.type, {first, second}));
  return true;
}

bool RespellAffine(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const auto affine_of = [&w](const Site& s) {
    return AsAffine(*s.expr, static_cast<int>(w.stages[s.stage].axes.size()));
  };
  const auto site = Pick(
      SitesOf(w, [&](const Site& s) { return !IsConstant(*s.expr) && affine_of(s).has_value(); }),
      random);
  if (!site) return false;
  const Affine affine = *affine_of(*site);
  std::vector<ExprPtr> terms;
  for (std::size_t a = 0; a < affine.coefficients.size(); ++a)
    if (affine.coefficients[a] != 0)
      terms.push_back(RawTerm(VarExpr(static_cast<int>(a)), affine.coefficients[a], random));
  const auto shift = static_cast<std::int64_t>(random.Below(5));
  terms.push_back(IntExpr(affine.constant + shift));
  terms.push_back(IntExpr(-shift));
  Shuffle(terms, random);
  ExprPtr sum;
  for (const ExprPtr& term : terms)
    sum = sum ? RawExpr(Op::kAdd, DataType::kI64, {sum, term}) : term;
  Replace(w, *site, sum);
  return true;
}

// Padding around a read that stays inside for every value of its axes.
bool AddPadding(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const auto site = Pick(SitesOf(w,
                                 [&w](const Site& s) {
                                   if (s.expr->op != Op::kLoad || IsReadIndex(s)) return false;
                                   const Stage& stage = w.stages[s.stage];
                                   for (std::size_t i = 0; i < s.expr->args.size(); ++i) {
                                     const Expr& index = *s.expr->args[i];
                                     if (index.op != Op::kVar) return false;
                                     if (stage.axes[Size(index.index)].extent !=
                                         w.tensors[Size(s.expr->index)].shape[i])
                                       return false;
                                   }
                                   return true;
                                 }),
                         random);
  if (!site) return false;
  const DataType type = site->expr->type;
  Replace(w, *site, RawExpr(Op::kPadded, type, {site->expr, Constant(type, 1)}));
  return true;
}

bool AddDecidedSelect(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const auto site = Pick(SitesOf(w,
                                 [&w](const Site& s) {
                                   return !IsReadIndex(s) && !w.stages[s.stage].axes.empty() &&
                                          (s.where == Site::kValue || s.where == Site::kIndex);
                                 }),
                         random);
  if (!site) return false;
  const Stage& stage = w.stages[site->stage];
  const auto axis = static_cast<int>(random.Below(stage.axes.size()));
  const Extent extent = stage.axes[Size(axis)].extent;
  const bool fixed = extent.symbol < 0;
  const auto compare = [](Op op, const ExprPtr& a, const ExprPtr& b) {
    return RawExpr(op, DataType::kBool, {a, b});
  };
  const ExprPtr truth = fixed && random.Below(2) == 0
                            ? compare(Op::kLess, VarExpr(axis), IntExpr(extent.value))
                            : compare(Op::kLessEqual, IntExpr(0), VarExpr(axis));
  const DataType type = site->expr->type;
  const ExprPtr other = Constant(type, site->index() ? 0 : 1);
  switch (random.Below(3)) {
    case 0: Replace(w, *site, RawExpr(Op::kSelect, type, {truth, site->expr, other})); break;
    case 1: {
      const ExprPtr never = RawExpr(Op::kNot, DataType::kBool, {truth});
      Replace(w, *site, RawExpr(Op::kSelect, type, {never, other, site->expr}));
      break;
    }
    default: {
      const ExprPtr both = RawExpr(Op::kAnd, DataType::kBool, {truth, truth});
      Replace(w, *site, RawExpr(Op::kSelect, type, {both, site->expr, other}));
    }
  }
  return true;
}

}  // namespace kindred
