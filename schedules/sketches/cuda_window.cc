// The window CUDA sketch: depthwise convolution, pooling, local sums (see window.h), NCHW and NHWC.
// A thread computes a tile of neighbouring outputs, `rows` outside of `vector` along the innermost
// axis; windows that overlap in the tile share what they read, which the compiler finds in the
// written-out loops. Pointwise stages before are computed where they are read, those after on the
// tile in registers.
//
// Decisions: threads per block; the tile; whether the window's points are written out.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/path.h"
#include "schedules/sketch.h"
#include "schedules/sketches/cuda_common.h"
#include "schedules/sketches/window.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

// Combinations of a tile that is written out in full, at most; and its registers.
constexpr std::int64_t kMaxWrittenOut = 640, kMaxTile = 64, kPackBytes = 16;

std::size_t At(int i) { return static_cast<std::size_t>(i); }

struct WindowTile {
  std::int64_t threads = 128, lanes = 1, rows = 1;
  bool written_out = true;
};

class WindowLowering {
 public:
  WindowLowering(const Workload& w, const WindowPattern& pattern, std::vector<Stage> stages,
                 const WindowTile& tile)
      : w_(w), p_(pattern), stages_(std::move(stages)), tile_(tile), lowering_(w) {}

  Program Run() {
    const Stage& anchor = stages_[0];
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    // As the last stage lies in memory.
    const std::vector<int> order = Order();
    for (const int axis : order) {
      std::int64_t extent = p_.Extent(axis);
      if (axis == p_.x) extent /= tile_.lanes;
      if (axis == p_.row) extent /= tile_.rows;
      extents.push_back(IntExpr(extent));
      names.push_back(anchor.axes[At(axis)].name);
    }
    const ExprPtr count = Product(extents);
    lowering_.program.body = Launch(
        lowering_, CeilDiv(count, tile_.threads), tile_.threads,
        [&](const ExprPtr& block, const ExprPtr& thread) {
          std::vector<StmtPtr> all, inside;
          const ExprPtr index = Bound(lowering_, "index", block * tile_.threads + thread, all);
          const std::vector<ExprPtr> values = Decompose(lowering_, index, extents, names, inside);
          origin_.assign(anchor.axes.size(), IntExpr(0));
          for (std::size_t i = 0; i < order.size(); ++i) {
            origin_[At(order[i])] = values[i] * (order[i] == p_.x     ? tile_.lanes
                                                 : order[i] == p_.row ? tile_.rows
                                                                      : 1);
          }
          inside.push_back(Work());
          all.push_back(If(BinaryExpr(Op::kLess, index, count), Block(std::move(inside))));
          return Block(std::move(all));
        });
    return std::move(lowering_.program);
  }

 private:
  std::vector<int> Order() const {
    if (!p_.chain.after_axes.empty()) return p_.chain.after_axes.back();
    std::vector<int> order;
    for (int a = 0; a < p_.spatial; ++a) order.push_back(a);
    return order;
  }

  // make(values of the anchor's axes, slot) at every point of the tile.
  StmtPtr Points(const std::function<ExprPtr(const std::vector<ExprPtr>&, const ExprPtr&)>& value,
                 const std::function<StmtPtr(const std::vector<ExprPtr>&, const ExprPtr& slot,
                                             const ExprPtr& value)>& store) {
    const int r = lowering_.program.AddVar("r"), v = lowering_.program.AddVar("v");
    const ExprPtr row = tile_.rows > 1 ? VarExpr(r) : IntExpr(0);
    const ExprPtr lane = tile_.lanes > 1 ? VarExpr(v) : IntExpr(0);
    std::vector<ExprPtr> at = origin_;
    if (p_.row >= 0) at[At(p_.row)] = at[At(p_.row)] + row;
    at[At(p_.x)] = at[At(p_.x)] + lane;
    const ExprPtr slot = row * tile_.lanes + lane;
    return For(r, IntExpr(tile_.rows), LoopKind::kUnrolled,
               VectorStatement(v, tile_.lanes, value(at, slot),
                               [&](const ExprPtr& settled) { return store(at, slot, settled); }));
  }

  StmtPtr Work() {
    const Stage& anchor = stages_[0];
    const int acc = lowering_.AddRegisters("acc", p_.accumulator, tile_.rows * tile_.lanes);
    std::vector<StmtPtr> all = {Points(
        [&](const auto&, const ExprPtr&) { return InitialValue(p_.combiner, p_.accumulator); },
        [&](const auto&, const ExprPtr& slot, const ExprPtr& value) {
          return Store(acc, slot, value);
        })};
    std::vector<LoopSpec> loops;
    for (const int axis : p_.k) {
      const int var = lowering_.program.AddVar(anchor.axes[At(axis)].name);
      origin_[At(axis)] = VarExpr(var);
      loops.push_back({var, IntExpr(p_.Extent(axis)),
                       tile_.written_out ? LoopKind::kUnrolled : LoopKind::kSerial});
    }
    const ExprPtr body = GuardPadding(w_, anchor);
    all.push_back(Nest(
        loops, Points([&](const std::vector<ExprPtr>& at,
                          const ExprPtr&) { return LowerBody(body, at, lowering_.RowMajor()); },
                      [&](const auto&, const ExprPtr& slot, const ExprPtr& value) {
                        return Store(acc, slot,
                                     Combine(p_.combiner, lowering_.Load(acc, slot), value));
                      })));
    std::vector<int> identity;
    for (int a = 0; a < p_.spatial; ++a) identity.push_back(a);
    all.push_back(Finish(anchor, identity, [&](const auto&, const ExprPtr& slot) {
      return lowering_.Load(acc, slot);
    }));
    for (std::size_t i = 1; i < stages_.size(); ++i) {
      const Stage& stage = stages_[i];
      const std::vector<int>& axes = p_.chain.after_axes[i - 1];
      const ExprPtr after = GuardPadding(w_, stage);
      all.push_back(Finish(stage, axes, [&](const std::vector<ExprPtr>& at, const ExprPtr& slot) {
        return LowerBody(after, Permuted(axes, at),
                         [&, direct = lowering_.RowMajor()](
                             int tensor, std::span<const ExprPtr> indices, DataType type) {
                           for (const auto& [id, buffer] : kept_)
                             if (id == tensor) return lowering_.Load(buffer, slot);
                           return direct(tensor, indices, type);
                         });
      }));
    }
    return Block(std::move(all));
  }

  static std::vector<ExprPtr> Permuted(const std::vector<int>& axes,
                                       const std::vector<ExprPtr>& at) {
    std::vector<ExprPtr> values;
    for (const int axis : axes) values.push_back(at[At(axis)]);
    return values;
  }

  // The stage's values as its tensor rounds them; an output is stored.
  StmtPtr Finish(
      const Stage& stage, const std::vector<int>& axes,
      const std::function<ExprPtr(const std::vector<ExprPtr>&, const ExprPtr& slot)>& value) {
    const Tensor& t = w_.tensors[At(stage.tensor)];
    const int buffer = lowering_.AddRegisters(t.name, t.type, tile_.rows * tile_.lanes);
    std::vector<StmtPtr> all = {
        Points(value, [&](const auto&, const ExprPtr& slot, const ExprPtr& settled) {
          return Store(buffer, slot, CastExpr(t.type, settled));
        })};
    kept_.emplace_back(stage.tensor, buffer);
    if (t.role == Role::kOutput)
      all.push_back(
          Points([&](const auto&, const ExprPtr& slot) { return lowering_.Load(buffer, slot); },
                 [&](const std::vector<ExprPtr>& at, const ExprPtr&, const ExprPtr& settled) {
                   return lowering_.StoreResult(stage, Permuted(axes, at), settled);
                 }));
    return Block(std::move(all));
  }

  const Workload& w_;
  const WindowPattern& p_;
  const std::vector<Stage> stages_;  // the window, then what comes after
  const WindowTile tile_;
  Lowering lowering_;
  std::vector<ExprPtr> origin_;
  std::vector<std::pair<int, int>> kept_;  // tensor, register buffer
};

class CudaWindowSketch : public Sketch {
 public:
  CudaWindowSketch(Workload workload, WindowPattern pattern, std::vector<Stage> stages)
      : workload_(std::move(workload)),
        pattern_(std::move(pattern)),
        stages_(std::move(stages)),
        narrowest_(NarrowestBytes(workload_, stages_)) {}

  std::string_view name() const override { return "window"; }

  std::optional<Decision> Next(const Path& path) const override {
    if (!Find(path, "threads")) return Decision{"threads", {128, 256, 64}, {}};
    if (!Find(path, "vector"))
      return Offer(
          "vector", {4, 2, 8, 1, 16},
          [&](std::int64_t n) {
            return pattern_.Extent(pattern_.x) % n == 0 && n * narrowest_ <= kPackBytes;
          },
          1);
    const std::int64_t lanes = Value(path, "vector");
    if (pattern_.row >= 0 && !Find(path, "rows"))
      return Offer(
          "rows", {1, 2, 4, 8},
          [&](std::int64_t n) {
            return pattern_.Extent(pattern_.row) % n == 0 && n * lanes <= kMaxTile;
          },
          1);
    if (!Find(path, "written_out") &&
        pattern_.Window() * lanes * Value(path, "rows", 1) <= kMaxWrittenOut)
      return YesNo("written_out", true);
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    const WindowTile tile{Value(path, "threads"), Value(path, "vector"), Value(path, "rows", 1),
                          Value(path, "written_out") != 0};
    return WindowLowering(workload_, pattern_, stages_, tile).Run();
  }

 private:
  Workload workload_;
  WindowPattern pattern_;
  std::vector<Stage> stages_;
  int narrowest_;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaWindowSketch(const Workload& workload, const Target&) {
  if (!workload.symbols.empty()) return nullptr;
  auto pattern = MatchWindow(workload);
  if (!pattern) return nullptr;
  std::vector<bool> before(workload.stages.size(), false);
  for (const int s : pattern->chain.before) {
    before[At(s)] = CanInline(workload, workload.stages[At(s)]);
    if (!before[At(s)]) return nullptr;
  }
  Workload inlined = InlineStages(workload, before);
  std::vector<Stage> stages;
  const auto add = [&](int s) {
    const int tensor = workload.stages[At(s)].tensor;
    for (const Stage& stage : inlined.stages)
      if (stage.tensor == tensor) stages.push_back(stage);
  };
  add(pattern->chain.anchor);
  for (const int s : pattern->chain.after) add(s);
  if (stages.size() != inlined.stages.size()) return nullptr;
  return std::make_unique<CudaWindowSketch>(std::move(inlined), std::move(*pattern),
                                            std::move(stages));
}

}  // namespace kindred
