#include "schedules/sketches/cuda_contraction_operand.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/lower_common.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

const Expr* SkipCasts(const Expr* e) {
  while (e->op == Op::kCast) e = e->args[0].get();
  return e;
}

// The operand in the anchor's body.
const ExprPtr& OperandOf(const Workload& w, const ContractionPattern& p, bool of_b) {
  const Stage& anchor = w.stages[At(p.anchor)];
  const Expr* product = SkipCasts(anchor.body.get());
  const bool left_is_b = MatchOperand(w, anchor, *product->args[0])->Uses(p.x);
  return product->args[left_is_b == of_b ? 0 : 1];
}

int Reads(const Expr& e, int tensor) {
  int reads = 0;
  Visit(e, [&](const Expr& node) { reads += node.op == Op::kLoad && node.index == tensor; });
  return reads;
}

// The largest power of two of neighbours along `fast` that every load of `value` has side by side
// and aligned, and that every condition treats alike.
std::int64_t VectorAlong(const Workload& w, const ExprPtr& value, int fast,
                         const std::vector<std::int64_t>& extents) {
  std::int64_t vector = 16;
  const auto limit = [&](std::int64_t divisor) {
    while (vector > 1 && divisor % vector != 0) vector /= 2;
  };
  std::vector<ExprPtr> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) axes.push_back(VarExpr(static_cast<int>(i)));
  const ExprPtr lowered = LowerBody(
      value, axes, [&](int id, std::span<const ExprPtr> indices, DataType type) -> ExprPtr {
        const Tensor& tensor = w.tensors[At(id)];
        const auto flat = AsAffine(*FlatIndex(tensor, indices), static_cast<int>(axes.size()));
        limit(16 / ByteSize(tensor.type));
        if (!flat) {
          vector = 1;
          return LoadExpr(id, {IntExpr(0)}, type);
        }
        const std::int64_t step = flat->coefficients[At(fast)];
        if (step == 0) return LoadExpr(id, {IntExpr(0)}, type);
        if (step != 1) vector = 1;
        limit(flat->constant);
        for (std::size_t i = 0; i < axes.size(); ++i)
          if (static_cast<int>(i) != fast && extents[i] > 1) limit(flat->coefficients[i]);
        return LoadExpr(id, {IntExpr(0)}, type);
      });
  // What still mentions the axis outside of loads is a condition, or arithmetic on it.
  Visit(*lowered, [&](const Expr& e) {
    if (e.op == Op::kVar && e.index == fast) vector = 1;
  });
  limit(extents[At(fast)]);
  return vector;
}

}  // namespace

ProductAxes GroupAxes(const ContractionPattern& pattern) {
  ProductAxes groups;
  for (int axis = 0; axis < pattern.spatial; ++axis) {
    if (axis == pattern.x) continue;
    const bool a = pattern.a.Uses(axis), b = pattern.b.Uses(axis);
    (a && b ? groups.batch : a ? groups.rows : groups.columns).push_back(axis);
  }
  groups.columns.push_back(pattern.x);
  for (int axis = pattern.spatial; axis < static_cast<int>(pattern.extents.size()); ++axis)
    groups.reduction.push_back(axis);
  // Neighbours in memory last; of several such axes the longest.
  const auto plain = [&](const OperandAccess& operand, int axis) {
    return operand.Stride(axis) == 1 ? pattern.Extent(axis) : 0;
  };
  std::stable_sort(groups.reduction.begin(), groups.reduction.end(), [&](int p, int q) {
    return std::max(plain(pattern.a, p), plain(pattern.b, p)) <
           std::max(plain(pattern.a, q), plain(pattern.b, q));
  });
  std::stable_sort(groups.rows.begin(), groups.rows.end(),
                   [&](int p, int q) { return plain(pattern.a, p) < plain(pattern.a, q); });
  return groups;
}

std::int64_t CudaOperand::Width(std::int64_t tile, std::int64_t k_step,
                                std::int64_t threads) const {
  std::int64_t width = std::min(vector, k_is_fast ? k_step : tile);
  while (width > 1 && tile * k_step / width < threads) width /= 2;
  return width;
}

std::vector<int> FusibleStages(const Workload& workload, const ContractionPattern& pattern,
                               bool of_b) {
  const ExprPtr value = OperandOf(workload, pattern, of_b);
  std::vector<int> fusible;
  for (std::size_t i = pattern.before.size(); i-- > 0;) {
    const Stage& stage = workload.stages[At(pattern.before[i])];
    if (workload.tensors[At(stage.tensor)].role == Role::kOutput) continue;
    int elsewhere = 0;
    for (std::size_t s = 0; s < workload.stages.size(); ++s) {
      const bool taken =
          std::find(fusible.begin(), fusible.end(), static_cast<int>(s)) != fusible.end();
      if (!taken) elsewhere += Reads(*workload.stages[s].body, stage.tensor);
    }
    // The anchor reads the tensor itself, or a stage that is fused reads it: once, in all.
    int here = Reads(*value, stage.tensor);
    for (const int f : fusible) here += Reads(*workload.stages[At(f)].body, stage.tensor);
    if (here == 1 && elsewhere == Reads(*value, stage.tensor)) fusible.push_back(pattern.before[i]);
  }
  return fusible;
}

CudaOperand DescribeOperand(const Workload& workload, const ContractionPattern& pattern,
                            const ProductAxes& groups, bool of_b, bool fused) {
  const OperandAccess& access = of_b ? pattern.b : pattern.a;
  CudaOperand s;
  Stage alone = workload.stages[At(pattern.anchor)];
  alone.body = OperandOf(workload, pattern, of_b);
  s.value = GuardPadding(workload, alone);
  while (s.value->op == Op::kCast) s.value = s.value->args[0];
  s.type = access.type;
  bool plain = true;
  if (fused) {
    for (const int i : FusibleStages(workload, pattern, of_b)) {
      const Stage& stage = workload.stages[At(i)];
      const ExprPtr body = GuardPadding(workload, stage);
      const DataType type = workload.tensors[At(stage.tensor)].type;
      s.value = Rewrite(s.value, [&](const ExprPtr& e) -> ExprPtr {
        if (e->op != Op::kLoad || e->index != stage.tensor) return nullptr;
        return CastExpr(type, SubstituteVars(body, e->args));
      });
      plain = false;
    }
  }
  s.axes = of_b ? groups.columns : groups.rows;
  for (const int axis : s.axes) s.all *= pattern.Extent(axis);
  s.k_is_fast = access.Stride(groups.reduction.back()) == 1 &&
                (s.axes.empty() || access.Stride(s.axes.back()) != 1);
  if (s.k_is_fast || !s.axes.empty())
    s.vector = VectorAlong(workload, s.value, s.k_is_fast ? groups.reduction.back() : s.axes.back(),
                           pattern.extents);
  const bool zeros =
      !access.padded || (access.pad_value->op == Op::kFloat ? access.pad_value->number == 0
                                                            : IsInt(*access.pad_value, 0));
  const Expr& read = s.value->op == Op::kSelect ? *s.value->args[1] : *s.value;
  s.copies = plain && zeros && read.op == Op::kLoad && access.type == pattern.accumulator &&
             ByteSize(access.type) >= 4;
  return s;
}

}  // namespace kindred::internal
