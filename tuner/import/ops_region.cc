// Windows over an image at places of their own: RoiAlign, DeformConv; and Col2Im, which adds
// windows up to an image.
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/interpolate.h"
#include "tuner/import/ops.h"

namespace kindred {
namespace {

// A sample up to one element outside reads the border; further away it counts as zero.
struct Sample {
  std::vector<Tap> taps;
  ExprPtr inside;
};

Sample SampleAt(const ExprPtr& place, std::int64_t extent) {
  const auto size = static_cast<double>(extent);
  const ExprPtr inside = BinaryExpr(Op::kAnd, BinaryExpr(Op::kLessEqual, Real(-1, place), place),
                                    BinaryExpr(Op::kLessEqual, place, Real(size, place)));
  std::vector<Tap> taps = LinearTaps(Between(place, 0, size - 1));
  taps[1].place = Between(taps[1].place, 0, size - 1);
  return {std::move(taps), inside};
}

// mode "max" compares the corners' weighted values, not the samples.
Result<void> RoiAlign(OpContext& op) {
  const Shape in = op.InShape(0), boxes = op.InShape(1);
  const std::int64_t height = op.Int("output_height", 1), width = op.Int("output_width", 1);
  const std::int64_t ratio = op.Int("sampling_ratio", 0);
  const double scale = op.Float("spatial_scale", 1);
  const std::string mode = op.Text("mode", "avg");
  const std::string place = op.Text("coordinate_transformation_mode",
                                    op.opset() < 16 ? "output_half_pixel" : "half_pixel");
  const bool half = place == "half_pixel", max = mode == "max";
  if (!half && place != "output_half_pixel")
    return Unsupported("coordinate_transformation_mode '" + place + "'");
  if (!max && mode != "avg") return Unsupported("mode '" + mode + "'");
  if (in.size() != 4 || boxes.size() != 2 || boxes[1] != 4)
    return Unsupported("boxes of shape " + ShapeText(boxes) + " in " + ShapeText(in));
  KINDRED_CHECK(CheckShape(op, 2, {boxes[0]}));
  if (ratio < 1) return Unsupported("as many samples as the size of each box asks for");
  constexpr std::int64_t kMost = 1 << 16;
  if (height < 1 || height > kMost || width < 1 || width > kMost || ratio > kMost ||
      !IsFloat(op.InValue(0).type))
    return Unsupported(fmt::format("a result of {}x{}", height, width));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const Shape shape = {boxes[0], in[1], height, width};
  const int out = op.Out(0, type, shape);
  const int sum = max ? out : op.Temp("sum", wide, shape);
  Stage stage = MakeStage(sum, shape, "rcyx");
  AddReductionAxis(stage, "i", ratio);
  AddReductionAxis(stage, "j", ratio);
  const Exprs axes = AxesOf(stage);
  const auto corner = [&](std::int64_t which) {
    const ExprPtr x = CastExpr(wide, op.Load(op.In(1), {axes[0], IntExpr(which)}));
    return x * Real(scale, x) + Real(half ? -0.5 : 0, x);
  };
  const auto sample = [&](std::int64_t first, std::int64_t bins, const ExprPtr& bin,
                          const ExprPtr& step, std::int64_t extent) {
    const ExprPtr begin = corner(first), end = corner(first + 2);
    const ExprPtr length = half ? end - begin : BinaryExpr(Op::kMax, end - begin, Real(1, begin));
    const ExprPtr size = length / Real(static_cast<double>(bins), length);
    const ExprPtr within =
        (CastExpr(wide, step) + Real(0.5, size)) / Real(static_cast<double>(ratio), size);
    return SampleAt(begin + (CastExpr(wide, bin) + within) * size, extent);
  };
  const Sample y = sample(1, height, axes[2], axes[4], in[2]);
  const Sample x = sample(0, width, axes[3], axes[5], in[3]);
  const ExprPtr batch = CastExpr(DataType::kI64, op.Load(op.In(2), {axes[0]}));
  const Exprs leading = {batch, axes[1]};
  const std::vector<std::int64_t> extents = {in[2], in[3]};
  ExprPtr value;
  if (max) {
    for (const Tap& row : y.taps)
      for (const Tap& column : x.taps) {
        const ExprPtr one = Interpolate(op, op.In(0), leading, {{row}, {column}}, extents);
        value = value ? BinaryExpr(Op::kMax, value, one) : one;
      }
  } else {
    value = Interpolate(op, op.In(0), leading, {y.taps, x.taps}, extents);
  }
  stage.body = SelectExpr(BinaryExpr(Op::kAnd, y.inside, x.inside), value, Real(0, value));
  SetReduction(stage, max ? Combiner::kMax : Combiner::kSum, wide);
  op.kind = UnitKind::kWindow;
  op.UseAsIndex(op.In(2), 0, in[0]);
  op.Emit(std::move(stage));
  if (max) return {};
  Stage mean = MakeStage(out, shape);
  const ExprPtr total = op.Load(sum, AxesOf(mean));
  mean.body = total / Real(static_cast<double>(ratio * ratio), total);
  op.Emit(std::move(mean));
  return {};
}

// Taps of a convolution read at offsets of their own: they are gathered, then multiplied.
Result<void> DeformConv(OpContext& op) {
  const Shape in = op.InShape(0), weight = op.InShape(1), offsets = op.InShape(2);
  const std::int64_t groups = op.Int("group", 1), parts = op.Int("offset_group", 1);
  if (in.size() != 4 || weight.size() != 4 || offsets.size() != 4)
    return Unsupported("an image of shape " + ShapeText(in));
  KINDRED_TRY(const auto windows,
              ReadWindows(op, {in[2], in[3]}, Shape(weight.begin() + 2, weight.end())));
  const std::int64_t channels = in[1], rows = windows[0].kernel, columns = windows[1].kernel;
  const Shape out = {in[0], weight[0], windows[0].out, windows[1].out};
  if (groups < 1 || parts < 1 || channels != weight[1] * groups || weight[0] % groups != 0 ||
      channels % parts != 0)
    return Unsupported(fmt::format("{} groups of {} channels", groups, channels));
  KINDRED_CHECK(CheckShape(op, 2, {in[0], parts * rows * columns * 2, out[2], out[3]}));
  KINDRED_CHECK(CheckShape(op, 3, {out[1]}));
  KINDRED_CHECK(CheckShape(op, 4, {in[0], parts * rows * columns, out[2], out[3]}));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  if (!IsFloat(type)) return Unsupported("integers");

  const Shape patches = {in[0], channels, rows, columns, out[2], out[3]};
  const int gathered = op.Temp("patches", type, patches);
  Stage gather = MakeStage(gathered, patches, "ncrsyx");
  const Exprs at = AxesOf(gather);
  const ExprPtr part = at[1] / IntExpr(channels / parts);
  const ExprPtr tap = (part * rows + at[2]) * columns + at[3];
  const auto place = [&](std::size_t d) {
    const ExprPtr moved = CastExpr(
        wide, op.Load(op.In(2), {at[0], tap * 2 + static_cast<std::int64_t>(d), at[4], at[5]}));
    return CastExpr(wide, WindowIndex(windows[d], at[4 + d], at[2 + d])) + moved;
  };
  ExprPtr x = Interpolate(op, op.In(0), {at[0], at[1]},
                          {LinearTaps(place(0)), LinearTaps(place(1))}, {in[2], in[3]});
  if (op.Has(4)) x = x * op.Load(op.In(4), {at[0], tap, at[4], at[5]});
  gather.body = std::move(x);
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(gather));

  op.NewUnit();
  op.kind = UnitKind::kContraction;
  const int made = op.Out(0, type, out);
  const int product = op.Has(3) ? op.Temp("product", wide, out) : made;
  Stage stage = MakeStage(product, out, "noyx");
  AddReductionAxis(stage, "c", weight[1]);
  AddReductionAxis(stage, "r", rows);
  AddReductionAxis(stage, "s", columns);
  const Exprs a = AxesOf(stage);
  const ExprPtr group = a[1] / IntExpr(weight[0] / groups);
  stage.body = op.Load(gathered, {a[0], group * weight[1] + a[4], a[5], a[6], a[2], a[3]}) *
               op.Load(op.In(1), {a[1], a[4], a[5], a[6]});
  SetReduction(stage, Combiner::kSum, wide);
  op.Emit(std::move(stage));
  if (!op.Has(3)) return {};
  Stage biased = MakeStage(made, out);
  const Exprs b = AxesOf(biased);
  biased.body = op.Load(product, b) + op.Load(op.In(3), {b[1]});
  op.Emit(std::move(biased));
  return {};
}

// image[n, c, y...] = the sum over all blocks of what they hold of it.
Result<void> Col2Im(OpContext& op) {
  const Shape in = op.InShape(0);
  KINDRED_TRY(const Shape image, op.KnownInts(1, "image shape"));
  KINDRED_TRY(const Shape block, op.KnownInts(2, "block shape"));
  const std::size_t rank = image.size();
  const Shape strides = op.Ints("strides").value_or(Shape(rank, 1));
  const Shape dilations = op.Ints("dilations").value_or(Shape(rank, 1));
  const Shape pads = op.Ints("pads").value_or(Shape(2 * rank, 0));
  if (rank < 1 || block.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || in.size() != 3)
    return Unsupported("an image of shape " + ShapeText(image) + " of blocks " + ShapeText(block));
  Shape counts;
  for (std::size_t d = 0; d < rank; ++d) {
    if (block[d] < 1 || image[d] < 1) return Unsupported("an image without elements");
    const std::int64_t reach = dilations[d] * (block[d] - 1) + 1;
    counts.push_back((image[d] + pads[d] + pads[rank + d] - reach) / strides[d] + 1);
    if (counts.back() < 1) return Unsupported("blocks larger than the image");
  }
  const std::int64_t taps = ElementCount(block);
  if (in[2] != ElementCount(counts) || in[1] % taps != 0)
    return Unsupported(fmt::format("{} blocks in place of {}", in[2], ElementCount(counts)));
  Shape apart = {in[0], in[1] / taps}, shape = apart;
  apart.insert(apart.end(), block.begin(), block.end());
  apart.insert(apart.end(), counts.begin(), counts.end());
  shape.insert(shape.end(), image.begin(), image.end());
  const int blocks = op.ViewOf(op.In(0), apart);
  const DataType type = op.InValue(0).type;
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  for (std::size_t d = 0; d < rank; ++d) AddReductionAxis(stage, fmt::format("r{}", d), block[d]);
  const Exprs axes = AxesOf(stage);
  Exprs at = {axes[0], axes[1]}, steps;
  ExprPtr meets;
  for (std::size_t d = 0; d < rank; ++d) {
    const ExprPtr tap = axes[2 + rank + d];
    const ExprPtr from = (axes[2 + d] + pads[d]) - tap * dilations[d];
    at.push_back(tap);
    steps.push_back(from / IntExpr(strides[d]));
    if (strides[d] == 1) continue;
    const ExprPtr exact = BinaryExpr(Op::kEqual, from % IntExpr(strides[d]), IntExpr(0));
    meets = meets ? BinaryExpr(Op::kAnd, meets, exact) : exact;
  }
  at.insert(at.end(), steps.begin(), steps.end());
  stage.body = PaddedExpr(LoadExpr(blocks, std::move(at), type), Literal(0, type));
  if (meets) stage.body = SelectExpr(meets, stage.body, Literal(0, type));
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(type));
  op.kind = UnitKind::kWindow;
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddRegionOps(LoweringTable& table) {
  table["Col2Im"] = Col2Im;
  table["DeformConv"] = DeformConv;
  table["RoiAlign"] = RoiAlign;
}

}  // namespace kindred
