// Pad and CenterCropPad.
#include <algorithm>

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
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
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
    if (mode == "wrap" && !inside) at = at % IntExpr(in[d]);
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

// The middle of each dimension, with zeros around it where it is too short.
Result<void> CenterCropPad(OpContext& op) {
  const Shape in = op.InShape(0);
  Shape axes;
  for (std::size_t d = 0; d < in.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  if (const auto given = op.Ints("axes")) axes = *given;
  KINDRED_TRY(const Shape sizes, op.KnownInts(1, "shape"));
  if (sizes.size() != axes.size()) return Unsupported("a shape that does not name every axis");
  Shape shape = in, before(in.size(), 0);
  bool grows = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, axes[i], in.size()));
    const auto d = static_cast<std::size_t>(axis);
    if (!PossibleShape({sizes[i]})) return Unsupported("a shape of " + ShapeText(sizes));
    shape[d] = sizes[i];
    before[d] = sizes[i] > in[d] ? -((sizes[i] - in[d]) / 2) : (in[d] - sizes[i]) / 2;
    grows |= sizes[i] > in[d];
  }
  const DataType type = op.InValue(0).type;
  if (!PossibleShape(shape)) return Unsupported("a result of shape " + ShapeText(shape));
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  Exprs at = AxesOf(stage);
  for (std::size_t d = 0; d < in.size(); ++d) at[d] = at[d] + before[d];
  stage.body = LoadExpr(op.In(0), std::move(at), type);
  if (grows) stage.body = PaddedExpr(stage.body, Literal(0, type));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddPadOps(LoweringTable& table) {
  table["CenterCropPad"] = CenterCropPad;
  table["Pad"] = Pad;
}

}  // namespace kindred
