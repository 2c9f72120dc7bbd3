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

StmtPtr PointwiseLanes(Lowering& lowering, const PointwiseStep& step, std::vector<ExprPtr> values,
                       std::int64_t lanes, const LoadRule& load) {
  std::vector<StmtPtr> all;
  std::vector<std::pair<int, int>> kept;  // tensor, register buffer
  for (std::size_t i = 0; i < step.stages.size(); ++i) {
    const Stage& stage = step.stages[i];
    const Tensor& tensor = lowering.workload->tensors[At(stage.tensor)];
    const auto lane_values = [&](const ExprPtr& lane) {
      std::vector<ExprPtr> at = values;
      if (!at.empty()) at.back() = at.back() + lane;
      return at;
    };
    const auto body = [&](const ExprPtr& lane) {
      return LowerBody(stage.body, lane_values(lane),
                       [&](int id, std::span<const ExprPtr> indices, DataType type) {
                         for (const auto& [t, buffer] : kept)
                           if (t == id) return lowering.Load(buffer, lane);
                         return load(id, indices, type);
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
      return lowering.StoreResult(stage, lane_values(lane), value);
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
    if (tensor.role == Role::kOutput || ReadOutside(*lowering.workload, step, stage.tensor))
      all.push_back(
          vector([&](const ExprPtr& lane) { return lowering.Load(buffer, lane); }, store));
  }
  return Block(std::move(all));
}

StmtPtr LowerPointwise(Lowering& lowering, const PointwiseStep& step, std::int64_t threads,
                       std::int64_t lanes, std::int64_t items) {
  const Stage& first = step.stages[0];
  const std::size_t spatial = At(first.spatial);
  std::vector<ExprPtr> extents;
  std::vector<std::string> names;
  for (std::size_t a = 0; a < spatial; ++a) {
    extents.push_back(ExtentValue(first.axes[a].extent));
    names.push_back(first.axes[a].name);
  }
  // Chunks of the last axis instead of its points.
  const ExprPtr last = spatial > 0 ? extents.back() : IntExpr(1);
  if (spatial > 0) {
    extents.back() = CeilDiv(last, lanes);
    if (lanes > 1) names.back() = "chunk";
  }
  const ExprPtr chunks = Product(extents);
  const LoadRule load = lowering.RowMajor();
  return Launch(lowering, CeilDiv(chunks, threads * items), threads,
                [&](const ExprPtr& block, const ExprPtr& thread) {
                  const int item = lowering.program.AddVar("item");
                  std::vector<StmtPtr> all, inside;
                  const ExprPtr index =
                      Bound(lowering, "index",
                            items > 1 ? block * (threads * items) + VarExpr(item) * threads + thread
                                      : block * threads + thread,
                            all);
                  std::vector<ExprPtr> values = Decompose(lowering, index, extents, names, inside);
                  if (spatial > 0) values.back() = values.back() * lanes;
                  StmtPtr work = PointwiseLanes(lowering, step, values, lanes, load);
                  const bool whole = IsInt(*(last % IntExpr(lanes)), 0);
                  if (!whole) {
                    // The last vector is cut off: its points one by one.
                    const int rest = lowering.program.AddVar("rest");
                    std::vector<ExprPtr> at = values;
                    at.back() = at.back() + VarExpr(rest);
                    const StmtPtr tail = For(rest, last - values.back(), LoopKind::kSerial,
                                             PointwiseLanes(lowering, step, at, 1, load));
                    work = If(BinaryExpr(Op::kLessEqual, values.back() + lanes, last),
                              std::move(work), tail);
                  }
                  inside.push_back(std::move(work));
                  all.push_back(If(BinaryExpr(Op::kLess, index, chunks), Block(std::move(inside))));
                  const StmtPtr one = Block(std::move(all));
                  return items > 1 ? For(item, IntExpr(items), LoopKind::kUnrolled, one) : one;
                });
}

}  // namespace kindred::internal
