#include "schedules/sketches/cuda_pointwise.h"

#include <algorithm>
#include <utility>

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

const Stage* ComputedBefore(std::span<const Stage> stages, int tensor) {
  for (const Stage& s : stages)
    if (s.tensor == tensor) return &s;
  return nullptr;
}

bool CanJoin(const PointwiseStep& step, const Stage& stage) {
  const Stage& first = step.stages[0];
  if (first.axes.size() != stage.axes.size()) return false;
  for (std::size_t a = 0; a < first.axes.size(); ++a)
    if (!(first.axes[a].extent == stage.axes[a].extent)) return false;
  bool fits = true;
  Visit(*stage.body, [&](const Expr& e) {
    if (e.op != Op::kLoad || ComputedBefore(step.stages, e.index) == nullptr) return;
    for (std::size_t a = 0; a < e.args.size(); ++a)
      fits = fits && SameExpr(*e.args[a], *VarExpr(static_cast<int>(a)));
  });
  return fits;
}

bool Reads(const Expr& body, int tensor) {
  bool reads = false;
  Visit(body, [&](const Expr& e) { reads |= e.op == Op::kLoad && e.index == tensor; });
  return reads;
}

// Whether a stage that is not of the step reads the tensor.
bool ReadOutside(const Workload& workload, const PointwiseStep& step, int tensor) {
  return std::any_of(workload.stages.begin(), workload.stages.end(), [&](const Stage& s) {
    return Reads(*s.body, tensor) && ComputedBefore(step.stages, s.tensor) == nullptr;
  });
}

}  // namespace

std::vector<PointwiseStep> PointwiseSteps(const Workload& workload) {
  std::vector<PointwiseStep> steps;
  for (Stage stage : workload.stages) {
    stage.body = GuardPadding(workload, stage);
    if (!steps.empty() && CanJoin(steps.back(), stage))
      steps.back().stages.push_back(std::move(stage));
    else
      steps.push_back({{std::move(stage)}});
  }
  return steps;
}

int CrossedAxis(const Workload& workload, const PointwiseStep& step) {
  int crossed = -1;
  for (const Stage& stage : step.stages) {
    if (stage.spatial < 2) continue;
    const std::size_t last = At(stage.spatial) - 1;
    Visit(*stage.body, [&](const Expr& e) {
      if (e.op != Op::kLoad || ComputedBefore(step.stages, e.index) != nullptr) return;
      const auto affine = AsAffine(*FlatIndex(workload.tensors[At(e.index)], e.args),
                                   static_cast<int>(stage.axes.size()));
      if (!affine) return;
      const auto& strides = affine->coefficients;
      if (strides[last] == 0 || strides[last] == 1) return;
      for (std::size_t a = 0; a < last; ++a)
        if (strides[a] == 1 && stage.axes[a].extent.value > 1) crossed = static_cast<int>(a);
    });
  }
  return crossed;
}

PointwisePoints AlongLastAxis(std::vector<ExprPtr> values) {
  return {[values = std::move(values)](const ExprPtr& lane) {
            std::vector<ExprPtr> at = values;
            if (!at.empty()) at.back() = at.back() + lane;
            return at;
          },
          nullptr};
}

StmtPtr PointwiseLanes(Lowering& lowering, const PointwiseStep& step, const PointwisePoints& points,
                       std::int64_t lanes, const LaneLoads& loads) {
  const Workload& w = *lowering.workload;
  const auto is_point = [&](const Tensor& t, std::span<const ExprPtr> indices,
                            std::span<const ExprPtr> at) {
    const Stage& first = step.stages[0];
    if (indices.size() != at.size()) return false;
    for (std::size_t a = 0; a < at.size(); ++a)
      if (!(t.shape[a] == first.axes[a].extent) || !SameExpr(*indices[a], *at[a])) return false;
    return true;
  };
  std::vector<StmtPtr> all;
  std::vector<std::pair<int, int>> kept;  // tensor, register buffer
  for (std::size_t i = 0; i < step.stages.size(); ++i) {
    const Stage& stage = step.stages[i];
    const Tensor& tensor = w.tensors[At(stage.tensor)];
    const auto body = [&](const ExprPtr& lane) {
      const std::vector<ExprPtr> at = points.at(lane);
      return LowerBody(stage.body, at,
                       [&](int id, std::span<const ExprPtr> indices, DataType type) {
                         for (const auto& [t, buffer] : kept)
                           if (t == id) return lowering.Load(buffer, lane);
                         if (points.flat && is_point(w.tensors[At(id)], indices, at))
                           return lowering.Load(lowering.BufferOf(id), points.flat(lane));
                         return loads(lane)(id, indices, type);
                       });
    };
    bool read_later = false;
    for (std::size_t j = i + 1; j < step.stages.size(); ++j)
      read_later |= Reads(*step.stages[j].body, stage.tensor);
    const auto vector = [&](const auto& value, const auto& store) {
      const int v = lowering.program.AddVar("v");
      const ExprPtr lane = lanes > 1 ? VarExpr(v) : IntExpr(0);
      return VectorStatement(v, lanes, value(lane),
                             [&](const ExprPtr& settled) { return store(lane, settled); });
    };
    const auto store = [&](const ExprPtr& lane, const ExprPtr& value) {
      if (!points.flat) return lowering.StoreResult(stage, points.at(lane), value);
      return Store(lowering.BufferOf(stage.tensor), points.flat(lane),
                   CastExpr(tensor.type, value));
    };
    if (!read_later) {
      all.push_back(vector(body, store));
      continue;
    }
    const int buffer = lowering.AddRegisters(tensor.name, tensor.type, lanes);
    all.push_back(vector(body, [&](const ExprPtr& lane, const ExprPtr& value) {
      return Store(buffer, lane, CastExpr(tensor.type, value));
    }));
    kept.emplace_back(stage.tensor, buffer);
    if (tensor.role == Role::kOutput || ReadOutside(w, step, stage.tensor))
      all.push_back(
          vector([&](const ExprPtr& lane) { return lowering.Load(buffer, lane); }, store));
  }
  return Block(std::move(all));
}

bool WholeVectors(const PointwiseStep& step, std::int64_t lanes) {
  const Stage& s = step.stages[0];
  if (s.spatial == 0) return lanes == 1;
  const Extent& last = s.axes[At(s.spatial) - 1].extent;
  return lanes == 1 || (last.symbol < 0 && last.value % lanes == 0);
}

namespace {

// The points of a step in chunks of `lanes`: of the last axis where it consists of whole chunks, of
// the row-major order of all points otherwise.
class Chunks {
 public:
  Chunks(Lowering& lowering, const PointwiseStep& step, std::int64_t lanes)
      : lowering_(lowering),
        step_(step),
        lanes_(lanes),
        loads_([load = lowering.RowMajor()](const ExprPtr&) { return load; }) {
    const Stage& first = step.stages[0];
    for (std::size_t a = 0; a < At(first.spatial); ++a) {
      extents_.push_back(ExtentValue(first.axes[a].extent));
      names_.push_back(first.axes[a].name);
    }
    points_ = Product(extents_);
    flat_ = !WholeVectors(step, lanes);
    if (!flat_ && lanes > 1) {
      extents_.back() = CeilDiv(extents_.back(), lanes);
      names_.back() = "chunk";
    }
    count_ = flat_ ? CeilDiv(points_, lanes) : Product(extents_);
  }

  const ExprPtr& count() const { return count_; }

  // All chunks up to `end` (exclusive) are whole.
  ExprPtr Whole(const ExprPtr& end) const {
    return flat_ ? BinaryExpr(Op::kLessEqual, end * lanes_, points_)
                 : BinaryExpr(Op::kLessEqual, end, count_);
  }

  // The chunk `index`, which is whole.
  StmtPtr Full(const ExprPtr& index) {
    std::vector<StmtPtr> all;
    if (flat_) {
      const ExprPtr start = Bound(lowering_, "start", index * lanes_, all);
      all.push_back(Lanes(start, lanes_));
      return Block(std::move(all));
    }
    std::vector<ExprPtr> values = Decompose(lowering_, index, extents_, names_, all);
    if (!values.empty()) values.back() = values.back() * lanes_;
    all.push_back(PointwiseLanes(lowering_, step_, AlongLastAxis(values), lanes_, loads_));
    return Block(std::move(all));
  }

  // The chunk `index`, which may end behind the last point or begin there.
  StmtPtr Guarded(const ExprPtr& index) {
    if (!flat_) return If(BinaryExpr(Op::kLess, index, count_), Full(index));
    const int rest = lowering_.program.AddVar("rest");
    const ExprPtr start = index * lanes_;
    std::vector<StmtPtr> lets;
    const ExprPtr point = Bound(lowering_, "point", start + VarExpr(rest), lets);
    lets.push_back(If(BinaryExpr(Op::kLess, point, points_), Lanes(point, 1)));
    return If(Whole(index + 1), Full(index),
              For(rest, IntExpr(lanes_), LoopKind::kSerial, Block(std::move(lets))));
  }

 private:
  StmtPtr Lanes(const ExprPtr& start, std::int64_t lanes) {
    PointwisePoints points;
    points.flat = [start](const ExprPtr& lane) { return start + lane; };
    points.at = [this, start](const ExprPtr& lane) {
      std::vector<ExprPtr> values(extents_.size());
      ExprPtr rest = start + lane;
      for (std::size_t a = extents_.size(); a-- > 0;) {
        values[a] = a == 0 ? rest : rest % extents_[a];
        rest = rest / extents_[a];
      }
      return values;
    };
    return PointwiseLanes(lowering_, step_, points, lanes, loads_);
  }

  Lowering& lowering_;
  const PointwiseStep& step_;
  std::int64_t lanes_;
  LaneLoads loads_;
  std::vector<ExprPtr> extents_;
  std::vector<std::string> names_;
  ExprPtr points_, count_;
  bool flat_ = false;
};

}  // namespace

StmtPtr LowerPointwise(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                       std::int64_t lanes, std::int64_t items) {
  Chunks chunks(lowering, step, lanes);
  const std::int64_t per_block = threads * items;
  return Launch(
      lowering, CeilDiv(chunks.count(), per_block), threads,
      [&](const ExprPtr& block, const ExprPtr& thread) {
        const auto each = [&](LoopKind kind, const auto& make) {
          const int item = lowering.program.AddVar("item");
          std::vector<StmtPtr> all;
          const ExprPtr index =
              Bound(lowering, "index", block * per_block + VarExpr(item) * threads + thread, all);
          all.push_back(make(index));
          return For(item, IntExpr(items), kind, Block(std::move(all)));
        };
        // Whole blocks have no conditions, so that all their loads are under way at once.
        return If(chunks.Whole((block + 1) * per_block),
                  each(LoopKind::kUnrolled, [&](const ExprPtr& i) { return chunks.Full(i); }),
                  each(LoopKind::kSerial, [&](const ExprPtr& i) { return chunks.Guarded(i); }));
      });
}

}  // namespace kindred::internal
