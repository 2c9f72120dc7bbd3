// Scatters, turned around: the language reads at places, it does not write at them. Every element
// of the result looks for the update that falls on it.
//
// Where the indices are known, a table says for each place which update that is. Where they are
// not, it is found by going through the candidates, which is sensible for few of them only.
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

constexpr std::int64_t kMostCandidates = 64;

Result<Combiner> ReadReduction(OpContext& op) {
  const std::string reduction = op.Text("reduction", "none");
  if (reduction == "none") return Combiner::kNone;
  if (reduction == "add") return Combiner::kSum;
  if (reduction == "mul") return Combiner::kProd;
  if (reduction == "max") return Combiner::kMax;
  if (reduction == "min") return Combiner::kMin;
  return Unsupported("the reduction '" + reduction + "'");
}

ExprPtr Combined(Combiner combiner, const ExprPtr& x, const ExprPtr& update) {
  switch (combiner) {
    case Combiner::kSum: return x + update;
    case Combiner::kProd: return x * update;
    case Combiner::kMax: return BinaryExpr(Op::kMax, x, update);
    case Combiner::kMin: return BinaryExpr(Op::kMin, x, update);
    default: return update;
  }
}

// Index `at` may count from the end.
ExprPtr FromEnd(const ExprPtr& at, std::int64_t extent) {
  return SelectExpr(BinaryExpr(Op::kLess, at, IntExpr(0)), at + extent, at);
}

// A scatter in its general form. For every place - a point of `places`, the first dimensions of the
// result - candidates 0 to `candidates` may fall on it.
struct Scatter {
  Shape places;
  std::int64_t candidates = 0;
  // Whether a candidate falls on a place.
  std::function<ExprPtr(const Exprs& place, const ExprPtr& candidate)> hits;
  // The update that a candidate brings, for an element of the result.
  std::function<ExprPtr(const Exprs& element, const ExprPtr& candidate)> update;
  // By place, row-major: the candidate that falls on it, or -1. Absent: not known.
  std::optional<std::vector<std::int64_t>> known;
  bool repeats = false;  // some place is known to be hit more than once
};

// place -> the last candidate that falls on it, or -1.
int EmitFinder(OpContext& op, const Scatter& scatter) {
  const int found = op.Temp("update", DataType::kI64, scatter.places);
  if (scatter.known) {
    GraphValue& table = op.graph.values[static_cast<std::size_t>(found)];
    table.kind = ValueKind::kKnown;
    table.constant = IntegerConstant(DataType::kI64, scatter.places, *scatter.known);
    return found;
  }
  Stage stage = MakeStage(found, scatter.places);
  AddReductionAxis(stage, "r", scatter.candidates);
  Exprs place = AxesOf(stage);
  const ExprPtr candidate = place.back();
  place.pop_back();
  stage.body = SelectExpr(scatter.hits(place, candidate), candidate, IntExpr(-1));
  SetReduction(stage, Combiner::kMax, DataType::kI64);
  op.kind = UnitKind::kRow;
  op.Emit(std::move(stage));
  op.NewUnit();
  return found;
}

Result<void> Emit(OpContext& op, const Scatter& scatter, Combiner combiner) {
  const Shape shape = op.InShape(0);
  const DataType type = op.InValue(0).type;
  if (!scatter.known && scatter.candidates > kMostCandidates)
    return Unsupported(fmt::format(
        "{} updates at places that are known when it runs only: the workload language reads, it "
        "does not scatter",
        scatter.candidates));
  if (combiner == Combiner::kNone || (scatter.known && !scatter.repeats)) {
    const int found = EmitFinder(op, scatter);
    Stage stage = MakeStage(op.Out(0, type, shape), shape);
    const Exprs axes = AxesOf(stage);
    const ExprPtr candidate = op.Load(
        found,
        Exprs(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(scatter.places.size())));
    const ExprPtr x = op.Load(op.In(0), axes);
    const ExprPtr inside = BinaryExpr(Op::kMin, BinaryExpr(Op::kMax, candidate, IntExpr(0)),
                                      IntExpr(std::max<std::int64_t>(scatter.candidates, 1) - 1));
    stage.body = SelectExpr(BinaryExpr(Op::kLess, candidate, IntExpr(0)), x,
                            Combined(combiner, x, scatter.update(axes, inside)));
    op.kind = UnitKind::kMovement;
    op.Emit(std::move(stage));
    return {};
  }
  if (scatter.candidates > kMostCandidates)
    return Unsupported(fmt::format("{} updates, several of one element", scatter.candidates));
  // All candidates of an element together, then with what was there.
  const DataType wide =
      combiner == Combiner::kSum || combiner == Combiner::kProd ? DefaultAccumulator(type) : type;
  const int all = op.Temp("updates", wide, shape);
  Stage stage = MakeStage(all, shape);
  AddReductionAxis(stage, "r", scatter.candidates);
  Exprs axes = AxesOf(stage);
  const ExprPtr candidate = axes.back();
  axes.pop_back();
  const Exprs place(axes.begin(),
                    axes.begin() + static_cast<std::ptrdiff_t>(scatter.places.size()));
  const ExprPtr x = op.Load(op.In(0), axes);
  ExprPtr nothing = x;  // of a maximum with what was there
  if (combiner == Combiner::kSum) nothing = Literal(0, type);
  if (combiner == Combiner::kProd) nothing = Literal(1, type);
  stage.body = SelectExpr(scatter.hits(place, candidate), scatter.update(axes, candidate), nothing);
  SetReduction(stage, combiner, wide);
  op.kind = UnitKind::kRow;
  op.Emit(std::move(stage));
  Stage finish = MakeStage(op.Out(0, type, shape), shape);
  const Exprs at = AxesOf(finish);
  finish.body = Combined(combiner, op.Load(op.In(0), at), op.Load(all, at));
  op.Emit(std::move(finish));
  return {};
}

// The table of a known scatter; `place_of` gives the flat place of a candidate, -1 where it leaves
// the result. nullopt: too large for a table.
void Tabulate(Scatter& scatter, std::int64_t candidates,
              const std::function<std::int64_t(std::int64_t)>& place_of,
              const std::function<std::int64_t(std::int64_t)>& candidate_at) {
  if (ElementCount(scatter.places) > kLargestConstant) return;
  std::vector<std::int64_t> table(static_cast<std::size_t>(ElementCount(scatter.places)), -1);
  for (std::int64_t i = 0; i < candidates; ++i) {
    const std::int64_t place = place_of(i);
    if (place < 0) return;
    std::int64_t& found = table[static_cast<std::size_t>(place)];
    scatter.repeats |= found >= 0;
    found = candidate_at(i);
  }
  scatter.known = std::move(table);
}

Error Outside(const OpContext& op, std::int64_t index, std::int64_t extent) {
  return BadInput(fmt::format("{}: {} writes element {} of an axis of extent {}", op.model.path,
                              op.node.Label(), index, extent));
}

// Indices [..., k] name the first k dimensions; updates [..., the rest].
Result<void> ScatterNd(OpContext& op) {
  KINDRED_TRY(const Combiner combiner, ReadReduction(op));
  const Shape shape = op.InShape(0), at = op.InShape(1);
  const auto depth = static_cast<std::size_t>(at.empty() ? 0 : at.back());
  if (depth < 1 || depth > shape.size()) return Unsupported("indices of shape " + ShapeText(at));
  Shape updates(at.begin(), at.end() - 1);
  const std::int64_t count = ElementCount(updates);
  updates.insert(updates.end(), shape.begin() + static_cast<std::ptrdiff_t>(depth), shape.end());
  KINDRED_CHECK(CheckShape(op, 2, updates));
  if (count == 0) {
    op.View(0, op.In(0), shape);
    return {};
  }
  Shape flat = {count};
  flat.insert(flat.end(), shape.begin() + static_cast<std::ptrdiff_t>(depth), shape.end());
  const ConstantPtr indices = op.Peek(1);
  const int list = op.ViewOf(op.In(1), {count, static_cast<std::int64_t>(depth)});
  const int values = op.ViewOf(op.In(2), flat);
  Scatter scatter;
  scatter.places = Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(depth));
  scatter.candidates = count;
  scatter.hits = [&](const Exprs& place, const ExprPtr& candidate) {
    ExprPtr hit;
    for (std::size_t d = 0; d < depth; ++d) {
      const ExprPtr index =
          FromEnd(op.Load(list, {candidate, IntExpr(static_cast<std::int64_t>(d))}), shape[d]);
      const ExprPtr equal = BinaryExpr(Op::kEqual, index, place[d]);
      hit = hit ? BinaryExpr(Op::kAnd, hit, equal) : equal;
    }
    return hit;
  };
  scatter.update = [&](const Exprs& element, const ExprPtr& candidate) {
    Exprs from = {candidate};
    from.insert(from.end(), element.begin() + static_cast<std::ptrdiff_t>(depth), element.end());
    return op.Load(values, std::move(from));
  };
  if (indices) {
    for (std::int64_t i = 0; i < count * static_cast<std::int64_t>(depth); ++i) {
      const std::int64_t extent = shape[static_cast<std::size_t>(i) % depth];
      if (indices->Integer(i) < -extent || indices->Integer(i) >= extent)
        return Outside(op, indices->Integer(i), extent);
    }
    const auto place_of = [&](std::int64_t i) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < depth; ++d) {
        const std::int64_t index =
            indices->Integer(i * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(d));
        place = place * shape[d] + (index < 0 ? index + shape[d] : index);
      }
      return place;
    };
    Tabulate(scatter, count, place_of, [](std::int64_t i) { return i; });
  }
  return Emit(op, scatter, combiner);
}

// result[..., indices[i], ...] = updates[i], i along `axis`.
Result<void> ScatterElements(OpContext& op) {
  KINDRED_TRY(const Combiner combiner, ReadReduction(op));
  const Shape shape = op.InShape(0), at = op.InShape(1);
  if (shape.empty() || at.size() != shape.size())
    return Unsupported("indices of shape " + ShapeText(at));
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", 0), shape.size()));
  const auto along = static_cast<std::size_t>(axis);
  KINDRED_CHECK(CheckShape(op, 2, at));
  if (ElementCount(at) == 0) {
    op.View(0, op.In(0), shape);
    return {};
  }
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != along && at[d] > shape[d]) return Unsupported("indices of shape " + ShapeText(at));
  const auto place_in_updates = [&](const Exprs& element, const ExprPtr& candidate) {
    Exprs from = element;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (at[d] < shape[d]) from[d] = BinaryExpr(Op::kMin, element[d], IntExpr(at[d] - 1));
    from[along] = candidate;
    return from;
  };
  Scatter scatter;
  scatter.places = shape;
  scatter.candidates = at[along];
  scatter.hits = [&](const Exprs& place, const ExprPtr& candidate) {
    const ExprPtr index =
        CastExpr(DataType::kI64, op.Load(op.In(1), place_in_updates(place, candidate)));
    ExprPtr hit = BinaryExpr(Op::kEqual, FromEnd(index, shape[along]), place[along]);
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != along && at[d] < shape[d])
        hit = BinaryExpr(Op::kAnd, hit, BinaryExpr(Op::kLess, place[d], IntExpr(at[d])));
    return hit;
  };
  scatter.update = [&](const Exprs& element, const ExprPtr& candidate) {
    return op.Load(op.In(2), place_in_updates(element, candidate));
  };
  if (const ConstantPtr indices = op.Peek(1)) {
    for (std::int64_t i = 0; i < indices->elements(); ++i)
      if (indices->Integer(i) < -shape[along] || indices->Integer(i) >= shape[along])
        return Outside(op, indices->Integer(i), shape[along]);
    const std::int64_t inner = ElementCount(Shape(at.begin() + axis + 1, at.end()));
    const auto candidate_at = [&](std::int64_t i) { return i / inner % at[along]; };
    const auto place_of = [&](std::int64_t i) {
      std::int64_t place = 0, stride = 1, left = i;
      for (std::size_t d = shape.size(); d-- > 0;) {
        std::int64_t index = left % at[d];
        left /= at[d];
        if (d == along) {
          index = indices->Integer(i);
          if (index < 0) index += shape[d];
        }
        place += index * stride;
        stride *= shape[d];
      }
      return place;
    };
    Tabulate(scatter, indices->elements(), place_of, candidate_at);
  }
  return Emit(op, scatter, combiner);
}

// A key-value cache gets new entries from a position on, one position per sample.
Result<void> TensorScatter(OpContext& op) {
  const std::string mode = op.Text("mode", "linear");
  const Shape shape = op.InShape(0), update = op.InShape(1);
  if (shape.size() < 2 || update.size() != shape.size())
    return Unsupported("an update of shape " + ShapeText(update));
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", -2), shape.size()));
  const auto along = static_cast<std::size_t>(axis);
  Shape expected = shape;
  expected[along] = update[along];
  KINDRED_CHECK(CheckShape(op, 1, expected));
  if (along == 0 || update[along] < 1 || update[along] > shape[along] ||
      (mode != "linear" && mode != "circular"))
    return Unsupported(fmt::format("mode '{}' along axis {}", mode, axis));
  KINDRED_CHECK(CheckShape(op, 2, {shape[0]}));
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  const Exprs axes = AxesOf(stage);
  ExprPtr place = axes[along];
  if (op.Has(2)) {
    place = place - CastExpr(DataType::kI64, op.Load(op.In(2), {axes[0]}));
    op.UseAsIndex(op.In(2), 0, shape[along] - (mode == "linear" ? update[along] : 0) + 1);
  }
  if (mode == "circular") place = place % IntExpr(shape[along]);
  Exprs from = axes;
  from[along] =
      BinaryExpr(Op::kMax, IntExpr(0), BinaryExpr(Op::kMin, place, IntExpr(update[along] - 1)));
  const ExprPtr inside = BinaryExpr(Op::kAnd, BinaryExpr(Op::kLessEqual, IntExpr(0), place),
                                    BinaryExpr(Op::kLess, place, IntExpr(update[along])));
  stage.body = SelectExpr(inside, op.Load(op.In(1), std::move(from)), op.Load(op.In(0), axes));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddScatterOps(LoweringTable& table) {
  table["ScatterND"] = ScatterNd;
  table["ScatterElements"] = ScatterElements;
  table["Scatter"] = ScatterElements;
  table["TensorScatter"] = TensorScatter;
}

}  // namespace kindred
