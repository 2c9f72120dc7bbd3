// Reductions over axes, Softmax, ArgMax.
#include <algorithm>
#include <numeric>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

// Input 0 with some of its axes reduced.
struct Rows {
  Shape in, out;                   // `out` without the reduced axes
  std::vector<std::int64_t> axes;  // reduced, ascending
  std::int64_t size = 1;           // elements per row
  bool Reduced(std::size_t d) const {
    return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
  }
};

Rows MakeRows(Shape in, std::vector<std::int64_t> axes) {
  Rows rows{std::move(in), {}, std::move(axes), 1};
  for (std::size_t d = 0; d < rows.in.size(); ++d) {
    if (rows.Reduced(d)) {
      rows.size *= rows.in[d];
    } else {
      rows.out.push_back(rows.in[d]);
    }
  }
  return rows;
}

const std::string kLetters = "ijklmnpqtuvw";

std::string Letters(const Rows& rows, bool reduced) {
  std::string names;
  for (std::size_t d = 0; d < rows.in.size(); ++d)
    if (rows.Reduced(d) == reduced) names += kLetters[d % kLetters.size()];
  return names;
}

// tensor[outer] = combine over the reduced axes of body(element index, outer index).
using RowBody = std::function<ExprPtr(const Exprs& element, const Exprs& row)>;

void EmitReduction(OpContext& op, const Rows& rows, int tensor, Combiner combiner,
                   DataType accumulator, const RowBody& body) {
  Stage stage = MakeStage(tensor, rows.out, Letters(rows, false));
  const std::string names = Letters(rows, true);
  for (std::size_t i = 0; i < rows.axes.size(); ++i)
    AddReductionAxis(stage, std::string(1, names[i]),
                     rows.in[static_cast<std::size_t>(rows.axes[i])]);
  const Exprs axes = AxesOf(stage);
  Exprs element;
  std::size_t outer = 0, inner = rows.out.size();
  for (std::size_t d = 0; d < rows.in.size(); ++d)
    element.push_back(axes[rows.Reduced(d) ? inner++ : outer++]);
  stage.body = body(
      element, Exprs(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rows.out.size())));
  SetReduction(stage, combiner, accumulator);
  op.kind = UnitKind::kRow;
  op.Emit(std::move(stage));
}

// tensor[element] = body, over all elements; `row` is the element's row.
void EmitElements(OpContext& op, const Rows& rows, int tensor, const RowBody& body) {
  Stage stage = MakeStage(tensor, rows.in);
  const Exprs axes = AxesOf(stage);
  Exprs row;
  for (std::size_t d = 0; d < rows.in.size(); ++d)
    if (!rows.Reduced(d)) row.push_back(axes[d]);
  stage.body = body(axes, row);
  op.Emit(std::move(stage));
}

void EmitRows(OpContext& op, const Rows& rows, int tensor,
              const std::function<ExprPtr(const Exprs&)>& body) {
  Stage stage = MakeStage(tensor, rows.out, Letters(rows, false));
  stage.body = body(AxesOf(stage));
  op.Emit(std::move(stage));
}

// Attribute up to operator set 12 (ReduceSum) or 17, input since. nullopt: nothing is reduced.
Result<std::optional<Rows>> ReadRows(OpContext& op) {
  const Shape shape = op.InShape(0);
  std::vector<std::int64_t> axes = op.Ints("axes").value_or(Shape());
  if (op.Has(1)) {
    KINDRED_TRY(axes, op.KnownInts(1, "axes"));
  }
  const bool keep_all = op.Int("noop_with_empty_axes", 0) != 0;
  if (axes.empty() && keep_all) return std::optional<Rows>();
  if (axes.empty()) {
    axes.resize(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  KINDRED_TRY(axes, NormaliseAxes(op, axes, shape.size()));
  return std::optional<Rows>(MakeRows(shape, axes));
}

enum class Before { kNothing, kAbs, kSquare };
enum class After { kNothing, kMean, kSqrt, kLog };

template <Combiner kCombiner, Before kBefore, After kAfter>
Result<void> Reduce(OpContext& op) {
  const bool keep = op.Int("keepdims", 1) != 0;
  KINDRED_TRY(const auto found, ReadRows(op));
  const DataType type = op.InValue(0).type;
  if (!found || found->axes.empty()) {
    if (kBefore != Before::kNothing || kAfter == After::kLog)
      return Unsupported("a reduction over no axis");
    op.View(0, op.In(0), op.InShape(0));
    return {};
  }
  const Rows& rows = *found;
  if (kAfter != After::kNothing && !IsFloat(type))
    return Unsupported("a mean, root or logarithm of integers");
  Shape kept = rows.in;
  for (const std::int64_t axis : rows.axes) kept[static_cast<std::size_t>(axis)] = 1;
  const bool extremum = kCombiner == Combiner::kMax || kCombiner == Combiner::kMin;
  const DataType wide = extremum ? type : DefaultAccumulator(type);
  const int result = op.Temp("rows", type, rows.out);
  const int sum = kAfter == After::kNothing ? result : op.Temp("sum", wide, rows.out);
  EmitReduction(op, rows, sum, kCombiner, wide, [&](const Exprs& at, const Exprs&) {
    const ExprPtr x = LoadExpr(op.In(0), at, type);
    if (kBefore == Before::kAbs) return UnaryExpr(Op::kAbs, x);
    return kBefore == Before::kSquare ? x * x : x;
  });
  if (kAfter != After::kNothing)
    EmitRows(op, rows, result, [&](const Exprs& at) {
      const ExprPtr x = op.Load(sum, at);
      if (kAfter == After::kMean) return x / Literal(static_cast<double>(rows.size), x->type);
      return UnaryExpr(kAfter == After::kSqrt ? Op::kSqrt : Op::kLog, x);
    });
  op.View(0, result, keep ? kept : rows.out);
  return {};
}

// max, then the sum of exp(x - max) per row; returns the two values.
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
  KINDRED_TRY(const std::int64_t axis,
              NormaliseAxis(op, op.Int("axis", op.opset() < 13 ? 1 : -1), shape.size()));
  std::vector<std::int64_t> axes = {axis};
  for (std::int64_t d = axis + 1; op.opset() < 13 && d < static_cast<std::int64_t>(shape.size());
       ++d)
    axes.push_back(d);
  return MakeRows(shape, axes);
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
  KINDRED_TRY(const auto found, ReadRows(op));
  if (!found || found->axes.empty()) return Unsupported("a reduction over no axis");
  const DataType type = op.InValue(0).type;
  const auto [top, sum] = EmitExpSum(op, *found, -1);
  const int result = op.Temp("rows", type, found->out);
  EmitRows(op, *found, result, [&, top_id = top, sum_id = sum](const Exprs& at) {
    return UnaryExpr(Op::kLog, op.Load(sum_id, at)) + op.Load(top_id, at);
  });
  Shape kept = found->in;
  for (const std::int64_t axis : found->axes) kept[static_cast<std::size_t>(axis)] = 1;
  op.View(0, result, keep ? kept : found->out);
  return {};
}

template <Combiner kCombiner>
Result<void> ArgReduce(OpContext& op) {
  const bool keep = op.Int("keepdims", 1) != 0;
  if (op.Int("select_last_index", 0) != 0)
    return Unsupported("the last of equal maxima (select_last_index)");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", 0), op.InShape(0).size()));
  const Rows rows = MakeRows(op.InShape(0), {axis});
  const DataType type = op.InValue(0).type;
  const int result = op.Temp("rows", DataType::kI64, rows.out);
  EmitReduction(op, rows, result, kCombiner, type,
                [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
  Shape kept = rows.in;
  kept[static_cast<std::size_t>(axis)] = 1;
  op.View(0, result, keep ? kept : rows.out);
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
}

}  // namespace kindred
