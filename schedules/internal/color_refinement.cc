#include "schedules/internal/color_refinement.h"

#include <algorithm>
#include <bit>

#include "schedules/base/hash.h"
#include "schedules/internal/printer.h"

namespace kindred {
namespace {

std::uint64_t Mix(std::uint64_t x) {  // SplitMix64's finalizer
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::uint64_t Join(std::uint64_t a, std::uint64_t b) {
  return Mix(a * 0x9fb21c651e98df25ull + Mix(b));
}

std::uint64_t ColorOf(const Workload& workload, const Extent& extent) {
  if (extent.symbol < 0) return Mix(static_cast<std::uint64_t>(extent.value));
  const Symbol& symbol = workload.symbols[static_cast<std::size_t>(extent.symbol)];
  std::uint64_t color = Join(Join(77, static_cast<std::uint64_t>(symbol.low)),
                             static_cast<std::uint64_t>(symbol.high));
  for (const std::int64_t value : symbol.likely)
    color = Join(color, static_cast<std::uint64_t>(value));
  return color;
}

std::uint64_t NodeColor(const Expr& e) {
  return Join(Join(static_cast<std::uint64_t>(e.op), static_cast<std::uint64_t>(e.type)),
              Join(static_cast<std::uint64_t>(e.integer), std::bit_cast<std::uint64_t>(e.number)));
}

bool IsSum(const Expr& e) {
  return e.type == DataType::kI64 &&
         (e.op == Op::kAdd || e.op == Op::kSub || e.op == Op::kMul || e.op == Op::kNeg);
}

}  // namespace

bool ColorRefinement::IsCommutative(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax || op == Op::kEqual ||
         op == Op::kNotEqual || op == Op::kAnd || op == Op::kOr;
}

ColorRefinement::ColorRefinement(const Workload& workload) : workload_(workload) {
  std::vector<std::uint64_t> ordinal(workload.tensors.size());
  std::uint64_t outputs = 0;
  for (const Stage& stage : workload.stages)
    if (workload.tensors[static_cast<std::size_t>(stage.tensor)].role == Role::kOutput)
      ordinal[static_cast<std::size_t>(stage.tensor)] = ++outputs;
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
    const Tensor& tensor = workload.tensors[t];
    std::uint64_t color =
        Join(static_cast<std::uint64_t>(tensor.role), static_cast<std::uint64_t>(tensor.type));
    color = Join(color, ordinal[t]);
    for (const Extent& extent : tensor.shape) color = Join(color, ColorOf(workload, extent));
    color = Join(color, HashOf(tensor.data.kind + tensor.data.file).low);
    for (const double number : {tensor.data.low, tensor.data.high, tensor.data.density})
      color = Join(color, tensor.data.kind.empty() ? 0 : std::bit_cast<std::uint64_t>(number));
    tensors_.push_back(color);
  }
  for (const Stage& stage : workload.stages) {
    axes_.emplace_back();
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      const bool spatial = a < static_cast<std::size_t>(stage.spatial);
      axes_.back().push_back(Join(spatial ? 1000 + a : 1, ColorOf(workload, stage.axes[a].extent)));
    }
  }
  // Enough rounds for a colour to cross a chain of stages and come back, within reason.
  const std::size_t rounds = std::min<std::size_t>(2 * workload.stages.size() + 2, 24);
  remember_ = true;
  for (std::size_t round = 0; round < rounds; ++round) Refine();
  remember_ = false;
  known_.clear();
}

std::uint64_t ColorRefinement::Of(std::size_t stage, const Expr& e) const {
  if (const auto known = known_.find(&e); known != known_.end()) return known->second;
  const std::uint64_t color = Compute(stage, e);
  if (remember_) known_.emplace(&e, color);
  return color;
}

std::uint64_t ColorRefinement::Compute(std::size_t stage, const Expr& e) const {
  if (e.op == Op::kVar) return axes_[stage][static_cast<std::size_t>(e.index)];
  if (e.op == Op::kExtent) return ColorOf(workload_, {1, e.index});
  if (IsSum(e)) {
    if (const auto affine = AsAffine(e, static_cast<int>(axes_[stage].size()))) {
      std::uint64_t sum = Join(5, static_cast<std::uint64_t>(affine->constant));
      for (std::size_t a = 0; a < affine->coefficients.size(); ++a)
        if (affine->coefficients[a] != 0)
          sum += Join(static_cast<std::uint64_t>(affine->coefficients[a]), axes_[stage][a]);
      return Mix(sum);
    }
  }
  std::uint64_t color = NodeColor(e);
  if (e.op == Op::kLoad) color = Join(color, tensors_[static_cast<std::size_t>(e.index)]);
  if (IsCommutative(e.op)) {
    const std::uint64_t a = Of(stage, *e.args[0]), b = Of(stage, *e.args[1]);
    return Join(color, Mix(a) + Mix(b));
  }
  for (const ExprPtr& arg : e.args) color = Join(color, Of(stage, *arg));
  return color;
}

// Adds to every axis and tensor the colour of the place where it is used.
void ColorRefinement::Descend(std::size_t stage, const Expr& e, std::uint64_t context,
                              std::vector<std::uint64_t>& tensors,
                              std::vector<std::uint64_t>& axes) const {
  if (e.op == Op::kVar) {
    axes[static_cast<std::size_t>(e.index)] += Mix(context);
    return;
  }
  if (IsSum(e)) {
    if (const auto affine = AsAffine(e, static_cast<int>(axes.size()))) {
      const std::uint64_t here = Join(context, Of(stage, e));
      for (std::size_t a = 0; a < axes.size(); ++a)
        if (affine->coefficients[a] != 0)
          axes[a] += Join(here, static_cast<std::uint64_t>(affine->coefficients[a]));
      return;
    }
  }
  std::uint64_t here = Join(context, NodeColor(e));
  if (e.op == Op::kLoad) {
    tensors[static_cast<std::size_t>(e.index)] += Join(here, Of(stage, e));
    here = Join(here, tensors_[static_cast<std::size_t>(e.index)]);
  }
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    std::uint64_t inner = here;
    if (IsCommutative(e.op)) {
      inner = Join(inner, Of(stage, *e.args[1 - i]));
    } else {
      inner = Join(inner, i);
      if (e.args.size() <= 3)
        for (std::size_t j = 0; j < e.args.size(); ++j)
          if (j != i) inner = Join(inner, Of(stage, *e.args[j]));
    }
    Descend(stage, *e.args[i], inner, tensors, axes);
  }
}

void ColorRefinement::Refine() {
  std::vector<std::uint64_t> tensors(tensors_.size());
  std::vector<std::vector<std::uint64_t>> axes;
  for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
    known_.clear();
    const Stage& stage = workload_.stages[s];
    std::uint64_t color = Join(static_cast<std::uint64_t>(stage.combiner),
                               static_cast<std::uint64_t>(stage.accumulator));
    std::uint64_t reduced = 0;
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      if (a < static_cast<std::size_t>(stage.spatial))
        color = Join(color, axes_[s][a]);
      else
        reduced += Mix(axes_[s][a]);
    }
    color = Join(color, reduced);
    const std::uint64_t context = Join(color, tensors_[static_cast<std::size_t>(stage.tensor)]);
    axes.emplace_back(stage.axes.size());
    Descend(s, *stage.body, context, tensors, axes.back());
    tensors[static_cast<std::size_t>(stage.tensor)] += Join(3, Join(color, Of(s, *stage.body)));
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) tensors_[t] = Join(tensors_[t], tensors[t]);
  for (std::size_t s = 0; s < axes.size(); ++s)
    for (std::size_t a = 0; a < axes[s].size(); ++a) axes_[s][a] = Join(axes_[s][a], axes[s][a]);
}

}  // namespace kindred
