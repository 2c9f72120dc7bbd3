// Operators that move elements and make more of them: Pad, Resize, Upsample.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

// The place that `at` (may lie outside) is mirrored to without repeating the border.
ExprPtr Reflect(const ExprPtr& at, std::int64_t extent) {
  const ExprPtr behind =
      SelectExpr(BinaryExpr(Op::kLess, at, IntExpr(extent)), at, IntExpr(2 * (extent - 1)) - at);
  return SelectExpr(BinaryExpr(Op::kLess, at, IntExpr(0)), IntExpr(0) - at, behind);
}

constexpr std::int64_t kMostPadding = 1 << 30;

Result<void> Pad(OpContext& op) {
  const std::string mode = op.Text("mode", "constant");
  Shape pads = op.Ints("pads").value_or(op.Ints("paddings").value_or(Shape()));
  const double attribute = op.Float("value", 0);
  const Shape in = op.InShape(0);
  if (op.Has(1)) {
    KINDRED_TRY(pads, op.KnownInts(1, "pads"));
  }
  if (op.Has(3)) {
    KINDRED_TRY(const Shape axes, op.KnownInts(3, "axes"));
    Shape all(2 * in.size(), 0);
    if (pads.size() != 2 * axes.size()) return Unsupported("pads that do not fit their axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, axes[i], in.size()));
      all[static_cast<std::size_t>(axis)] = pads[i];
      all[static_cast<std::size_t>(axis) + in.size()] = pads[i + axes.size()];
    }
    pads = all;
  }
  if (pads.size() != 2 * in.size())
    return BadInput(fmt::format("{}: {}: pads {} do not fit {} dimensions", op.model.path,
                                op.node.Label(), ShapeText(pads), in.size()));
  Shape shape = in;
  bool grows = false;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (std::max(std::abs(pads[d]), std::abs(pads[in.size() + d])) > kMostPadding)
      return Unsupported("padding of more than 2^30 elements");
    shape[d] += pads[d] + pads[in.size() + d];
    grows |= pads[d] > 0 || pads[in.size() + d] > 0;
    if (mode == "reflect" && (pads[d] >= in[d] || pads[in.size() + d] >= in[d]))
      return Unsupported("reflections wider than the input");
  }
  if (shape == in && !grows &&
      std::all_of(pads.begin(), pads.end(), [](auto p) { return p == 0; })) {
    op.View(0, op.In(0), shape);
    return {};
  }
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    return Unsupported("mode '" + mode + "'");
  const DataType type = op.InValue(0).type;
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  const Exprs axes = AxesOf(stage);
  Exprs index;
  for (std::size_t d = 0; d < in.size(); ++d) {
    ExprPtr at = axes[d] + (-pads[d]);
    const bool inside = pads[d] <= 0 && pads[in.size() + d] <= 0;
    if (mode == "reflect" && !inside) at = Reflect(at, in[d]);
    if (mode == "edge" && !inside)
      at = BinaryExpr(Op::kMax, IntExpr(0), BinaryExpr(Op::kMin, at, IntExpr(in[d] - 1)));
    index.push_back(std::move(at));
  }
  ExprPtr x = LoadExpr(op.In(0), std::move(index), type);
  if (mode == "constant" && grows) {
    const int rank = op.Has(2) ? static_cast<int>(op.InShape(2).size()) : 0;
    x = PaddedExpr(x, op.Has(2)
                          ? op.Load(op.In(2), Exprs(static_cast<std::size_t>(rank), IntExpr(0)))
                          : Literal(attribute, type));
  }
  stage.body = std::move(x);
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

// Nearest neighbours with whole factors: out[i] = x[i / factor].
Result<void> Resize(OpContext& op) {
  const bool upsample = op.node.op == "Upsample";
  const std::string mode = op.Text("mode", "nearest");
  const std::string place = op.Text("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = op.Text("nearest_mode", "round_prefer_floor");
  op.Ignore("cubic_coeff_a");
  op.Ignore("extrapolation_value");
  op.Ignore("exclude_outside");
  if (mode != "nearest")
    return Unsupported("mode '" + mode + "'; only nearest neighbours have a form");
  const Shape in = op.InShape(0);
  const bool old = upsample || op.opset() < 11;
  std::vector<double> scales = op.Floats("scales").value_or(std::vector<double>());
  Shape sizes;
  const int scale_input = old ? 1 : 2;
  if (scales.empty() && op.Has(scale_input) && ElementCount(op.InShape(scale_input)) > 0) {
    KINDRED_TRY(const ConstantPtr known, op.Known(scale_input, "scales"));
    for (std::int64_t i = 0; i < known->elements(); ++i) scales.push_back(known->Number(i));
  } else if (!old && op.Has(3)) {
    KINDRED_TRY(sizes, op.KnownInts(3, "sizes"));
  }
  Shape shape = in, factors(in.size(), 1);
  if (scales.size() != in.size() && sizes.size() != in.size())
    return Unsupported("scales or sizes that do not name every dimension");
  for (std::size_t d = 0; d < in.size(); ++d) {
    const double factor =
        scales.empty() ? static_cast<double>(sizes[d]) / static_cast<double>(in[d]) : scales[d];
    factors[d] = factor >= 1 && factor < 1 << 20 ? std::llround(factor) : 0;
    if (factors[d] < 1 || std::fabs(factor - static_cast<double>(factors[d])) > 1e-6)
      return Unsupported(fmt::format("a factor of {}; only whole factors have a form", factor));
    shape[d] = in[d] * factors[d];
  }
  const bool even = std::all_of(factors.begin(), factors.end(), [](auto f) { return f <= 2; });
  const bool floors =
      old ||
      (place == "asymmetric" &&
       (rounding == "floor" || (rounding == "round_prefer_floor" && even))) ||
      ((place == "half_pixel" || place == "pytorch_half_pixel") && rounding.starts_with("round"));
  if (!floors) return Unsupported("coordinates '" + place + "' with rounding '" + rounding + "'");
  EmitGather(op, op.Out(0, op.InValue(0).type, shape), op.In(0), shape, [&](const Exprs& axes) {
    Exprs at;
    for (std::size_t d = 0; d < in.size(); ++d)
      at.push_back(in[d] == 1 ? IntExpr(0) : axes[d] / IntExpr(factors[d]));
    return at;
  });
  return {};
}

}  // namespace

void AddResizeOps(LoweringTable& table) {
  table["Pad"] = Pad;
  table["Resize"] = Resize;
  table["Upsample"] = Resize;
}

}  // namespace kindred
