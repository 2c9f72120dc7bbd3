// Recognition, decisions and the sketch of windows; the loop nest is in window_lower.cc.
#include "schedules/sketches/window.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "schedules/internal/lower_common.h"
#include "schedules/sketch.h"
#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/contraction_epilogue.h"

namespace kindred {
namespace {

// Multiply-adds of a tile that is written out in full, at most; and points of its window.
constexpr std::int64_t kMaxWrittenOut = 640;
constexpr std::int64_t kMaxTileVectors = 24;

const Expr* SkipCasts(const Expr* e) {
  while (e->op == Op::kCast) e = e->args[0].get();
  return e;
}

std::int64_t Coefficient(const Affine& affine, int axis) {
  return affine.coefficients[static_cast<std::size_t>(axis)];
}

// A dimension of the operand mixes this axis with one of `others`.
bool MixesWith(const OperandAccess& operand, int axis, int first, int last) {
  for (const Affine& index : operand.index) {
    if (Coefficient(index, axis) == 0) continue;
    for (int other = first; other < last; ++other)
      if (Coefficient(index, other) != 0) return true;
  }
  return false;
}

}  // namespace

std::int64_t WindowPattern::Window() const {
  std::int64_t points = 1;
  for (const int axis : k) points *= Extent(axis);
  return points;
}

std::vector<std::vector<std::int64_t>> WindowPattern::Points() const {
  std::vector<std::vector<std::int64_t>> points = {{}};
  for (const int axis : k) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& point : points)
      for (std::int64_t i = 0; i < Extent(axis); ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    points = std::move(longer);
  }
  return points;
}

int BlockAxis(const WindowPattern& pattern) {
  return pattern.inner.empty() ? pattern.row : pattern.inner.front();
}

std::optional<WindowPattern> MatchWindow(const Workload& workload) {
  auto chain = MatchPointwiseChain(workload);
  if (!chain) return std::nullopt;
  const Stage& stage = workload.stages[static_cast<std::size_t>(chain->anchor)];
  WindowPattern pattern;
  pattern.combiner = stage.combiner;
  pattern.accumulator = stage.accumulator;
  pattern.spatial = stage.spatial;
  if (stage.spatial == 0 || (stage.combiner != Combiner::kSum && stage.combiner != Combiner::kMax &&
                             stage.combiner != Combiner::kMin && stage.combiner != Combiner::kProd))
    return std::nullopt;
  if (stage.accumulator != DataType::kF32 && stage.accumulator != DataType::kF64 &&
      stage.accumulator != DataType::kI32)
    return std::nullopt;
  for (const Axis& axis : stage.axes) pattern.extents.push_back(axis.extent.value);
  std::vector<int> order;
  if (chain->after.empty())
    for (int axis = 0; axis < stage.spatial; ++axis) order.push_back(axis);
  else
    order = chain->after_axes.back();
  pattern.x = order.back();

  // Which load is the data: the one that a reduction axis slides over.
  const int axes = static_cast<int>(stage.axes.size());
  const auto slides = [&](const OperandAccess& operand) {
    for (int axis = stage.spatial; axis < axes; ++axis)
      if (MixesWith(operand, axis, 0, stage.spatial)) return true;
    return false;
  };
  const Expr* body = SkipCasts(stage.body.get());
  if (body->op == Op::kMul && stage.combiner == Combiner::kSum) {
    if (ByteSize(stage.body->type) < ByteSize(body->type)) return std::nullopt;
    const auto left = MatchOperand(workload, stage, *body->args[0]);
    const auto right = MatchOperand(workload, stage, *body->args[1]);
    if (!left || !right) return std::nullopt;
    pattern.squared = SameExpr(*body->args[0], *body->args[1]);
    pattern.data = slides(*left) ? *left : *right;
    if (!pattern.squared) pattern.weight = slides(*left) ? *right : *left;
  } else {
    const auto data = MatchOperand(workload, stage, *stage.body);
    if (!data) return std::nullopt;
    pattern.data = *data;
  }
  const OperandAccess& data = pattern.data;
  const auto lowered = [&](DataType type) {
    return type != DataType::kC64 && IsInteger(type) == IsInteger(pattern.accumulator) &&
           ByteSize(type) <= ByteSize(pattern.accumulator);
  };
  if (!slides(data) || !lowered(data.type)) return std::nullopt;
  for (int axis = 0; axis < axes; ++axis)
    if (!data.Uses(axis)) return std::nullopt;
  // x walks the innermost dimension of the data.
  const auto dimensions = data.DimensionsOf(pattern.x);
  if (dimensions.size() != 1 || dimensions.front() + 1 != static_cast<int>(data.index.size()))
    return std::nullopt;
  if (pattern.weight) {
    const OperandAccess& weight = *pattern.weight;
    if (weight.padded || !lowered(weight.type)) return std::nullopt;
    if (weight.Uses(pattern.x) && weight.Stride(pattern.x) != 1) return std::nullopt;
  }

  for (int axis = stage.spatial; axis < axes; ++axis) pattern.k.push_back(axis);
  if (order.size() >= 2) {
    const int row = order[order.size() - 2];
    if (!pattern.weight || !pattern.weight->Uses(row)) pattern.row = row;
  }
  for (const int axis : order) {
    if (axis == pattern.x || axis == pattern.row) continue;
    (MixesWith(data, axis, stage.spatial, axes) ? pattern.inner : pattern.outer).push_back(axis);
  }
  pattern.chain = std::move(*chain);
  return pattern;
}

WindowPlan DecideWindow(const WindowPattern& pattern, const Target& target, Chooser& chooser) {
  WindowPlan plan;
  const bool direct = !pattern.data.padded && pattern.data.Stride(pattern.x) == 1;
  plan.copied = !direct || chooser.Choose("data_from", {0, 1}, {"direct", "copied"}) == 1;

  const int block_axis = BlockAxis(pattern);
  if (plan.copied && block_axis >= 0) {
    const std::int64_t all = pattern.Extent(block_axis);
    std::set<std::int64_t> counts = {1};
    for (const std::int64_t count : {2, 4, 8, 16})
      if (count * 2 <= all) counts.insert(EvenBlocks(all, count));
    plan.blocks =
        chooser.Choose("row_blocks", std::vector<std::int64_t>(counts.begin(), counts.end()));
  }

  // Tiles never leave the output: the last one along an axis starts early and computes some points
  // again.
  const std::int64_t width = pattern.Extent(pattern.x);
  const std::int64_t height = block_axis == pattern.row
                                  ? CeilDiv(pattern.Extent(pattern.row), plan.blocks)
                                  : pattern.Extent(pattern.row);
  std::int64_t widest = target.VectorLanes(ByteSize(pattern.accumulator));
  while (widest > width) widest /= 2;
  std::vector<std::int64_t> lane_options = {widest};
  if (widest >= 8) lane_options.push_back(widest / 2);
  plan.lanes = chooser.Choose("lanes", lane_options);

  const std::int64_t all_vectors = CeilDiv(width, plan.lanes);
  std::set<std::int64_t> tiles;
  for (const std::int64_t v : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4},
                               std::int64_t{7}, all_vectors}) {
    if (v > all_vectors || v > kMaxTileVectors) continue;
    for (const std::int64_t r : {1, 2, 3, 4, 6, 7, 8, 12, 14})
      if (r <= height &&
          r * v <= std::min<std::int64_t>(kMaxTileVectors, target.vector_registers - 4))
        tiles.insert(r * 100 + v);
  }
  std::vector<std::string> names;
  for (const std::int64_t tile : tiles)
    names.push_back(fmt::format("{}x{}", tile / 100, tile % 100 * plan.lanes));
  const std::int64_t tile =
      chooser.Choose("register_tile", std::vector<std::int64_t>(tiles.begin(), tiles.end()),
                     std::vector<std::string_view>(names.begin(), names.end()));
  plan.rows = tile / 100;
  plan.vectors = tile % 100;

  std::vector<std::int64_t> forms;
  if (pattern.Window() * plan.rows * plan.vectors <= kMaxWrittenOut) forms.push_back(1);
  if (forms.empty() || pattern.Window() > 9) forms.push_back(0);
  std::vector<std::string_view> form_labels;
  for (const std::int64_t form : forms) form_labels.push_back(form == 1 ? "written-out" : "loops");
  plan.written_out = chooser.Choose("window", forms, form_labels) == 1;

  if (plan.rows < height && plan.vectors < all_vectors)
    plan.rows_inner = chooser.Choose("tile_order", {0, 1}, {"rows-columns", "columns-rows"}) == 1;
  DecideBuild(target, chooser, plan.compiler, plan.flags);
  return plan;
}

namespace {

class WindowSketch : public Sketch {
 public:
  WindowSketch(const Workload& workload, const Target& target, WindowPattern pattern)
      : workload_(workload), target_(target), pattern_(std::move(pattern)) {}

  std::string_view name() const override { return "window"; }

  std::optional<Decision> Next(const Path& path) const override {
    Chooser chooser(path);
    DecideWindow(pattern_, target_, chooser);
    return chooser.pending();
  }

  Result<Program> Lower(const Path& path) const override {
    Chooser chooser(path);
    const WindowPlan plan = DecideWindow(pattern_, target_, chooser);
    if (chooser.pending())
      return Internal("window schedule is incomplete: '" + chooser.pending()->name +
                      "' is not decided");
    return LowerWindow(workload_, pattern_, plan, target_);
  }

 private:
  const Workload workload_;
  const Target target_;
  const WindowPattern pattern_;
};

}  // namespace

std::unique_ptr<Sketch> MakeWindowSketch(const Workload& workload, const Target& target) {
  if (target.kind != DeviceKind::kCpu) return nullptr;
  auto pattern = MatchWindow(workload);
  if (!pattern) return nullptr;
  internal::Lowering lowering(workload);
  if (!Epilogue(lowering, pattern->chain).VectorAlong(pattern->x)) return nullptr;
  return std::make_unique<WindowSketch>(workload, target, std::move(*pattern));
}

}  // namespace kindred
