// Gather and its relatives.
//
// Indices may be negative (they count from the end). Known ones are made plain here; others are
// wrapped where they are used, and the unit records their range, which test data then keep to.
#include <algorithm>
#include <optional>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

// start + step * place for every element of the constant, if it is so.
std::optional<std::pair<std::int64_t, std::int64_t>> Progression(
    const std::vector<std::int64_t>& values) {
  if (values.empty()) return std::nullopt;
  const std::int64_t step = values.size() > 1 ? values[1] - values[0] : 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] - values[i - 1] != step) return std::nullopt;
  return std::pair(values[0], step);
}

// places[i] = i / factor for every i: the factor, if it is so.
std::optional<std::int64_t> RunLength(const std::vector<std::int64_t>& places) {
  const auto change = std::find_if(places.begin(), places.end(), [](auto x) { return x != 0; });
  const std::int64_t factor = change - places.begin();
  for (std::size_t i = 0; i < places.size(); ++i)
    if (factor < 1 || places[i] != static_cast<std::int64_t>(i) / factor) return std::nullopt;
  return factor;
}

}  // namespace

int KnownIndices(OpContext& op, const std::string& name, const Shape& shape,
                 const std::vector<std::int64_t>& values) {
  const int id = op.Temp(name, DataType::kI64, shape);
  GraphValue& value = op.graph.values[static_cast<std::size_t>(id)];
  value.kind = ValueKind::kKnown;
  value.constant = IntegerConstant(DataType::kI64, shape, values);
  return id;
}

ExprPtr PlaceIn(OpContext& op, const std::string& name, const std::vector<std::int64_t>& places,
                const ExprPtr& at) {
  if (const auto progression = Progression(places))
    return at * progression->second + progression->first;
  if (const auto factor = RunLength(places)) return at / IntExpr(*factor);
  const Shape shape = {static_cast<std::int64_t>(places.size())};
  return LoadExpr(KnownIndices(op, name, shape, places), {at}, DataType::kI64);
}

namespace {

// The value of `indices` at `at` as an index into an extent.
ExprPtr WrappedIndex(OpContext& op, int indices, const Exprs& at, std::int64_t extent) {
  const ExprPtr raw =
      LoadExpr(indices, at, op.graph.values[static_cast<std::size_t>(indices)].type);
  const ExprPtr index = CastExpr(DataType::kI64, raw);
  if (op.opset() < 11) {
    op.UseAsIndex(indices, 0, extent);
    return index;
  }
  op.UseAsIndex(indices, -extent, extent);
  return SelectExpr(BinaryExpr(Op::kLess, index, IntExpr(0)), index + extent, index);
}

Result<void> Gather(OpContext& op) {
  const Shape in = op.InShape(0), at = op.InShape(1);
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", 0), in.size()));
  const auto d = static_cast<std::size_t>(axis);
  Shape shape(in.begin(), in.begin() + axis);
  shape.insert(shape.end(), at.begin(), at.end());
  shape.insert(shape.end(), in.begin() + axis + 1, in.end());
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  const Exprs axes = AxesOf(stage);
  const Exprs place(axes.begin() + axis,
                    axes.begin() + axis + static_cast<std::ptrdiff_t>(at.size()));
  ExprPtr index;
  if (const ConstantPtr known = op.Peek(1)) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < known->elements(); ++i) {
      values.push_back(known->Integer(i) < 0 ? known->Integer(i) + in[d] : known->Integer(i));
      if (values.back() < 0 || values.back() >= in[d])
        return BadInput(op.model.path + ": " + op.node.Label() + " reads element " +
                        std::to_string(known->Integer(i)) + " of an axis of extent " +
                        std::to_string(in[d]));
    }
    if (const auto progression = Progression(values)) {
      ExprPtr flat = IntExpr(0);
      for (std::size_t i = 0; i < at.size(); ++i) flat = flat * at[i] + place[i];
      index = flat * progression->second + progression->first;
    } else {
      index = LoadExpr(KnownIndices(op, "indices", at, values), place, DataType::kI64);
    }
  } else {
    index = WrappedIndex(op, op.In(1), place, in[d]);
  }
  Exprs from(axes.begin(), axes.begin() + axis);
  from.push_back(index);
  from.insert(from.end(), axes.begin() + axis + static_cast<std::ptrdiff_t>(at.size()), axes.end());
  stage.body = op.Load(op.In(0), std::move(from));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

Result<void> GatherElements(OpContext& op) {
  const Shape in = op.InShape(0), shape = op.InShape(1);
  if (in.size() != shape.size()) return Unsupported("indices of another rank");
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, op.Int("axis", 0), in.size()));
  const auto d = static_cast<std::size_t>(axis);
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  Exprs from = AxesOf(stage);
  from[d] = WrappedIndex(op, op.In(1), from, in[d]);
  stage.body = op.Load(op.In(0), std::move(from));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

// The first `batch_dims` dimensions of input and indices go along.
Result<void> GatherNd(OpContext& op) {
  const Shape in = op.InShape(0), at = op.InShape(1);
  const auto batch = static_cast<std::size_t>(op.Int("batch_dims", 0));
  const auto depth = static_cast<std::size_t>(at.empty() ? 0 : at.back());
  if (depth < 1 || batch >= at.size() || batch + depth > in.size())
    return Unsupported("indices of shape " + ShapeText(at));
  Shape shape(at.begin(), at.end() - 1);
  shape.insert(shape.end(), in.begin() + static_cast<std::ptrdiff_t>(batch + depth), in.end());
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  const Exprs axes = AxesOf(stage);
  Exprs from(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(batch));
  for (std::size_t i = 0; i < depth; ++i) {
    Exprs place(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(at.size()) - 1);
    place.push_back(IntExpr(static_cast<std::int64_t>(i)));
    from.push_back(WrappedIndex(op, op.In(1), place, in[batch + i]));
  }
  from.insert(from.end(), axes.begin() + static_cast<std::ptrdiff_t>(at.size()) - 1, axes.end());
  stage.body = op.Load(op.In(0), std::move(from));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

// The elements along an axis (or of the flat tensor) at which a known condition holds.
Result<void> Compress(OpContext& op) {
  if (!op.Peek(1)) return Unsupported("the shape of its result depends on the data");
  KINDRED_TRY(const auto condition, op.KnownInts(1, "condition"));
  Shape in = op.InShape(0);
  int x = op.In(0);
  std::size_t axis = 0;
  if (op.node.attributes.contains("axis")) {
    KINDRED_TRY(const std::int64_t given, NormaliseAxis(op, op.Int("axis", 0), in.size()));
    axis = static_cast<std::size_t>(given);
  } else {
    in = {ElementCount(in)};
    x = op.ViewOf(x, in);
  }
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i] != 0 && static_cast<std::int64_t>(i) < in[axis])
      places.push_back(static_cast<std::int64_t>(i));
  Shape shape = in;
  shape[axis] = static_cast<std::int64_t>(places.size());
  EmitGather(op, op.Out(0, op.InValue(0).type, shape), x, shape, [&](Exprs at) {
    at[axis] = PlaceIn(op, "indices", places, at[axis]);
    return at;
  });
  return {};
}

}  // namespace

void AddGatherOps(LoweringTable& table) {
  table["Gather"] = Gather;
  table["GatherElements"] = GatherElements;
  table["GatherND"] = GatherNd;
  table["Compress"] = Compress;
}

}  // namespace kindred
