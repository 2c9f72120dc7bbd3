// Operators that only give memory another shape, or no-ops.
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

Result<void> Identity(OpContext& op) {
  op.View(0, op.In(0), op.InShape(0));
  return {};
}

Result<void> Dropout(OpContext& op) {
  op.Ignore("ratio");
  op.Ignore("seed");
  op.Ignore("is_test");
  const DataType mask = op.opset() < 10 ? op.InValue(0).type : DataType::kBool;
  if (op.Has(2)) {
    KINDRED_TRY(const auto training, op.KnownInts(2, "training_mode"));
    if (!training.empty() && training[0] != 0) return Unsupported("training mode");
  }
  if (op.Wants(1)) {  // everything is kept
    ConstantTensor kept;
    kept.type = mask;
    kept.shape = op.InShape(0);
    kept.splat = true;
    (IsFloat(mask) ? kept.numbers.assign(1, 1) : kept.integers.assign(1, 1));
    op.Known(1, std::make_shared<ConstantTensor>(std::move(kept)));
  }
  return Identity(op);
}

Result<void> Reshape(OpContext& op) {
  const Shape in = op.InShape(0);
  Shape shape = op.Ints("shape").value_or(Shape());
  if (op.Has(1)) {
    KINDRED_TRY(shape, op.KnownInts(1, "shape"));
  }
  const bool allow_zero = op.Int("allowzero", 0) != 0;
  std::int64_t known = 1, open = -1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !allow_zero && d < in.size()) shape[d] = in[d];
    if (shape[d] == -1) {
      open = static_cast<std::int64_t>(d);
    } else {
      if (shape[d] < 0 || __builtin_mul_overflow(known, shape[d], &known)) known = 0;
    }
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < -1; }))
    return BadInput(fmt::format("{}: {} asks for the shape {}", op.model.path, op.node.Label(),
                                ShapeText(shape)));
  if (open >= 0 && known > 0) shape[static_cast<std::size_t>(open)] = ElementCount(in) / known;
  if (ElementCount(shape) != ElementCount(in))
    return BadInput(fmt::format("{}: {} cannot give {} the shape {}", op.model.path,
                                op.node.Label(), ShapeText(in), ShapeText(shape)));
  op.View(0, op.In(0), shape);
  return {};
}

Result<void> Flatten(OpContext& op) {
  const Shape in = op.InShape(0);
  std::int64_t axis = op.Int("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(in.size());
  if (axis < 0 || axis > static_cast<std::int64_t>(in.size()))
    return BadInput(fmt::format("{}: {} names an axis outside its tensor's {} dimensions",
                                op.model.path, op.node.Label(), in.size()));
  const std::int64_t rows = ElementCount(Shape(in.begin(), in.begin() + axis));
  op.View(0, op.In(0), {rows, rows == 0 ? 0 : ElementCount(in) / rows});
  return {};
}

// Attribute up to operator set 12, input since.
Result<std::optional<Shape>> ReadAxes(OpContext& op) {
  if (!op.Has(1)) return std::optional<Shape>(op.Ints("axes"));
  KINDRED_TRY(const Shape axes, op.KnownInts(1, "axes"));
  return std::optional<Shape>(axes);
}

Result<void> Squeeze(OpContext& op) {
  const Shape in = op.InShape(0);
  KINDRED_TRY(const auto given, ReadAxes(op));
  Shape axes;
  for (std::size_t d = 0; d < in.size() && !given; ++d)
    if (in[d] == 1) axes.push_back(static_cast<std::int64_t>(d));
  if (given) axes = *given;
  KINDRED_TRY(axes, NormaliseAxes(op, axes, in.size()));
  Shape shape;
  std::size_t next = 0;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (next < axes.size() && axes[next] == static_cast<std::int64_t>(d)) {
      if (in[d] != 1)
        return BadInput(fmt::format("{}: {} squeezes axis {} of extent {}", op.model.path,
                                    op.node.Label(), d, in[d]));
      ++next;
    } else {
      shape.push_back(in[d]);
    }
  }
  op.View(0, op.In(0), shape);
  return {};
}

Result<void> Unsqueeze(OpContext& op) {
  const Shape in = op.InShape(0);
  KINDRED_TRY(const auto given, ReadAxes(op));
  Shape axes = given.value_or(Shape());
  KINDRED_TRY(axes, NormaliseAxes(op, axes, in.size() + axes.size()));
  Shape shape = in;
  for (const std::int64_t axis : axes) {
    if (axis > static_cast<std::int64_t>(shape.size())) return Unsupported("axes that repeat");
    shape.insert(shape.begin() + axis, 1);
  }
  op.View(0, op.In(0), shape);
  return {};
}

}  // namespace

void AddViewOps(LoweringTable& table) {
  table["Identity"] = Identity;
  table["Dropout"] = Dropout;
  table["Reshape"] = Reshape;
  table["Flatten"] = Flatten;
  table["Squeeze"] = Squeeze;
  table["Unsqueeze"] = Unsqueeze;
}

}  // namespace kindred
