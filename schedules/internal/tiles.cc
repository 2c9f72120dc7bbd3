#include "schedules/internal/tiles.h"

#include <algorithm>
#include <utility>

namespace kindred::internal {

StmtPtr SplitLoop(Lowering& lowering, const std::string& name, const ExprPtr& extent,
                  std::span<const std::int64_t> sizes, LoopKind kind,
                  const std::function<StmtPtr(const ExprPtr& base, std::int64_t size)>& tile) {
  std::vector<StmtPtr> parts;
  ExprPtr rest = extent, offset = IntExpr(0);
  for (const std::int64_t size : sizes) {
    const ExprPtr count = rest / IntExpr(size);
    const LoopKind loop = parts.empty() ? kind : LoopKind::kSerial;
    if (IsInt(*count, 0)) continue;
    if (IsInt(*count, 1)) {
      parts.push_back(tile(offset, size));
    } else {
      const int var = lowering.program.AddVar(name);
      parts.push_back(For(var, count, loop, tile(offset + VarExpr(var) * size, size)));
    }
    rest = rest % IntExpr(size);
    offset = offset + count * size;
    if (IsInt(*rest, 0)) break;
  }
  return parts.size() == 1 ? parts[0] : Block(std::move(parts));
}

int LanesFor(const Target& target, const Stage& stage, DataType stored) {
  int bytes = 4;
  const auto widen = [&bytes](DataType type) {
    bytes = std::max(bytes, ByteSize(DefaultAccumulator(type)));
  };
  // Indices are widened once, where they are stored.
  if (!IsArg(stage.combiner)) widen(stored);
  if (stage.combiner != Combiner::kNone) widen(stage.accumulator);
  Visit(*stage.body, [&](const Expr& e) {
    // Index arithmetic is i64 and does not count; an i64 value does where it is loaded or cast.
    if (e.type != DataType::kI64 || e.op == Op::kLoad) widen(e.type);
  });
  return std::max(target.vector_bytes / bytes, 1);
}

std::vector<std::int64_t> VectorTiles(std::int64_t vectors, std::int64_t lanes) {
  std::vector<std::int64_t> sizes;
  if (lanes > 1 && vectors > 1) sizes.push_back(vectors * lanes);
  if (lanes > 1) sizes.push_back(lanes);
  sizes.push_back(1);
  return sizes;
}

std::vector<std::int64_t> WithNarrowTails(std::vector<std::int64_t> sizes) {
  // Vectors of fewer elements are no faster than scalar code.
  constexpr std::int64_t kLeast = 4;
  if (sizes.size() < 2) return sizes;
  sizes.pop_back();
  for (std::int64_t width = sizes.back() / 2; width >= kLeast; width /= 2) sizes.push_back(width);
  sizes.push_back(1);
  return sizes;
}

namespace {

// One tile of a stage: rows x vectors x lanes points, at fixed outer axes.
class TilePrinter {
 public:
  TilePrinter(Lowering& lowering, const Stage& stage, const ExprPtr& body, const LoadRule& load,
              const std::function<StmtPtr(std::span<const ExprPtr>, ExprPtr)>& store, int unroll)
      : lowering_(lowering),
        stage_(stage),
        body_(body),
        load_(load),
        store_(store),
        unroll_(unroll) {}

  // `values`: the spatial axes' values; the last is the tile's first column, the last but one its
  // first row.
  StmtPtr Tile(std::vector<ExprPtr> values, std::int64_t rows, std::int64_t vectors,
               std::int64_t lanes) {
    const std::size_t spatial = values.size();
    std::vector<LoopSpec> inside;
    ExprPtr slot = IntExpr(0);
    // A loop inside the tile: `step` elements of the axis, `registers` of the accumulators each.
    const auto along = [&](const char* name, std::int64_t count, LoopKind kind, std::int64_t step,
                           std::size_t axis, std::int64_t registers) {
      if (count == 1) return;
      const int var = lowering_.program.AddVar(name);
      inside.push_back({var, IntExpr(count), kind});
      values[axis] = values[axis] + VarExpr(var) * step;
      slot = slot + VarExpr(var) * registers;
    };
    if (rows > 1) along("r", rows, LoopKind::kUnrolled, 1, spatial - 2, vectors * lanes);
    along("u", vectors, LoopKind::kUnrolled, lanes, spatial - 1, lanes);
    along("v", lanes, LoopKind::kVectorized, 1, spatial - 1, 1);
    if (stage_.combiner == Combiner::kNone)
      return Nest(inside, store_(values, LowerBody(body_, values, load_)));

    const std::int64_t slots = rows * vectors * lanes;
    const std::vector<ExprPtr> point = values;
    std::vector<LoopSpec> reduction;
    for (std::size_t a = spatial; a < stage_.axes.size(); ++a) {
      const int var = lowering_.program.AddVar(stage_.axes[a].name);
      reduction.push_back({var, ExtentValue(stage_.axes[a].extent)});
      values.push_back(VarExpr(var));
    }
    if (!reduction.empty()) reduction.back().unroll = unroll_;
    const ExprPtr body = LowerBody(body_, values, load_);
    StmtPtr start, step;
    ExprPtr result;
    if (IsArg(stage_.combiner)) {
      const ArgRegisters registers = AddArgRegisters(lowering_, stage_, slots);
      start = ArgStart(lowering_, registers, stage_.combiner, slot);
      step = ArgStep(lowering_, registers, stage_.combiner, slot, body, values[spatial]);
      result = lowering_.Load(registers.position, slot);
    } else {
      const int acc = lowering_.AddRegisters("acc", stage_.accumulator, slots);
      result = lowering_.Load(acc, slot);
      start = Store(acc, slot, InitialValue(stage_.combiner, stage_.accumulator));
      step = Store(acc, slot, Combine(stage_.combiner, result, body));
    }
    return Block({Nest(inside, start), Nest(reduction, Nest(inside, step)),
                  Nest(inside, store_(point, result))});
  }

 private:
  Lowering& lowering_;
  const Stage& stage_;
  const ExprPtr& body_;
  const LoadRule& load_;
  const std::function<StmtPtr(std::span<const ExprPtr>, ExprPtr)>& store_;
  int unroll_;
};

}  // namespace

StmtPtr TiledStage(
    Lowering& lowering, const Stage& stage, const StageTile& tile, std::span<const ExprPtr> outer,
    const LoadRule& load,
    const std::function<StmtPtr(std::span<const ExprPtr> indices, ExprPtr value)>& store) {
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  const ExprPtr body = GuardPadding(*lowering.workload, stage);
  TilePrinter printer(lowering, stage, body, load, store, tile.unroll);
  std::vector<ExprPtr> values(outer.begin(), outer.end());
  bool outermost = true;
  const std::function<StmtPtr()> next = [&]() -> StmtPtr {
    const std::size_t axis = values.size();
    if (axis == spatial) return printer.Tile(values, 1, 1, 1);
    const Axis& a = stage.axes[axis];
    const LoopKind kind = tile.parallel && outermost ? LoopKind::kParallel : LoopKind::kSerial;
    outermost = false;
    if (axis + 2 == spatial && tile.rows > 1) {
      const std::int64_t sizes[] = {tile.rows, 1};
      return SplitLoop(lowering, a.name, ExtentValue(a.extent), sizes, kind,
                       [&](const ExprPtr& row, std::int64_t rows) {
                         const Axis& c = stage.axes[axis + 1];
                         return SplitLoop(
                             lowering, c.name, ExtentValue(c.extent),
                             VectorTiles(tile.vectors, tile.lanes), LoopKind::kSerial,
                             [&](const ExprPtr& column, std::int64_t columns) {
                               auto point = values;
                               point.push_back(row);
                               point.push_back(column);
                               const std::int64_t lanes = std::min(columns, tile.lanes);
                               return printer.Tile(point, rows, columns / lanes, lanes);
                             });
                       });
    }
    if (axis + 1 == spatial)
      return SplitLoop(lowering, a.name, ExtentValue(a.extent),
                       VectorTiles(tile.vectors, tile.lanes), kind,
                       [&](const ExprPtr& column, std::int64_t columns) {
                         auto point = values;
                         point.push_back(column);
                         const std::int64_t lanes = std::min(columns, tile.lanes);
                         return printer.Tile(point, 1, columns / lanes, lanes);
                       });
    const int var = lowering.program.AddVar(a.name);
    values.push_back(VarExpr(var));
    return For(var, ExtentValue(a.extent), kind, next());
  };
  return next();
}

StmtPtr TiledStage(Lowering& lowering, const Stage& stage, const StageTile& tile) {
  return TiledStage(lowering, stage, tile, {}, lowering.RowMajor(),
                    [&](std::span<const ExprPtr> indices, ExprPtr value) {
                      return lowering.StoreResult(stage, indices, std::move(value));
                    });
}

}  // namespace kindred::internal
