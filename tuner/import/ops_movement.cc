// Operators that only move elements: Transpose, Concat, Split, Slice, Expand, Tile, DepthToSpace.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {

void EmitGather(OpContext& op, int target, int x, const Shape& shape,
                const std::function<Exprs(const Exprs& axes)>& index) {
  Stage stage = MakeStage(target, shape);
  stage.body = op.Load(x, index(AxesOf(stage)));
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
}

namespace {

// True if the transposition only moves dimensions of extent 1: the memory stays as it is.
bool KeepsOrder(const Shape& shape, const std::vector<std::int64_t>& perm) {
  std::int64_t last = -1;
  for (const std::int64_t d : perm) {
    if (shape[static_cast<std::size_t>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

int EmitTranspose(OpContext& op, int target, int x, const std::vector<std::int64_t>& perm) {
  const Shape in = op.graph.values[static_cast<std::size_t>(x)].shape;
  Shape shape;
  for (const std::int64_t d : perm) shape.push_back(in[static_cast<std::size_t>(d)]);
  EmitGather(op, target, x, shape, [&](const Exprs& axes) {
    Exprs at(perm.size());
    for (std::size_t d = 0; d < perm.size(); ++d) at[static_cast<std::size_t>(perm[d])] = axes[d];
    return at;
  });
  return target;
}

Result<void> Transpose(OpContext& op) {
  const Shape in = op.InShape(0);
  std::vector<std::int64_t> perm(in.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (const auto given = op.Ints("perm")) perm = *given;
  Shape shape;
  std::vector<std::int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < in.size(); ++d)
    if (perm.size() != in.size() || sorted[d] != static_cast<std::int64_t>(d))
      return BadInput(fmt::format("{}: {}: perm {} is no permutation of {} dimensions",
                                  op.model.path, op.node.Label(), ShapeText(perm), in.size()));
  for (const std::int64_t d : perm) shape.push_back(in[static_cast<std::size_t>(d)]);
  if (KeepsOrder(in, perm)) {
    op.View(0, op.In(0), shape);
    return {};
  }
  EmitTranspose(op, op.Out(0, op.InValue(0).type, shape), op.In(0), perm);
  return {};
}

Result<void> Concat(OpContext& op) {
  std::vector<int> parts;
  for (int i = 0; i < op.inputs(); ++i)
    if (ElementCount(op.InShape(i)) > 0) parts.push_back(op.In(i));
  const auto shape_of = [&](int id) { return op.graph.values[static_cast<std::size_t>(id)].shape; };
  KINDRED_TRY(const std::int64_t at, NormaliseAxis(op, op.Int("axis", 1), op.InShape(0).size()));
  const auto axis = static_cast<std::size_t>(at);
  if (parts.empty()) return Unsupported("no input has an element");
  Shape shape = shape_of(parts[0]);
  shape[axis] = 0;
  for (const int part : parts) {
    Shape expected = shape_of(part);
    if (expected.size() != shape.size()) return Unsupported("inputs of different ranks");
    shape[axis] += expected[axis];
    expected[axis] = shape[axis];
    if (expected != shape)
      return BadInput(fmt::format("{}: {} joins shapes that differ outside of axis {}",
                                  op.model.path, op.node.Label(), at));
  }
  if (parts.size() == 1) {
    op.View(0, parts[0], shape);
    return {};
  }
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  const Exprs axes = AxesOf(stage);
  std::int64_t end = shape[axis];
  for (std::size_t i = parts.size(); i-- > 0;) {
    const std::int64_t start = end - shape_of(parts[i])[axis];
    Exprs index = axes;
    index[axis] = axes[axis] + (-start);
    const ExprPtr part = op.Load(parts[i], std::move(index));
    stage.body = stage.body
                     ? SelectExpr(BinaryExpr(Op::kLess, axes[axis], IntExpr(end)), part, stage.body)
                     : part;
    end = start;
  }
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

Result<void> Split(OpContext& op) {
  const Shape in = op.InShape(0);
  KINDRED_TRY(const std::int64_t at, NormaliseAxis(op, op.Int("axis", 0), in.size()));
  const auto axis = static_cast<std::size_t>(at);
  const std::int64_t count =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(op.node.outputs.size()));
  op.Ignore("num_outputs");
  Shape sizes = op.Ints("split").value_or(Shape());
  if (op.Has(1)) {
    KINDRED_TRY(sizes, op.KnownInts(1, "sizes"));
  }
  if (sizes.empty()) {
    const std::int64_t each = (in[axis] + count - 1) / count;
    for (std::int64_t left = in[axis]; left > 0; left -= each)
      sizes.push_back(std::min(each, left));
  }
  const bool negative =
      std::any_of(sizes.begin(), sizes.end(), [&](auto s) { return s < 0 || s > in[axis]; });
  if (negative || static_cast<std::int64_t>(sizes.size()) != count ||
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != in[axis])
    return BadInput(fmt::format("{}: {}: pieces {} do not make up an extent of {}", op.model.path,
                                op.node.Label(), ShapeText(sizes), in[axis]));
  std::int64_t start = 0;
  for (int i = 0; i < op.outputs(); ++i) {
    Shape shape = in;
    shape[axis] = sizes[static_cast<std::size_t>(i)];
    const std::int64_t offset = start;
    start += shape[axis];
    if (!op.Wants(i)) continue;
    op.NewUnit();
    EmitGather(op, op.Out(i, op.InValue(0).type, shape), op.In(0), shape, [&](const Exprs& axes) {
      Exprs index = axes;
      index[axis] = axes[axis] + offset;
      return index;
    });
  }
  return {};
}

// Up to operator set 9 everything is an attribute, then an input.
Result<void> Slice(OpContext& op) {
  const Shape in = op.InShape(0);
  Shape starts = op.Ints("starts").value_or(Shape()), ends = op.Ints("ends").value_or(Shape());
  Shape axes = op.Ints("axes").value_or(Shape()), steps;
  if (op.Has(1)) {
    KINDRED_TRY(starts, op.KnownInts(1, "starts"));
    KINDRED_TRY(ends, op.KnownInts(2, "ends"));
  }
  if (op.Has(3)) {
    KINDRED_TRY(axes, op.KnownInts(3, "axes"));
  }
  if (op.Has(4)) {
    KINDRED_TRY(steps, op.KnownInts(4, "steps"));
  }
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return BadInput(fmt::format("{}: {}: starts, ends, axes and steps differ in length",
                                op.model.path, op.node.Label()));
  Shape shape = in, first(in.size(), 0), step(in.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    KINDRED_TRY(const std::int64_t axis, NormaliseAxis(op, axes[i], in.size()));
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t extent = in[d], by = std::clamp(steps[i], -extent - 1, extent + 1);
    if (by == 0)
      return BadInput(fmt::format("{}: {} has a step of 0", op.model.path, op.node.Label()));
    const auto place = [extent](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + extent : at, low, high);
    };
    const std::int64_t from =
        by > 0 ? place(starts[i], 0, extent) : place(starts[i], 0, extent - 1);
    const std::int64_t to = by > 0 ? place(ends[i], 0, extent) : place(ends[i], -1, extent - 1);
    shape[d] =
        std::max<std::int64_t>(0, by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by);
    first[d] = from;
    step[d] = by;
  }
  if (shape == in && std::all_of(step.begin(), step.end(), [](std::int64_t s) { return s == 1; })) {
    op.View(0, op.In(0), shape);
    return {};
  }
  EmitGather(op, op.Out(0, op.InValue(0).type, shape), op.In(0), shape, [&](const Exprs& at) {
    Exprs index;
    for (std::size_t d = 0; d < in.size(); ++d) index.push_back(at[d] * step[d] + first[d]);
    return index;
  });
  return {};
}

Result<void> Expand(OpContext& op) {
  KINDRED_TRY(const Shape target, op.KnownInts(1, "shape"));
  if (!PossibleShape(target)) return Unsupported("the shape " + ShapeText(target));
  KINDRED_TRY(const Shape shape, BroadcastShapes(op, {op.InShape(0), target}));
  if (ElementCount(shape) == ElementCount(op.InShape(0))) {
    op.View(0, op.In(0), shape);
    return {};
  }
  Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
  stage.body = op.Broadcast(op.In(0), stage);
  op.kind = UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

Result<void> Tile(OpContext& op) {
  KINDRED_TRY(const Shape repeats, op.KnownInts(1, "repeats"));
  const Shape in = op.InShape(0);
  Shape shape = in;
  if (repeats.size() != in.size()) return Unsupported("repeats that do not name every dimension");
  for (std::size_t d = 0; d < in.size(); ++d)
    if (repeats[d] < 0 || __builtin_mul_overflow(shape[d], repeats[d], &shape[d]))
      return Unsupported("repeats " + ShapeText(repeats));
  if (shape == in) {
    op.View(0, op.In(0), shape);
    return {};
  }
  EmitGather(op, op.Out(0, op.InValue(0).type, shape), op.In(0), shape, [&](const Exprs& axes) {
    Exprs at;
    for (std::size_t d = 0; d < in.size(); ++d)
      at.push_back(in[d] == 1 ? IntExpr(0) : repeats[d] == 1 ? axes[d] : axes[d] % IntExpr(in[d]));
    return at;
  });
  return {};
}

constexpr std::int64_t kMostBlock = 1 << 20;

// Both are a reshape, a transposition and a reshape.
Result<void> Rearrange(OpContext& op, const Shape& split, const std::vector<std::int64_t>& perm,
                       const Shape& shape) {
  const int parts = op.ViewOf(op.In(0), split);
  Shape turned;
  for (const std::int64_t d : perm) turned.push_back(split[static_cast<std::size_t>(d)]);
  const int moved = op.Temp("moved", op.InValue(0).type, turned);
  EmitTranspose(op, moved, parts, perm);
  op.View(0, moved, shape);
  return {};
}

Result<void> DepthToSpace(OpContext& op) {
  const std::int64_t block = op.Int("blocksize", 1);
  const bool columns_first = op.Text("mode", "DCR") == "CRD";
  const Shape x = op.InShape(0);
  if (x.size() != 4 || block < 1 || block > kMostBlock || x[1] % (block * block) != 0)
    return Unsupported("an input of shape " + ShapeText(x));
  const std::int64_t depth = x[1] / (block * block);
  const Shape shape = {x[0], depth, x[2] * block, x[3] * block};
  if (columns_first)
    return Rearrange(op, {x[0], depth, block, block, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, shape);
  return Rearrange(op, {x[0], block, block, depth, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, shape);
}

Result<void> SpaceToDepth(OpContext& op) {
  const std::int64_t block = op.Int("blocksize", 1);
  const Shape x = op.InShape(0);
  if (x.size() != 4 || block < 1 || block > kMostBlock || x[2] % block != 0 || x[3] % block != 0)
    return Unsupported("an input of shape " + ShapeText(x));
  return Rearrange(op, {x[0], x[1], x[2] / block, block, x[3] / block, block}, {0, 3, 5, 1, 2, 4},
                   {x[0], x[1] * block * block, x[2] / block, x[3] / block});
}

}  // namespace

void AddMovementOps(LoweringTable& table) {
  table["Transpose"] = Transpose;
  table["Concat"] = Concat;
  table["Split"] = Split;
  table["Slice"] = Slice;
  table["Expand"] = Expand;
  table["Tile"] = Tile;
  table["DepthToSpace"] = DepthToSpace;
  table["SpaceToDepth"] = SpaceToDepth;
}

}  // namespace kindred
