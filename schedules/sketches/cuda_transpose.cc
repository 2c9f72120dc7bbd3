#include <algorithm>
#include <utility>

#include "schedules/sketches/cuda_pointwise.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

// Loads of the step, in workload form, that walk along the crossed axis and may be read at every
// point; each once.
std::vector<ExprPtr> StagedLoads(const Workload& workload, const PointwiseStep& step, int crossed) {
  std::vector<ExprPtr> loads;
  for (const Stage& stage : step.stages) {
    const RangeOf range = AxisRanges(workload, stage);
    Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad) return nullptr;
      for (const Stage& s : step.stages)
        if (s.tensor == e->index) return nullptr;
      const Tensor& t = workload.tensors[At(e->index)];
      const auto affine = AsAffine(*FlatIndex(t, e->args), static_cast<int>(stage.axes.size()));
      if (!affine || affine->coefficients[At(crossed)] != 1) return nullptr;
      for (std::size_t d = 0; d < e->args.size(); ++d) {
        const auto bounds = BoundsOf(*e->args[d], range);
        if (!bounds || bounds->low < 0 || bounds->high >= t.shape[d].value) return nullptr;
      }
      if (std::none_of(loads.begin(), loads.end(),
                       [&](const ExprPtr& other) { return SameExpr(*other, *e); }))
        loads.push_back(e);
      return nullptr;
    });
  }
  return loads;
}

std::int64_t Line(std::int64_t tile) { return tile + 1; }

}  // namespace

std::int64_t TransposedBytes(const Workload& workload, const PointwiseStep& step,
                             std::int64_t tile) {
  const int crossed = CrossedAxis(workload, step);
  std::int64_t bytes = 0;
  if (crossed < 0) return bytes;
  for (const ExprPtr& load : StagedLoads(workload, step, crossed))
    bytes += (tile * Line(tile) * ByteSize(load->type) + 127) / 128 * 128;
  return bytes;
}

StmtPtr LowerTransposed(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                        std::int64_t tile) {
  const Workload& w = *lowering.workload;
  const Stage& first = step.stages[0];
  const std::size_t spatial = At(first.spatial), last = spatial - 1;
  const std::size_t crossed = At(CrossedAxis(w, step));
  std::vector<ExprPtr> extents, tiles;
  std::vector<std::string> names;
  for (std::size_t a = 0; a < spatial; ++a) {
    extents.push_back(ExtentValue(first.axes[a].extent));
    const bool tiled = a == crossed || a == last;
    tiles.push_back(tiled ? CeilDiv(extents[a], tile) : extents[a]);
    names.push_back(tiled ? "tile_" + first.axes[a].name : first.axes[a].name);
  }
  const std::vector<ExprPtr> loads = StagedLoads(w, step, static_cast<int>(crossed));
  std::vector<int> shared;
  for (const ExprPtr& load : loads) {
    const Tensor& t = w.tensors[At(load->index)];
    shared.push_back(lowering.program.AddBuffer(
        {t.name + "_tile", t.type, tile * Line(tile), Scope::kShared, -1, ""}));
  }
  return Launch(
      lowering, Product(tiles), threads, [&](const ExprPtr& block, const ExprPtr& thread) {
        std::vector<StmtPtr> all;
        const std::vector<ExprPtr> origin = Decompose(lowering, block, tiles, names, all);
        // Over the points of the tile; `fast` is the axis that neighbouring threads walk along.
        const auto points = [&](std::size_t fast, const auto& make) {
          const int step_var = lowering.program.AddVar("step");
          const std::int64_t rounds = std::max<std::int64_t>(tile * tile / threads, 1);
          std::vector<StmtPtr> lets;
          const ExprPtr index = Bound(
              lowering, "index", rounds > 1 ? VarExpr(step_var) * threads + thread : thread, lets);
          const std::size_t slow = fast == last ? crossed : last;
          std::vector<ExprPtr> inside(spatial), values = origin;
          inside[fast] = Bound(lowering, "fast", index % IntExpr(tile), lets);
          inside[slow] = Bound(lowering, "slow", index / IntExpr(tile), lets);
          ExprPtr guard = tile * tile < threads ? BinaryExpr(Op::kLess, index, IntExpr(tile * tile))
                                                : IntExpr(1, DataType::kBool);
          for (const std::size_t a : {crossed, last}) {
            values[a] = Bound(lowering, first.axes[a].name, origin[a] * tile + inside[a], lets);
            guard = BinaryExpr(Op::kAnd, guard, BinaryExpr(Op::kLess, values[a], extents[a]));
          }
          const ExprPtr slot = inside[last] * Line(tile) + inside[crossed];
          lets.push_back(If(guard, make(values, slot)));
          return rounds > 1
                     ? For(step_var, IntExpr(rounds), LoopKind::kUnrolled, Block(std::move(lets)))
                     : Block(std::move(lets));
        };
        const LoadRule direct = lowering.RowMajor();
        all.push_back(points(crossed, [&](const std::vector<ExprPtr>& values, const ExprPtr& slot) {
          std::vector<StmtPtr> copies;
          for (std::size_t i = 0; i < loads.size(); ++i)
            copies.push_back(Store(shared[i], slot, LowerBody(loads[i], values, direct)));
          return Block(std::move(copies));
        }));
        all.push_back(Barrier());
        all.push_back(points(last, [&](const std::vector<ExprPtr>& values, const ExprPtr& slot) {
          const LoadRule load = [&](int tensor, std::span<const ExprPtr> indices, DataType type) {
            for (std::size_t i = 0; i < loads.size(); ++i) {
              if (loads[i]->index != tensor) continue;
              bool same = true;
              for (std::size_t d = 0; d < indices.size(); ++d)
                same = same && SameExpr(*SubstituteVars(loads[i]->args[d], values), *indices[d]);
              if (same) return lowering.Load(shared[i], slot);
            }
            return direct(tensor, indices, type);
          };
          return PointwiseLanes(lowering, step, AlongLastAxis(values), 1, load);
        }));
        return Block(std::move(all));
      });
}

}  // namespace kindred::internal
