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

// Elements from one line of a tile in shared memory to the next.
std::int64_t Line(const TransposeTile& tile, DataType type) {
  constexpr std::int64_t kBankBytes = 4;
  return tile.crossed + std::max<std::int64_t>(kBankBytes / ByteSize(type), 1);
}

std::int64_t PowerOfTwoFrom(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// The longest vector of which the axis consists; at most `lanes`.
std::int64_t LanesAlong(const Axis& axis, std::int64_t lanes, std::int64_t tile) {
  if (axis.extent.symbol >= 0) return 1;
  while (axis.extent.value % lanes != 0 || tile % lanes != 0) lanes /= 2;
  return lanes;
}

}  // namespace

TransposeTile TileOf(const Workload& workload, const PointwiseStep& step, std::int64_t size) {
  constexpr std::int64_t kLongest = 1024;
  const Stage& first = step.stages[0];
  const auto extent = [&](int axis) {
    return PowerOfTwoFrom(CapacityOf(workload, first.axes[At(axis)].extent));
  };
  const std::int64_t crossed = extent(CrossedAxis(workload, step)),
                     last = extent(first.spatial - 1);
  TransposeTile tile{std::min(size, crossed), std::min(size, last)};
  tile.last = std::min({last, tile.last * (size / tile.crossed), kLongest});
  tile.crossed = std::min({crossed, size * size / tile.last, kLongest});
  return tile;
}

std::int64_t TransposedBytes(const Workload& workload, const PointwiseStep& step,
                             std::int64_t size) {
  const int crossed = CrossedAxis(workload, step);
  std::int64_t bytes = 0;
  if (crossed < 0 || size == 0) return bytes;
  const TransposeTile tile = TileOf(workload, step, size);
  for (const ExprPtr& load : StagedLoads(workload, step, crossed)) {
    const DataType type = workload.tensors[At(load->index)].type;
    bytes += (tile.last * Line(tile, type) * ByteSize(type) + 127) / 128 * 128;
  }
  return bytes;
}

StmtPtr LowerTransposed(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                        std::int64_t size, std::int64_t lanes) {
  const Workload& w = *lowering.workload;
  const Stage& first = step.stages[0];
  const std::size_t spatial = At(first.spatial), last = spatial - 1;
  const std::size_t crossed = At(CrossedAxis(w, step));
  const TransposeTile tile = TileOf(w, step, size);
  const auto tile_of = [&](std::size_t axis) { return axis == last ? tile.last : tile.crossed; };
  std::vector<ExprPtr> extents, tiles;
  std::vector<std::string> names;
  for (std::size_t a = 0; a < spatial; ++a) {
    extents.push_back(ExtentValue(first.axes[a].extent));
    const bool tiled = a == crossed || a == last;
    tiles.push_back(tiled ? CeilDiv(extents[a], tile_of(a)) : extents[a]);
    names.push_back(tiled ? "tile_" + first.axes[a].name : first.axes[a].name);
  }
  const std::vector<ExprPtr> loads = StagedLoads(w, step, static_cast<int>(crossed));
  std::vector<int> shared;
  std::vector<std::int64_t> lines;
  for (const ExprPtr& load : loads) {
    const Tensor& t = w.tensors[At(load->index)];
    lines.push_back(Line(tile, t.type));
    shared.push_back(lowering.program.AddBuffer(
        {t.name + "_tile", t.type, tile.last * lines.back(), Scope::kShared, -1, ""}));
  }
  struct Point {
    std::vector<ExprPtr> values;
    ExprPtr line, column;  // in the tile: along the last and the crossed axis
  };
  return Launch(
      lowering, Product(tiles), threads, [&](const ExprPtr& block, const ExprPtr& thread) {
        std::vector<StmtPtr> all;
        const std::vector<ExprPtr> origin = Decompose(lowering, block, tiles, names, all);
        // Over the vectors of the tile, of `width` elements along `fast`, the axis that
        // neighbouring threads walk along.
        const auto points = [&](std::size_t fast, std::int64_t width, bool guarded,
                                const std::function<StmtPtr(const Point&)>& make) {
          const int step_var = lowering.program.AddVar("step");
          const std::int64_t vectors = tile.last * tile.crossed / width;
          const std::int64_t rounds = std::max<std::int64_t>(vectors / threads, 1);
          std::vector<StmtPtr> lets;
          const ExprPtr index =
              Bound(lowering, "index", VarExpr(step_var) * threads + thread, lets);
          const std::size_t slow = fast == last ? crossed : last;
          const std::int64_t per_line = tile_of(fast) / width;
          std::vector<ExprPtr> inside(spatial);
          inside[fast] = Bound(lowering, "fast", index % IntExpr(per_line) * width, lets);
          inside[slow] = Bound(lowering, "slow", index / IntExpr(per_line), lets);
          Point point{origin, inside[last], inside[crossed]};
          ExprPtr guard = vectors < threads ? BinaryExpr(Op::kLess, index, IntExpr(vectors))
                                            : IntExpr(1, DataType::kBool);
          for (const std::size_t a : {crossed, last}) {
            point.values[a] =
                Bound(lowering, first.axes[a].name, origin[a] * tile_of(a) + inside[a], lets);
            if (guarded)
              guard =
                  BinaryExpr(Op::kAnd, guard, BinaryExpr(Op::kLess, point.values[a], extents[a]));
          }
          lets.push_back(If(guard, make(point)));
          return For(step_var, IntExpr(rounds), guarded ? LoopKind::kSerial : LoopKind::kUnrolled,
                     Block(std::move(lets)), guarded ? 4 : 1);
        };
        // Whole tiles have no conditions, so that all their loads are under way at once.
        ExprPtr whole = IntExpr(1, DataType::kBool);
        for (const std::size_t a : {crossed, last})
          whole = BinaryExpr(Op::kAnd, whole,
                             BinaryExpr(Op::kLessEqual, (origin[a] + 1) * tile_of(a), extents[a]));
        const auto pass = [&](std::size_t fast, const std::function<StmtPtr(const Point&)>& make) {
          const std::int64_t width = LanesAlong(first.axes[fast], lanes, tile_of(fast));
          all.push_back(
              If(whole, points(fast, width, false, make), points(fast, width, true, make)));
        };
        const LoadRule direct = lowering.RowMajor();
        pass(crossed, [&](const Point& point) {
          const std::int64_t width = LanesAlong(first.axes[crossed], lanes, tile.crossed);
          std::vector<StmtPtr> copies;
          for (std::size_t i = 0; i < loads.size(); ++i) {
            const int v = lowering.program.AddVar("v");
            const ExprPtr lane = width > 1 ? VarExpr(v) : IntExpr(0);
            std::vector<ExprPtr> values = point.values;
            values[crossed] = values[crossed] + lane;
            copies.push_back(VectorStatement(
                v, width, LowerBody(loads[i], values, direct), [&](const ExprPtr& value) {
                  return Store(shared[i], point.line * lines[i] + point.column + lane, value);
                }));
          }
          return Block(std::move(copies));
        });
        all.push_back(Barrier());
        pass(last, [&](const Point& point) {
          const PointwisePoints along = AlongLastAxis(point.values);
          const LaneLoads rule = [&](const ExprPtr& lane) -> LoadRule {
            return [&, lane](int tensor, std::span<const ExprPtr> indices, DataType type) {
              const std::vector<ExprPtr> values = along.at(lane);
              for (std::size_t i = 0; i < loads.size(); ++i) {
                if (loads[i]->index != tensor) continue;
                bool same = true;
                for (std::size_t d = 0; d < indices.size(); ++d)
                  same = same && SameExpr(*SubstituteVars(loads[i]->args[d], values), *indices[d]);
                if (same)
                  return lowering.Load(shared[i], (point.line + lane) * lines[i] + point.column);
              }
              return direct(tensor, indices, type);
            };
          };
          return PointwiseLanes(lowering, step, along,
                                LanesAlong(first.axes[last], lanes, tile.last), rule);
        });
        return Block(std::move(all));
      });
}

}  // namespace kindred::internal
