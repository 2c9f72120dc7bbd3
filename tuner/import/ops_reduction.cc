// Reductions over axes, Softmax, ArgMax.
#include <algorithm>
#include <numeric>

#include "tuner/import/ops.h"
#include "tuner/import/rows.h"

namespace kindred {
namespace {

// Attribute up to operator set 12 (ReduceSum) or 17, input since. No axes: nothing is reduced.
Result<Rows> ReadRows(OpContext& op) {
  const Shape shape = op.InShape(0);
  std::vector<std::int64_t> axes = op.Ints("axes").value_or(Shape());
  if (op.Has(1)) {
    KINDRED_TRY(axes, op.KnownInts(1, "axes"));
  }
  const bool none = axes.empty() && op.Int("noop_with_empty_axes", 0) != 0;
  op.Ignore("noop_with_empty_axes");
  if (axes.empty() && !none) {
    axes.resize(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  KINDRED_TRY(axes, NormaliseAxes(op, axes, shape.size()));
  return MakeRows(op, op.In(0), axes);
}

enum class Before { kNothing, kAbs, kSquare };
enum class After { kNothing, kMean, kSqrt, kLog };

ExprPtr ApplyBefore(Before before, const ExprPtr& x) {
  if (before == Before::kAbs) return UnaryExpr(Op::kAbs, x);
  return before == Before::kSquare ? x * x : x;
}

ExprPtr ApplyAfter(After after, const ExprPtr& x, std::int64_t size) {
  switch (after) {
    case After::kNothing: return x;
    case After::kMean: {
      const ExprPtr count = Literal(static_cast<double>(size), x->type);
      return IsFloat(x->type) ? x / count : TruncatedQuotient(x, count);
    }
    case After::kSqrt: return UnaryExpr(Op::kSqrt, x);
    case After::kLog: return UnaryExpr(Op::kLog, x);
  }
  return x;
}

template <Combiner kCombiner, Before kBefore, After kAfter>
Result<void> Reduce(OpContext& op) {
  const bool keep = op.Int("keepdims", 1) != 0;
  KINDRED_TRY(const Rows rows, ReadRows(op));
  const DataType type = op.InValue(0).type;
  if ((kAfter == After::kSqrt || kAfter == After::kLog) && !IsFloat(type))
    return Unsupported("a root or logarithm of integers");
  if (rows.axes.empty()) {
    if (kBefore == Before::kNothing && kAfter != After::kLog) {
      op.View(0, op.In(0), op.InShape(0));
      return {};
    }
    return LowerPointwise(op, {op.In(0)}, type, [&](const Exprs& x) {
      return ApplyAfter(kAfter, ApplyBefore(kBefore, x[0]), 1);
    });
  }
  const bool extremum = kCombiner == Combiner::kMax || kCombiner == Combiner::kMin;
  const DataType wide = extremum ? type : DefaultAccumulator(type);
  const int result = op.Temp("rows", type, rows.out);
  const int sum = kAfter == After::kNothing ? result : op.Temp("sum", wide, rows.out);
  EmitReduction(op, rows, sum, kCombiner, wide, [&](const Exprs& at, const Exprs&) {
    return ApplyBefore(kBefore, LoadExpr(op.In(0), at, type));
  });
  if (kAfter != After::kNothing)
    EmitRows(op, rows, result,
             [&](const Exprs& at) { return ApplyAfter(kAfter, op.Load(sum, at), rows.size); });
  op.View(0, result, keep ? rows.Kept() : rows.out);
  return {};
}

// max and sum of exp(x - max) of each row; `exponentials` receives exp(x - max) if it is not -1.
std::pair<int, int> EmitExpSum(OpContext& op, const Rows& rows, int exponentials) {
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const int top = op.Temp("max", type, rows.out), sum = op.Temp("sum", wide, rows.out);
  EmitReduction(op, rows, top, Combiner::kMax, type,
                [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
  const auto power = [&](const Exprs& at, const Exprs& row) {
    return UnaryExpr(Op::kExp, LoadExpr(op.In(0), at, type) - op.Load(top, row));
  };
  if (exponentials >= 0) EmitElements(op, rows, exponentials, power);
  EmitReduction(op, rows, sum, Combiner::kSum, wide, [&](const Exprs& at, const Exprs& row) {
    return exponentials >= 0 ? op.Load(exponentials, at) : power(at, row);
  });
  return {top, sum};
}

// Before operator set 13 the input is flattened to a matrix at `axis`: all axes from there on are
// one row.
Result<Rows> SoftmaxRows(OpContext& op) {
  const Shape shape = op.InShape(0);
  if (shape.empty()) return Unsupported("a scalar");
  KINDRED_TRY(const std::int64_t axis,
              NormaliseAxis(op, op.Int("axis", op.opset() < 13 ? 1 : -1), shape.size()));
  std::vector<std::int64_t> axes = {axis};
  for (std::int64_t d = axis + 1; op.opset() < 13 && d < static_cast<std::int64_t>(shape.size());
       ++d)
    axes.push_back(d);
  return MakeRows(op, op.In(0), axes);
}

Result<void> Softmax(OpContext& op) {
  KINDRED_TRY(const Rows rows, SoftmaxRows(op));
  const DataType type = op.InValue(0).type;
  const int powers = op.Temp("exp", DefaultAccumulator(type), rows.in);
  const int sum = EmitExpSum(op, rows, powers).second;
  EmitElements(op, rows, op.Out(0, type, rows.in), [&](const Exprs& at, const Exprs& row) {
    return op.Load(powers, at) / op.Load(sum, row);
  });
  return {};
}

Result<void> LogSoftmax(OpContext& op) {
  KINDRED_TRY(const Rows rows, SoftmaxRows(op));
  const DataType type = op.InValue(0).type;
  const auto [top, sum] = EmitExpSum(op, rows, -1);
  EmitElements(op, rows, op.Out(0, type, rows.in),
               [&, top_id = top, sum_id = sum](const Exprs& at, const Exprs& row) {
                 return LoadExpr(op.In(0), at, type) - op.Load(top_id, row) -
                        UnaryExpr(Op::kLog, op.Load(sum_id, row));
               });
  return {};
}

Result<void> ReduceLogSumExp(OpContext& op) {
  const bool keep = op.Int("keepdims", 1) != 0;
  KINDRED_TRY(const Rows rows, ReadRows(op));
  const DataType type = op.InValue(0).type;
  if (!IsFloat(type)) return Unsupported("exponentials of integers");
  if (rows.axes.empty()) {
    op.View(0, op.In(0), op.InShape(0));
    return {};
  }
  const int result = op.Temp("rows", type, rows.out);
  if (rows.size == 0) {  // there is no maximum
    EmitReduction(op, rows, result, Combiner::kMax, type,
                  [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
  } else {
    const auto [top, sum] = EmitExpSum(op, rows, -1);
    EmitRows(op, rows, result, [&, top_id = top, sum_id = sum](const Exprs& at) {
      return UnaryExpr(Op::kLog, op.Load(sum_id, at)) + op.Load(top_id, at);
    });
  }
  op.View(0, result, keep ? rows.Kept() : rows.out);
  return {};
}

// The language finds the first of equal extrema; the last one is the first from behind.
template <Combiner kCombiner>
Result<void> ArgReduce(OpContext& op) {
  const bool keep = op.Int("keepdims", 1) != 0, last = op.Int("select_last_index", 0) != 0;
  if (op.InShape(0).empty()) return Unsupported("a scalar");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", 0), op.InShape(0).size()));
  const auto reduced = static_cast<std::size_t>(axis);
  const Rows rows = MakeRows(op, op.In(0), {axis});
  const DataType type = op.InValue(0).type;
  const int result = op.Temp("rows", DataType::kI64, rows.out);
  const int found = last ? op.Temp("from_behind", DataType::kI64, rows.out) : result;
  EmitReduction(op, rows, found, kCombiner, type, [&](Exprs at, const Exprs&) {
    if (last) at[reduced] = IntExpr(rows.in[reduced] - 1) - at[reduced];
    return LoadExpr(op.In(0), std::move(at), type);
  });
  if (last)
    EmitRows(op, rows, result,
             [&](const Exprs& at) { return IntExpr(rows.size - 1) - op.Load(found, at); });
  op.View(0, result, keep ? rows.Kept() : rows.out);
  return {};
}

// 1 at the first maximum of each row, else 0. A row of several axes is one of their product.
Result<void> Hardmax(OpContext& op) {
  KINDRED_TRY(const Rows whole, SoftmaxRows(op));
  const DataType type = op.InValue(0).type;
  const bool flat = whole.axes.size() > 1;
  const int x = flat ? op.ViewOf(op.In(0), {ElementCount(whole.out), whole.size}) : op.In(0);
  const Rows rows = flat ? MakeRows(op, x, {1}) : whole;
  const auto reduced = static_cast<std::size_t>(rows.axes[0]);
  const int place = op.Temp("place", DataType::kI64, rows.out);
  EmitReduction(op, rows, place, Combiner::kArgMax, type,
                [&](const Exprs& at, const Exprs&) { return LoadExpr(x, at, type); });
  const int marks = flat ? op.Temp("marks", type, rows.in) : op.Out(0, type, rows.in);
  EmitElements(op, rows, marks, [&](const Exprs& at, const Exprs& row) {
    return SelectExpr(BinaryExpr(Op::kEqual, op.Load(place, row), at[reduced]), Literal(1, type),
                      Literal(0, type));
  });
  if (flat) op.View(0, marks, op.InShape(0));
  return {};
}

// The largest (or smallest) element and its place; more than one would have to be sorted.
Result<void> TopOne(OpContext& op) {
  const bool largest = op.Int("largest", 1) != 0;
  op.Ignore("sorted");
  std::int64_t count = op.Int("k", 1);
  if (op.Has(1)) {
    KINDRED_TRY(const auto counts, op.KnownInts(1, "k"));
    count = counts.empty() ? 0 : counts[0];
  }
  if (count != 1 || op.InShape(0).empty())
    return Unsupported(
        "more than one element: they would have to be sorted, which the workload "
        "language cannot express");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -1), op.InShape(0).size()));
  const Rows rows = MakeRows(op, op.In(0), {axis});
  const DataType type = op.InValue(0).type;
  const auto body = [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); };
  for (int i = 0; i < 2; ++i) {
    if (!op.Wants(i)) continue;
    op.NewUnit();
    const int result =
        op.Temp(i == 0 ? "value" : "place", i == 0 ? type : DataType::kI64, rows.out);
    const Combiner combiner = i == 0 ? (largest ? Combiner::kMax : Combiner::kMin)
                                     : (largest ? Combiner::kArgMax : Combiner::kArgMin);
    EmitReduction(op, rows, result, combiner, type, body);
    op.View(i, result, rows.Kept());
  }
  return {};
}

}  // namespace

void AddReductionOps(LoweringTable& table) {
  table["ReduceSum"] = Reduce<Combiner::kSum, Before::kNothing, After::kNothing>;
  table["ReduceMean"] = Reduce<Combiner::kSum, Before::kNothing, After::kMean>;
  table["ReduceMax"] = Reduce<Combiner::kMax, Before::kNothing, After::kNothing>;
  table["ReduceMin"] = Reduce<Combiner::kMin, Before::kNothing, After::kNothing>;
  table["ReduceProd"] = Reduce<Combiner::kProd, Before::kNothing, After::kNothing>;
  table["ReduceL1"] = Reduce<Combiner::kSum, Before::kAbs, After::kNothing>;
  table["ReduceL2"] = Reduce<Combiner::kSum, Before::kSquare, After::kSqrt>;
  table["ReduceSumSquare"] = Reduce<Combiner::kSum, Before::kSquare, After::kNothing>;
  table["ReduceLogSum"] = Reduce<Combiner::kSum, Before::kNothing, After::kLog>;
  table["ReduceLogSumExp"] = ReduceLogSumExp;
  table["Softmax"] = Softmax;
  table["LogSoftmax"] = LogSoftmax;
  table["ArgMax"] = ArgReduce<Combiner::kArgMax>;
  table["ArgMin"] = ArgReduce<Combiner::kArgMin>;
  table["Hardmax"] = Hardmax;
  table["TopK"] = TopOne;
}

}  // namespace kindred
