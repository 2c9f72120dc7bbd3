// The generic sketch: stage after stage as a loop nest in output order, for everything the language
// says.
//
// Decisions: whether pointwise temporaries are computed where they are read; whether the innermost
// spatial axis is computed with explicit vectors, and how many; the rows of the register tile that
// reductions accumulate in; unrolling of the innermost reduction.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/path.h"
#include "schedules/internal/tiles.h"
#include "schedules/sketch.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

class GenericSketch : public Sketch {
 public:
  GenericSketch(const Workload& workload, const Target& target)
      : workload_(workload), target_(target), inlined_(workload) {
    const std::vector<bool> worth = WorthInlining(workload, 1, true);
    can_inline_ = std::find(worth.begin(), worth.end(), true) != worth.end();
    if (can_inline_) inlined_ = InlineStages(workload, worth);
  }

  std::string_view name() const override { return "generic"; }

  std::optional<Decision> Next(const Path& path) const override {
    const auto has = [&path](std::string_view name) { return Find(path, name).has_value(); };
    if (can_inline_ && !has("inline")) return YesNo("inline", true);
    const Workload& w = Chosen(path);
    const bool reduces = std::any_of(w.stages.begin(), w.stages.end(), [](const Stage& s) {
      return s.combiner != Combiner::kNone && s.spatial > 0;
    });
    if (!has("vectors")) return Decision{"vectors", {0, 1, 2, 4}, {}};
    if (Value(path, "vectors") > 0 && reduces) {
      if (!has("rows")) return Rows(w, Value(path, "vectors"));
      if (!has("unroll")) return Decision{"unroll", {1, 2, 4}, {}};
    }
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    const Workload& w = Chosen(path);
    Lowering lowering(w);
    std::vector<StmtPtr> stages;
    const std::int64_t vectors = Value(path, "vectors", 0);
    for (const Stage& stage : w.stages) {
      StageTile tile;
      tile.parallel = target_.threads > 1;
      if (vectors > 0) {
        tile.vectors = vectors;
        tile.rows = Value(path, "rows", 1);
        tile.lanes =
            LanesFor(target_, stage, w.tensors[static_cast<std::size_t>(stage.tensor)].type);
        tile.unroll = static_cast<int>(Value(path, "unroll", 1));
        if (stage.combiner == Combiner::kNone) tile.rows = 1;
      }
      stages.push_back(TiledStage(lowering, stage, tile));
    }
    lowering.program.body = Block(std::move(stages));
    return std::move(lowering.program);
  }

 private:
  const Workload& Chosen(const Path& path) const {
    return can_inline_ && Value(path, "inline") != 0 ? inlined_ : workload_;
  }

  // As many rows as leave the accumulators in registers.
  Decision Rows(const Workload& w, std::int64_t vectors) const {
    std::int64_t extent = 1;
    for (const Stage& s : w.stages)
      if (s.combiner != Combiner::kNone && s.spatial > 1)
        extent = std::max(extent, s.axes[static_cast<std::size_t>(s.spatial) - 2].extent.value);
    Decision d{"rows", {}, {}};
    for (const std::int64_t rows : {1, 2, 4, 6, 8, 12})
      if (rows == 1 || (rows <= extent && rows * vectors <= target_.vector_registers - 4))
        d.options.push_back(rows);
    return d;
  }

  const Workload& workload_;
  const Target& target_;
  Workload inlined_;
  bool can_inline_ = false;
};

}  // namespace

std::unique_ptr<Sketch> MakeGenericSketch(const Workload& workload, const Target& target) {
  return std::make_unique<GenericSketch>(workload, target);
}

}  // namespace kindred
