// The generic CUDA sketch: a launch per stage, a thread per element, reductions inside; for
// everything the language says.
//
// Decisions: whether pointwise temporaries are computed where they are read; threads per block;
// unrolling of the innermost reduction.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/path.h"
#include "schedules/internal/tiles.h"
#include "schedules/sketch.h"
#include "schedules/sketches/cuda_common.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

class CudaGenericSketch : public Sketch {
 public:
  explicit CudaGenericSketch(const Workload& workload) : workload_(workload), inlined_(workload) {
    const std::vector<bool> worth = WorthInlining(workload, 1, true);
    can_inline_ = std::find(worth.begin(), worth.end(), true) != worth.end();
    if (can_inline_) inlined_ = InlineStages(workload, worth);
  }

  std::string_view name() const override { return "generic"; }

  std::optional<Decision> Next(const Path& path) const override {
    if (can_inline_ && !Find(path, "inline")) return YesNo("inline", true);
    if (!Find(path, "threads")) return Decision{"threads", {128, 64, 256, 512}, {}};
    const Workload& w = Chosen(path);
    const bool reduces = std::any_of(w.stages.begin(), w.stages.end(),
                                     [](const Stage& s) { return s.combiner != Combiner::kNone; });
    if (reduces && !Find(path, "unroll")) return Decision{"unroll", {1, 2, 4, 8}, {}};
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    const Workload& w = Chosen(path);
    Lowering lowering(w);
    StageTile tile;
    tile.unroll = static_cast<int>(Value(path, "unroll", 1));
    std::vector<StmtPtr> steps;
    for (const Stage& stage : w.stages)
      steps.push_back(Step(lowering, stage, Value(path, "threads"), tile));
    lowering.program.body = Block(std::move(steps));
    return std::move(lowering.program);
  }

 private:
  static StmtPtr Step(Lowering& lowering, const Stage& stage, std::int64_t threads,
                      const StageTile& tile) {
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    for (std::size_t a = 0; a < static_cast<std::size_t>(stage.spatial); ++a) {
      extents.push_back(ExtentValue(stage.axes[a].extent));
      names.push_back(stage.axes[a].name);
    }
    const ExprPtr points = Product(extents);
    return Launch(
        lowering, CeilDiv(points, threads), threads,
        [&](const ExprPtr& block, const ExprPtr& thread) {
          std::vector<StmtPtr> all, inside;
          const ExprPtr point = Bound(lowering, "point", block * threads + thread, all);
          const std::vector<ExprPtr> at = Decompose(lowering, point, extents, names, inside);
          inside.push_back(TiledStage(lowering, stage, tile, at, lowering.RowMajor(),
                                      [&](std::span<const ExprPtr> indices, ExprPtr value) {
                                        return lowering.StoreResult(stage, indices,
                                                                    std::move(value));
                                      }));
          all.push_back(If(BinaryExpr(Op::kLess, point, points), Block(std::move(inside))));
          return Block(std::move(all));
        });
  }

  const Workload& Chosen(const Path& path) const {
    return can_inline_ && Value(path, "inline") != 0 ? inlined_ : workload_;
  }

  const Workload& workload_;
  Workload inlined_;
  bool can_inline_ = false;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaGenericSketch(const Workload& workload, const Target&) {
  return std::make_unique<CudaGenericSketch>(workload);
}

}  // namespace kindred
