// The pointwise CUDA sketch: elementwise chains, transposes, concatenations, padding, gathers.
//
// Stages of one shape share one step. Where a load walks another axis than the store, blocks may
// compute square tiles that such loads reach through shared memory.
//
// Decisions: whether pointwise temporaries are computed where they are read; threads per block; the
// tile of a transpose (0: none); elements of a thread's vector; vectors of a thread.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/path.h"
#include "schedules/sketch.h"
#include "schedules/sketches/cuda_pointwise.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

constexpr std::int64_t kPackBytes = 16;
constexpr std::int64_t kTileRounds = 64;  // elements of a tile per thread, at most

class CudaElementwiseSketch : public Sketch {
 public:
  CudaElementwiseSketch(const Workload& workload, const Target& target)
      : workload_(InlineStages(workload, WorthInlining(workload, 1, true))),
        target_(target),
        steps_(PointwiseSteps(workload_)) {
    for (const PointwiseStep& step : steps_) crossed_ |= CrossedAxis(workload_, step) >= 0;
  }

  std::string_view name() const override { return "elementwise"; }

  std::optional<Decision> Next(const Path& path) const override {
    if (!Find(path, "threads")) return Decision{"threads", {256, 128, 512}, {}};
    if (crossed_ && !Find(path, "tile"))
      return Offer(
          "tile", {64, 32, 128, 16, 0},
          [&](std::int64_t tile) {
            return tile * tile <= kTileRounds * Value(path, "threads") && Fits(tile);
          },
          0);
    if (!Find(path, "vector"))
      return Offer(
          "vector", {4, 2, 1, 8, 16}, [&](std::int64_t v) { return CanLoad(v); }, 1);
    // Tiles say how many vectors a thread moves.
    if (Value(path, "tile") > 0 && all_crossed()) return std::nullopt;
    if (!Find(path, "items")) return Decision{"items", {2, 4, 1, 8}, {}};
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    Lowering lowering(workload_);
    std::vector<StmtPtr> steps;
    const std::int64_t threads = Value(path, "threads"), tile = Value(path, "tile");
    for (const PointwiseStep& step : steps_) {
      if (tile > 0 && CrossedAxis(workload_, step) >= 0)
        steps.push_back(LowerTransposed(lowering, step, threads, tile, Value(path, "vector", 1)));
      else
        steps.push_back(LowerPointwise(lowering, step, threads,
                                       LanesOf(step, Value(path, "vector")),
                                       Value(path, "items", 1)));
    }
    lowering.program.body = Block(std::move(steps));
    return std::move(lowering.program);
  }

 private:
  bool all_crossed() const {
    return std::all_of(steps_.begin(), steps_.end(), [this](const PointwiseStep& step) {
      return CrossedAxis(workload_, step) >= 0;
    });
  }

  bool Fits(std::int64_t tile) const {
    return std::all_of(steps_.begin(), steps_.end(), [&](const PointwiseStep& step) {
      return TransposedBytes(workload_, step, tile) <= target_.gpu.shared_bytes_per_block;
    });
  }

  std::int64_t Points(const PointwiseStep& step) const {
    std::int64_t points = 1;
    for (const Axis& axis : step.stages[0].axes) points *= CapacityOf(workload_, axis.extent);
    return points;
  }

  // Some step has enough points, and its narrowest type fits a memory operation; wider ones take
  // several.
  bool CanLoad(std::int64_t lanes) const {
    return std::any_of(steps_.begin(), steps_.end(), [&](const PointwiseStep& step) {
      return LanesOf(step, lanes) == lanes &&
             lanes * NarrowestBytes(workload_, step.stages) <= kPackBytes;
    });
  }

  // Vectors of one row after another need few points; the last may be cut off.
  std::int64_t LanesOf(const PointwiseStep& step, std::int64_t lanes) const {
    lanes = std::max<std::int64_t>(lanes, 1);
    while (lanes > Points(step)) lanes /= 2;
    return lanes;
  }

  Workload workload_;
  const Target& target_;
  std::vector<PointwiseStep> steps_;
  bool crossed_ = false;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaElementwiseSketch(const Workload& workload, const Target& target) {
  for (const Stage& stage : workload.stages)
    if (stage.combiner != Combiner::kNone) return nullptr;
  return std::make_unique<CudaElementwiseSketch>(workload, target);
}

}  // namespace kindred
