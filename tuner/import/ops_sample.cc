// GridSample and AffineGrid.
#include <algorithm>

#include "tuner/import/interpolate.h"
#include "tuner/import/ops.h"

namespace kindred {
namespace {

// `place` mirrored at `low` and `high` as often as it takes to lie between them.
ExprPtr Mirrored(const ExprPtr& place, double low, double high) {
  const double span = high - low;
  if (span <= 0) return Real(0, place);
  const ExprPtr from = UnaryExpr(Op::kAbs, place - Real(low, place));
  const ExprPtr turns = UnaryExpr(Op::kFloor, from / Real(span, place));
  const ExprPtr rest = from - turns * Real(span, place);
  const ExprPtr half = turns / Real(2, place);
  const ExprPtr even = BinaryExpr(Op::kEqual, UnaryExpr(Op::kFloor, half), half);
  return SelectExpr(even, rest + Real(low, place), Real(high, place) - rest);
}

enum class Outside { kZero, kBorder, kMirror };

// A dimension of the image that is sampled.
struct Sampled {
  std::int64_t extent = 1;
  bool align = false;
  Outside outside = Outside::kZero;

  // Where a coordinate from -1 to 1 lies, in elements.
  ExprPtr Place(const ExprPtr& x) const {
    const auto size = static_cast<double>(extent);
    return align ? (x + Real(1, x)) * Real((size - 1) / 2, x)
                 : ((x + Real(1, x)) * Real(size, x) - Real(1, x)) * Real(0.5, x);
  }
  // The whole `place` brought inside, but where outside is zero.
  ExprPtr Bring(const ExprPtr& place) const {
    const auto last = static_cast<double>(extent - 1);
    if (outside == Outside::kZero) return place;
    if (outside == Outside::kBorder) return Between(place, 0, last);
    const double edge = align ? 0 : 0.5;
    return Between(Mirrored(place, -edge, last + edge), 0, last);
  }
};

Result<void> GridSample(OpContext& op) {
  const std::string mode = op.Text("mode", op.opset() < 20 ? "bilinear" : "linear");
  const std::string padding = op.Text("padding_mode", "zeros");
  const bool align = op.Int("align_corners", 0) != 0;
  const Shape in = op.InShape(0), grid = op.InShape(1);
  const std::size_t rank = in.size() < 2 ? 0 : in.size() - 2;
  if (rank < 1 || grid.size() != in.size() || grid.back() != static_cast<std::int64_t>(rank) ||
      grid[0] != in[0])
    return Unsupported("a grid of shape " + ShapeText(grid) + " for " + ShapeText(in));
  if (std::any_of(in.begin(), in.end(), [](auto extent) { return extent < 1; }))
    return Unsupported("an image without elements");
  const bool cubic = mode == "bicubic" || mode == "cubic";
  if (!cubic && mode != "bilinear" && mode != "linear" && mode != "nearest")
    return Unsupported("mode '" + mode + "'");
  if (cubic && rank > 2) return Unsupported("cubic interpolation of volumes");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return Unsupported("padding_mode '" + padding + "'");
  const DataType type = op.InValue(0).type;
  if (!IsFloat(type) || !IsFloat(op.InValue(1).type)) return Unsupported("integers");
  const Outside outside = padding == "zeros"    ? Outside::kZero
                          : padding == "border" ? Outside::kBorder
                                                : Outside::kMirror;
  Shape shape = {in[0], in[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  const Shape places = {grid[0], ElementCount(Shape(grid.begin() + 1, grid.end() - 1))};
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  const Exprs axes = AxesOf(stage);
  std::vector<std::vector<Tap>> taps;
  const std::vector<std::int64_t> extents(in.begin() + 2, in.end());
  for (std::size_t d = 0; d < rank; ++d) {
    const Sampled along{extents[d], align, outside};
    Exprs at = {axes[0]};
    at.insert(at.end(), axes.begin() + 2, axes.end());
    at.push_back(IntExpr(static_cast<std::int64_t>(rank - 1 - d)));  // x before y before z
    const ExprPtr given = op.Load(op.In(1), std::move(at));
    const ExprPtr place = along.Place(CastExpr(DefaultAccumulator(given->type), given));
    std::vector<Tap> here = cubic               ? CubicTaps(place)
                            : mode == "nearest" ? NearestTap(place)
                                                : LinearTaps(place);
    for (Tap& tap : here) tap.place = along.Bring(tap.place);
    taps.push_back(std::move(here));
  }
  stage.body = Interpolate(op, op.In(0), {axes[0], axes[1]}, taps, extents);
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

// Coordinates from -1 to 1 of every element of an image, mapped by a matrix per batch.
Result<void> AffineGrid(OpContext& op) {
  const bool align = op.Int("align_corners", 0) != 0;
  KINDRED_TRY(const Shape size, op.KnownInts(1, "size"));
  const Shape maps = op.InShape(0);
  const std::size_t rank = size.size() < 4 ? 0 : size.size() - 2;
  const auto last = static_cast<std::int64_t>(rank);
  if (rank < 2 || rank > 3 || maps != Shape{size[0], last, last + 1})
    return Unsupported("maps of shape " + ShapeText(maps) + " for " + ShapeText(size));
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(last);
  if (!PossibleShape(shape) || ElementCount(shape) < 1)
    return Unsupported("a grid of shape " + ShapeText(shape));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  const Exprs axes = AxesOf(stage);
  const auto entry = [&](std::int64_t column) {
    return op.Load(op.In(0), {axes[0], axes.back(), IntExpr(column)});
  };
  ExprPtr sum = entry(last);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::size_t spatial = rank - 1 - d;  // x before y before z
    const auto extent = static_cast<double>(shape[1 + spatial]);
    const ExprPtr i = CastExpr(wide, axes[1 + spatial]);
    const ExprPtr at = align
                           ? (extent > 1 ? i * Real(2 / (extent - 1), i) - Real(1, i) : Real(-1, i))
                           : (i * Real(2, i) + Real(1, i)) / Real(extent, i) - Real(1, i);
    sum = sum + entry(static_cast<std::int64_t>(d)) * at;
  }
  stage.body = std::move(sum);
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddSampleOps(LoweringTable& table) {
  table["AffineGrid"] = AffineGrid;
  table["GridSample"] = GridSample;
}

}  // namespace kindred
