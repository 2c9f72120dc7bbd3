// The row sketch: reductions, softmax, layer and RMS normalisation, global pooling, argmax: stages
// that share their leading axes, computed row by row with all temporaries of a row at hand.
//
// Decisions: whether values used twice (the exponentials of a softmax) are kept or computed again;
// whether divisions by a row's value become products; how many rows are computed side by side; how
// many vectors accumulate.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/lower_common.h"
#include "schedules/internal/path.h"
#include "schedules/sketch.h"
#include "schedules/sketches/row_lower.h"
#include "schedules/sketches/row_plan.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

// Reductions that read each element many times are for the contraction and window sketches.
constexpr double kMaxReuse = 6;

struct Variant {
  Workload workload;
  RowPlan plan;
};

Variant MakeVariant(Workload workload) {
  RowPlan plan = PlanRows(workload);
  return {std::move(workload), std::move(plan)};
}

class RowSketch : public Sketch {
 public:
  RowSketch(const Workload& workload, const Target& target) : target_(target) {
    const std::vector<bool> few = WorthInlining(workload, 0, true);
    const std::vector<bool> many = WorthInlining(workload, 1, true);
    can_recompute_ = few != many;
    variants_[0][0] = MakeVariant(InlineStages(workload, few));
    variants_[1][0] = MakeVariant(InlineStages(workload, many));
    for (auto& v : variants_) {
      Workload divided = v[0].workload;
      can_reciprocal_ |= UseReciprocals(divided, v[0].plan.row_axes);
      v[1] = MakeVariant(std::move(divided));
    }
  }

  std::string_view name() const override { return "rows"; }

  std::optional<Decision> Next(const Path& path) const override {
    if (can_recompute_ && !Find(path, "recompute")) return YesNo("recompute", false);
    if (can_reciprocal_ && !Find(path, "reciprocal")) return YesNo("reciprocal", true);
    const Variant& v = Chosen(path);
    std::int64_t rows = 1, columns = 1;
    if (v.plan.row_axes > 0) {
      const Extent& e =
          v.workload.stages[0].axes[static_cast<std::size_t>(v.plan.row_axes) - 1].extent;
      rows = CapacityOf(v.workload, e);
    }
    for (const RowPass& pass : v.plan.passes) {
      const Stage& s = v.workload.stages[static_cast<std::size_t>(pass.stages[0])];
      for (std::size_t a = static_cast<std::size_t>(v.plan.row_axes); a < s.axes.size(); ++a)
        columns = std::max(columns, CapacityOf(v.workload, s.axes[a].extent));
    }
    if (rows > 1 && !Find(path, "rows")) return UpTo("rows", {1, 2, 4}, rows);
    if (!Find(path, "vectors"))
      return UpTo("vectors", {1, 2, 4, 8},
                  std::max<std::int64_t>(columns / target_.VectorLanes(4), 1));
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    const Variant& v = Chosen(path);
    return LowerRows(v.workload, v.plan, {Value(path, "rows", 1), Value(path, "vectors", 1)},
                     target_);
  }

 private:
  static Decision UpTo(const char* name, std::initializer_list<std::int64_t> options,
                       std::int64_t most) {
    Decision d{name, {}, {}};
    for (const std::int64_t o : options)
      if (o <= most) d.options.push_back(o);
    return d;
  }

  const Variant& Chosen(const Path& path) const {
    return variants_[static_cast<std::size_t>(Value(path, "recompute"))]
                    [static_cast<std::size_t>(Value(path, "reciprocal"))];
  }

  const Target& target_;
  Variant variants_[2][2];  // [recompute][reciprocal]
  bool can_recompute_ = false, can_reciprocal_ = false;
};

double Reuse(const Workload& w, const Stage& stage) {
  double elements =
      static_cast<double>(Elements(w.tensors[static_cast<std::size_t>(stage.tensor)]));
  Visit(*stage.body, [&](const Expr& e) {
    if (e.op == Op::kLoad)
      elements += static_cast<double>(Elements(w.tensors[static_cast<std::size_t>(e.index)]));
  });
  return static_cast<double>(Points(stage)) / elements;
}

// An index that mixes spatial and reduction axes: pooling, convolution.
bool IsWindow(const Stage& stage) {
  bool window = false;
  Visit(*stage.body, [&](const Expr& load) {
    if (load.op != Op::kLoad) return;
    for (const ExprPtr& index : load.args) {
      bool spatial = false, reduction = false;
      Visit(*index, [&](const Expr& e) {
        if (e.op == Op::kVar) (e.index < stage.spatial ? spatial : reduction) = true;
      });
      window |= spatial && reduction;
    }
  });
  return window;
}

}  // namespace

std::unique_ptr<Sketch> MakeRowSketch(const Workload& workload, const Target& target) {
  bool reduces = false;
  for (const Stage& stage : workload.stages) {
    if (stage.combiner == Combiner::kNone) continue;
    reduces = true;
    if (IsWindow(stage) || Reuse(workload, stage) > kMaxReuse) return nullptr;
  }
  if (!reduces) return nullptr;
  return std::make_unique<RowSketch>(workload, target);
}

}  // namespace kindred
