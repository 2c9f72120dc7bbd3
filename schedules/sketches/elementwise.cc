// Pointwise workloads: elementwise chains, transposes, concatenations, padding, gathers.
//
// Stages of one shape share one pass. Axes are cut where conditions change (internal/segments.h),
// so that inner loops have no branches. Where a load walks another axis than the store, both axes
// are tiled and the lines of the load stay in the first cache.
//
// Decisions: vectors per step along the last axis (0: scalar code that the compiler vectorises);
// the tile of a transpose; unrolling.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/path.h"
#include "schedules/internal/segments.h"
#include "schedules/internal/tiles.h"
#include "schedules/sketch.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

constexpr std::size_t kMaxSegments = 32;

// Stride of each axis in the row-major index of a load; nullopt where it is not affine.
std::optional<std::vector<std::int64_t>> Strides(const Workload& w, const Stage& stage,
                                                 const Expr& load) {
  const Tensor& t = w.tensors[static_cast<std::size_t>(load.index)];
  const auto affine = AsAffine(*FlatIndex(t, load.args), static_cast<int>(stage.axes.size()));
  if (!affine) return std::nullopt;
  return affine->coefficients;
}

// The axis that some load walks contiguously while the last axis jumps in it; -1: none.
int CrossedAxis(const Workload& w, const Stage& stage) {
  int crossed = -1;
  const auto last = static_cast<std::size_t>(stage.spatial) - 1;
  Visit(*stage.body, [&](const Expr& e) {
    if (e.op != Op::kLoad || stage.spatial < 2) return;
    const auto strides = Strides(w, stage, e);
    if (!strides || (*strides)[last] == 0 || (*strides)[last] == 1) return;
    for (std::size_t a = 0; a < last; ++a)
      if ((*strides)[a] == 1 && stage.axes[a].extent.value > 1) crossed = static_cast<int>(a);
  });
  return crossed;
}

// Consecutive stages that one pass can compute: equal extents, and what one reads of another it
// reads at the very same point.
struct Pass {
  std::vector<Stage> stages;
  std::vector<std::int64_t> begin;
};

bool CanJoin(const Pass& pass, const Segment& segment) {
  const Stage& first = pass.stages[0];
  if (pass.begin != segment.begin || first.axes.size() != segment.stage.axes.size()) return false;
  for (std::size_t a = 0; a < first.axes.size(); ++a)
    if (!(first.axes[a].extent == segment.stage.axes[a].extent)) return false;
  bool fits = true;
  Visit(*segment.stage.body, [&](const Expr& e) {
    if (e.op != Op::kLoad) return;
    for (const Stage& s : pass.stages) {
      if (s.tensor != e.index) continue;
      for (std::size_t a = 0; a < e.args.size(); ++a)
        fits = fits && SameExpr(*e.args[a], *(VarExpr(static_cast<int>(a)) + pass.begin[a]));
    }
  });
  return fits;
}

class ElementwiseSketch : public Sketch {
 public:
  ElementwiseSketch(const Workload& workload, const Target& target)
      : workload_(InlineStages(workload, WorthInlining(workload, 1, true))), target_(target) {
    for (const Stage& stage : workload_.stages) {
      for (Segment& segment : CutStage(workload_, stage, kMaxSegments)) {
        crossed_ |= CrossedAxis(workload_, segment.stage) >= 0;
        if (!passes_.empty() && CanJoin(passes_.back(), segment))
          passes_.back().stages.push_back(std::move(segment.stage));
        else
          passes_.push_back({{std::move(segment.stage)}, segment.begin});
      }
    }
  }

  std::string_view name() const override { return "elementwise"; }

  std::optional<Decision> Next(const Path& path) const override {
    if (!Find(path, "vectors")) return Decision{"vectors", {1, 2, 4, 0}, {}};
    if (crossed_ && !Find(path, "tile")) return Decision{"tile", {16, 8, 32, 64, 0}, {}};
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    Lowering lowering(workload_);
    std::vector<StmtPtr> parts;
    for (const Pass& pass : passes_)
      parts.push_back(Emit(lowering, pass, Value(path, "vectors"), Value(path, "tile")));
    lowering.program.body = Block(std::move(parts));
    return std::move(lowering.program);
  }

 private:
  StmtPtr Emit(Lowering& lowering, const Pass& pass, std::int64_t vectors,
               std::int64_t tile) const {
    const Stage& first = pass.stages[0];
    const auto spatial = static_cast<std::size_t>(first.spatial);
    std::int64_t lanes = vectors > 0 ? target_.vector_bytes : 1;
    int crossed = -1;
    for (const Stage& s : pass.stages) {
      lanes = std::min<std::int64_t>(
          lanes, LanesFor(target_, s, workload_.tensors[static_cast<std::size_t>(s.tensor)].type));
      if (tile > 0) crossed = std::max(crossed, CrossedAxis(workload_, s));
    }
    const LoopKind outer = target_.threads > 1 ? LoopKind::kParallel : LoopKind::kSerial;
    std::vector<ExprPtr> values(spatial);
    if (spatial == 0) return Points(lowering, pass, values, 1, 1);

    // Tiled axes: loops over tiles outside, over the points of a tile inside.
    std::vector<std::size_t> order;
    for (std::size_t a = 0; a + 1 < spatial; ++a) order.push_back(a);
    const std::size_t last = spatial - 1;
    const auto columns = [&](const ExprPtr& base, const ExprPtr& extent, LoopKind kind) {
      return SplitLoop(lowering, first.axes[last].name, extent,
                       WithNarrowTails(VectorTiles(std::max<std::int64_t>(vectors, 1), lanes)),
                       kind, [&, base](const ExprPtr& column, std::int64_t size) {
                         values[last] = base + column;
                         const std::int64_t width = std::min(size, lanes);
                         return Points(lowering, pass, values, size / width, width);
                       });
    };
    const ExprPtr last_extent = ExtentValue(first.axes[last].extent);
    const std::function<StmtPtr(std::size_t)> nest = [&](std::size_t depth) -> StmtPtr {
      const LoopKind kind = depth == 0 ? outer : LoopKind::kSerial;
      if (depth == order.size()) {
        if (crossed < 0) return columns(IntExpr(0), last_extent, kind);
        // for tiles of the crossed axis, of the last axis: for points of the crossed axis, of the
        // last.
        const auto c = static_cast<std::size_t>(crossed);
        const std::int64_t sizes[] = {tile, 1};
        return SplitLoop(lowering, first.axes[c].name, ExtentValue(first.axes[c].extent), sizes,
                         kind, [&](const ExprPtr& row, std::int64_t rows) {
                           return SplitLoop(
                               lowering, first.axes[last].name, last_extent, sizes,
                               LoopKind::kSerial, [&](const ExprPtr& column, std::int64_t width) {
                                 if (rows == 1) {
                                   values[c] = row;
                                   return columns(column, IntExpr(width), LoopKind::kSerial);
                                 }
                                 const int var = lowering.program.AddVar(first.axes[c].name);
                                 values[c] = row + VarExpr(var);
                                 return For(var, IntExpr(rows), LoopKind::kSerial,
                                            columns(column, IntExpr(width), LoopKind::kSerial));
                               });
                         });
      }
      const std::size_t axis = order[depth];
      if (static_cast<int>(axis) == crossed) return nest(depth + 1);
      const int var = lowering.program.AddVar(first.axes[axis].name);
      values[axis] = VarExpr(var);
      return For(var, ExtentValue(first.axes[axis].extent), kind, nest(depth + 1));
    };
    return nest(0);
  }

  // vectors x lanes points from `values` on, every stage of the pass.
  StmtPtr Points(Lowering& lowering, const Pass& pass, std::vector<ExprPtr> values,
                 std::int64_t vectors, std::int64_t lanes) const {
    std::vector<LoopSpec> inside;
    const auto along = [&](const char* name, std::int64_t count, LoopKind kind, std::int64_t step) {
      if (count == 1) return;
      const int var = lowering.program.AddVar(name);
      inside.push_back({var, IntExpr(count), kind});
      values.back() = values.back() + VarExpr(var) * step;
    };
    along("u", vectors, LoopKind::kUnrolled, lanes);
    along("v", lanes, LoopKind::kVectorized, 1);
    std::vector<StmtPtr> stores;
    for (const Stage& s : pass.stages) {
      std::vector<ExprPtr> at;
      for (std::size_t a = 0; a < values.size(); ++a) at.push_back(values[a] + pass.begin[a]);
      stores.push_back(lowering.StoreResult(s, at, LowerBody(s.body, values, lowering.RowMajor())));
    }
    return Nest(inside, stores.size() == 1 ? stores[0] : Block(std::move(stores)));
  }

  Workload workload_;
  const Target& target_;
  std::vector<Pass> passes_;
  bool crossed_ = false;
};

}  // namespace

std::unique_ptr<Sketch> MakeElementwiseSketch(const Workload& workload, const Target& target) {
  for (const Stage& stage : workload.stages)
    if (stage.combiner != Combiner::kNone) return nullptr;
  return std::make_unique<ElementwiseSketch>(workload, target);
}

}  // namespace kindred
