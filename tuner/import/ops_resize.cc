// Resize and Upsample: per resized dimension a few elements are added with weights. Which elements
// and which weights is known ahead of time (resize_taps); both are small constant tensors, and
// plain arithmetic on the axes where they are regular.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "tuner/import/ops.h"
#include "tuner/import/resize_taps.h"

namespace kindred {
namespace {

// Dimensions are resized together as long as an element adds no more of the input's than this;
// larger filters run over one dimension after the other.
constexpr std::int64_t kMostTapsTogether = 8;
constexpr std::int64_t kLargestExtent = 1 << 20;  // of a resized dimension
constexpr std::array<const char*, 3> kTapNames = {"r", "s", "x"};

struct Resampled {
  Shape shape;                                   // of the result
  std::vector<std::optional<ResizeTaps>> along;  // by dimension; nullopt: stays as it is
};

Result<std::vector<float>> KnownFloats(const OpContext& op, int input, const std::string& what) {
  KINDRED_TRY(const ConstantPtr known, op.Known(input, what));
  std::vector<float> values;
  for (std::int64_t i = 0; i < known->elements(); ++i)
    values.push_back(static_cast<float>(known->Number(i)));
  return values;
}

bool HasElements(const OpContext& op, int input) {
  return op.Has(input) && ElementCount(op.InShape(input)) > 0;
}

Result<ResizeRule> ReadRule(OpContext& op) {
  ResizeRule rule;
  const bool old = op.node.op == "Upsample" || op.opset() < 11;
  const std::string mode = op.Text("mode", "nearest");
  rule.coordinates = op.Text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  rule.rounding = op.Text("nearest_mode", old ? "simple" : "round_prefer_floor");
  rule.cubic = static_cast<float>(op.Float("cubic_coeff_a", -0.75));
  rule.exclude_outside = op.Int("exclude_outside", 0) != 0;
  rule.antialias = op.Int("antialias", 0) != 0;
  if (mode == "linear" || mode == "bilinear") {
    rule.mode = ResizeRule::Mode::kLinear;
  } else if (mode == "cubic") {
    rule.mode = ResizeRule::Mode::kCubic;
  } else if (mode != "nearest") {
    return Unsupported("mode '" + mode + "'");
  }
  if (rule.mode == ResizeRule::Mode::kNearest) rule.antialias = false;
  const bool weighs = rule.mode == ResizeRule::Mode::kCubic || rule.antialias;
  if (weighs && !IsFloat(op.InValue(0).type))
    return Unsupported("filters of integers, which every runtime rounds in its own way");
  return rule;
}

// The extents that `sizes` ask for. keep_aspect_ratio_policy gives all dimensions one scale.
Result<void> ApplySizes(const Shape& sizes, const std::string& policy,
                        std::vector<ResizedAxis>& axes) {
  std::vector<float> scales;
  for (const std::int64_t size : sizes)
    if (size < 1 || size > kLargestExtent) return Unsupported("sizes " + ShapeText(sizes));
  for (std::size_t i = 0; i < axes.size(); ++i)
    scales.push_back(static_cast<float>(sizes[i]) / static_cast<float>(axes[i].in));
  float common = 0;
  if (policy == "not_larger") {
    common = *std::min_element(scales.begin(), scales.end());
  } else if (policy == "not_smaller") {
    common = *std::max_element(scales.begin(), scales.end());
  } else if (policy != "stretch") {
    return Unsupported("keep_aspect_ratio_policy '" + policy + "'");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].out = common > 0 ? std::llround(common * static_cast<float>(axes[i].in)) : sizes[i];
    axes[i].scale = common > 0 ? common : scales[i];
    axes[i].length = static_cast<float>(axes[i].out);
  }
  return {};
}

// The resized dimensions, in the order of `axes`.
Result<std::vector<ResizedAxis>> ReadAxes(OpContext& op, const std::vector<std::int64_t>& axes) {
  const bool old = op.node.op == "Upsample" || op.opset() < 11;
  const std::string policy = op.Text("keep_aspect_ratio_policy", "stretch");
  const Shape in = op.InShape(0);
  std::vector<ResizedAxis> resized;
  for (const std::int64_t axis : axes)
    resized.push_back({.in = in[static_cast<std::size_t>(axis)]});
  std::vector<float> scales;
  if (const auto given = op.Floats("scales")) scales.assign(given->begin(), given->end());
  if (scales.empty() && HasElements(op, old ? 1 : 2)) {
    KINDRED_TRY(scales, KnownFloats(op, old ? 1 : 2, "scales"));
  }
  Shape sizes;
  if (scales.empty() && !old && op.Has(3)) {
    KINDRED_TRY(sizes, op.KnownInts(3, "sizes"));
  }
  if (std::max(scales.size(), sizes.size()) != axes.size())
    return Unsupported("scales or sizes that do not name every dimension");
  if (!sizes.empty()) KINDRED_CHECK(ApplySizes(sizes, policy, resized));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    resized[i].scale = scales[i];
    resized[i].length = scales[i] * static_cast<float>(resized[i].in);
    resized[i].out =
        resized[i].length < 0x1p30F ? static_cast<std::int64_t>(std::floor(resized[i].length)) : 0;
  }
  for (const ResizedAxis& axis : resized)
    if (axis.in < 1 || axis.in > kLargestExtent || axis.out < 1 || axis.out > kLargestConstant ||
        !(axis.scale > 0))
      return Unsupported(fmt::format("resizing {} elements to {}", axis.in, axis.out));
  return resized;
}

Result<Resampled> Resample(OpContext& op, const ResizeRule& rule) {
  Resampled result{op.InShape(0), {}};
  const std::size_t rank = result.shape.size();
  result.along.resize(rank);
  std::vector<std::int64_t> axes(rank);
  for (std::size_t d = 0; d < rank; ++d) axes[d] = static_cast<std::int64_t>(d);
  if (const auto given = op.Ints("axes")) {
    axes = *given;
    for (std::int64_t& axis : axes) {
      KINDRED_TRY(axis, NormaliseAxis(op, axis, rank));
    }
  }
  KINDRED_TRY(std::vector<ResizedAxis> resized, ReadAxes(op, axes));
  if (rule.Crops()) {
    KINDRED_TRY(const std::vector<float> roi, KnownFloats(op, 1, "roi"));
    if (roi.size() != 2 * axes.size())
      return Unsupported("a region that does not name every dimension");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      resized[i].roi_begin = roi[i];
      resized[i].roi_end = roi[i + axes.size()];
      if (!std::isfinite(roi[i]) || !std::isfinite(roi[i + axes.size()]))
        return Unsupported("a region without bounds");
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ResizedAxis& axis = resized[i];
    const auto d = static_cast<std::size_t>(axes[i]);
    const bool whole = !rule.Crops() || (axis.roi_begin == 0 && axis.roi_end == 1);
    if (axis.scale == 1 && axis.out == axis.in && whole) continue;
    result.shape[d] = axis.out;
    KINDRED_TRY(result.along[d], SampleAxis(rule, axis));
  }
  return result;
}

// Element [i, t] of a table: `t` null where there is one tap.
ExprPtr PlaceAt(OpContext& op, const std::string& name, const ResizeTaps& taps, const ExprPtr& i,
                const ExprPtr& t) {
  if (!t) return PlaceIn(op, name, taps.index, i);
  const int table = KnownIndices(op, name, {taps.out, taps.taps}, taps.index);
  return LoadExpr(table, {i, t}, DataType::kI64);
}

ExprPtr WeightAt(OpContext& op, const std::string& name, const ResizeTaps& taps, DataType type,
                 const ExprPtr& i, const ExprPtr& t) {
  ConstantTensor table{
      type, t ? Shape{taps.out, taps.taps} : Shape{taps.out}, {}, taps.weight, false};
  const int id = op.Temp(name, type, table.shape);
  GraphValue& value = op.graph.values[static_cast<std::size_t>(id)];
  value.kind = ValueKind::kKnown;
  value.constant = std::make_shared<ConstantTensor>(std::move(table));
  return LoadExpr(id, t ? Exprs{i, t} : Exprs{i}, type);
}

// Resizes `x` along `dims` into `target`.
void EmitResampling(OpContext& op, int target, int x, const Shape& shape, const Resampled& how,
                    const std::vector<std::size_t>& dims) {
  Stage stage = MakeStage(target, shape);
  std::size_t named = 0;
  for (const std::size_t d : dims)
    if (how.along[d]->taps > 1) AddReductionAxis(stage, kTapNames[named++], how.along[d]->taps);
  const Exprs axes = AxesOf(stage);
  Exprs at(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(shape.size()));
  const DataType wide = DefaultAccumulator(op.graph.values[static_cast<std::size_t>(target)].type);
  ExprPtr weight;
  std::size_t tap = shape.size();
  for (const std::size_t d : dims) {
    const ResizeTaps& taps = *how.along[d];
    const ExprPtr t = taps.taps > 1 ? axes[tap++] : nullptr;
    if (!taps.weight.empty()) {
      const ExprPtr factor = WeightAt(op, fmt::format("weights_{}", d), taps, wide, axes[d], t);
      weight = weight ? weight * factor : factor;
    }
    at[d] = PlaceAt(op, fmt::format("indices_{}", d), taps, axes[d], t);
  }
  stage.body = op.Load(x, std::move(at));
  if (weight) stage.body = CastExpr(wide, stage.body) * weight;
  if (tap > shape.size()) SetReduction(stage, Combiner::kSum, wide);
  op.kind = weight ? UnitKind::kWindow : UnitKind::kMovement;
  op.Emit(std::move(stage));
}

// The dimensions that are resized together, step by step.
std::vector<std::vector<std::size_t>> Steps(const Resampled& how) {
  std::vector<std::vector<std::size_t>> steps;
  std::int64_t together = kMostTapsTogether;
  for (std::size_t d = 0; d < how.along.size(); ++d) {
    if (!how.along[d]) continue;
    const std::int64_t taps = how.along[d]->taps;
    if (steps.empty() || together * taps > kMostTapsTogether) {
      steps.emplace_back();
      together = 1;
    }
    together *= taps;
    steps.back().push_back(d);
  }
  return steps;
}

// Where the result lies over the input, as conditions on its axes; null: everywhere.
ExprPtr Inside(const Resampled& how, const Exprs& axes) {
  ExprPtr inside;
  const auto require = [&](const ExprPtr& condition) {
    inside = inside ? BinaryExpr(Op::kAnd, inside, condition) : condition;
  };
  for (std::size_t d = 0; d < how.along.size(); ++d) {
    if (!how.along[d]) continue;
    const ResizeTaps& taps = *how.along[d];
    if (taps.first_inside > 0)
      require(BinaryExpr(Op::kLessEqual, IntExpr(taps.first_inside), axes[d]));
    if (taps.end_inside < taps.out)
      require(BinaryExpr(Op::kLess, axes[d], IntExpr(taps.end_inside)));
  }
  return inside;
}

Result<void> Resize(OpContext& op) {
  KINDRED_TRY(const ResizeRule rule, ReadRule(op));
  const double outside = op.Float("extrapolation_value", 0);
  KINDRED_TRY(const Resampled how, Resample(op, rule));
  const auto steps = Steps(how);
  if (steps.empty()) {
    op.View(0, op.In(0), how.shape);
    return {};
  }
  const DataType type = op.InValue(0).type;
  const DataType between = rule.mode == ResizeRule::Mode::kNearest ? type
                           : IsFloat(type)                         ? DefaultAccumulator(type)
                                                                   : DataType::kF32;
  const int out = op.Out(0, type, how.shape);
  const ExprPtr inside = Inside(how, AxesOf(MakeStage(out, how.shape)));
  const bool finishes = inside || (IsInteger(type) && IsFloat(between));
  Shape shape = op.InShape(0);
  int x = op.In(0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t d : steps[i]) shape[d] = how.shape[d];
    const bool last = i + 1 == steps.size() && !finishes;
    const int made = last ? out : op.Temp(fmt::format("resized_{}", i), between, shape);
    EmitResampling(op, made, x, shape, how, steps[i]);
    x = made;
  }
  if (!finishes) return {};
  Stage stage = MakeStage(out, how.shape);
  stage.body = CastExpr(type, op.Load(x, AxesOf(stage)));
  if (inside) stage.body = SelectExpr(inside, stage.body, Literal(outside, type));
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddResizeOps(LoweringTable& table) {
  table["Resize"] = Resize;
  table["Upsample"] = Resize;
}

}  // namespace kindred
