#include "schedules/sketches/row_plan.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/lower_common.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

// The axis along which most loads are contiguous: a reduction axis, or the last spatial one.
int BestAxis(const Workload& w, const Stage& stage) {
  const int axes = static_cast<int>(stage.axes.size());
  if (stage.combiner == Combiner::kNone) return stage.spatial - 1;
  std::vector<int> contiguous(stage.axes.size(), 0);
  Visit(*GuardPadding(w, stage), [&](const Expr& e) {
    if (e.op != Op::kLoad) return;
    const auto affine = AsAffine(*FlatIndex(w.tensors[At(e.index)], e.args), axes);
    if (!affine) return;
    for (int a = 0; a < axes; ++a) contiguous[At(a)] += affine->coefficients[At(a)] == 1;
  });
  int best = axes - 1;
  for (int a = axes - 1; a >= std::max(stage.spatial - 1, 0); --a)
    if (contiguous[At(a)] > contiguous[At(best)]) best = a;
  return best;
}

int RowAxes(const Workload& w) {
  int rows = w.stages[0].spatial;
  for (const Stage& s : w.stages) {
    rows = std::min(rows, s.spatial);
    const int best = BestAxis(w, s);
    if (s.combiner != Combiner::kNone && best < s.spatial) rows = std::min(rows, best);
  }
  const Stage& first = w.stages[0];
  for (const Stage& s : w.stages) {
    for (int a = 0; a < rows; ++a)
      if (!(s.axes[At(a)].extent == first.axes[At(a)].extent)) rows = a;
    Visit(*s.body, [&](const Expr& e) {
      if (e.op != Op::kLoad || w.ProducerOf(e.index) == nullptr) return;
      for (int a = 0; a < rows; ++a)
        if (At(a) >= e.args.size() || !SameExpr(*e.args[At(a)], *VarExpr(a))) rows = a;
    });
  }
  return rows;
}

bool ReadsAtSamePoint(const Expr& load) {
  for (std::size_t d = 0; d < load.args.size(); ++d)
    if (!SameExpr(*load.args[d], *VarExpr(static_cast<int>(d)))) return false;
  return true;
}

class Planner {
 public:
  explicit Planner(const Workload& w) : w_(w) {}

  RowPlan Run() {
    plan_.row_axes = RowAxes(w_);
    for (int s = 0; s < static_cast<int>(w_.stages.size()); ++s) Place(s);
    return std::move(plan_);
  }

 private:
  RowPass Alone(int s) const {
    const Stage& stage = w_.stages[At(s)];
    RowPass pass;
    pass.stages = {s};
    const int axes = static_cast<int>(stage.axes.size());
    if (stage.combiner == Combiner::kNone) {
      pass.kind = stage.spatial == plan_.row_axes ? PassKind::kScalar : PassKind::kColumns;
      for (int a = plan_.row_axes; a < axes; ++a) pass.columns.push_back(a);
      pass.vector_axis = axes - 1;
      return pass;
    }
    const int best = BestAxis(w_, stage);
    if (best < stage.spatial) {
      pass.kind = PassKind::kTile;
      return pass;
    }
    if (IsArg(stage.combiner)) {
      pass.kind = PassKind::kArg;
      return pass;
    }
    for (int a = plan_.row_axes; a < stage.spatial; ++a) pass.outer.push_back(a);
    for (int a = stage.spatial; a < axes; ++a) pass.columns.push_back(a);
    pass.vector_axis = best;
    return pass;
  }

  bool CanJoin(const RowPass& pass, const RowPass& alone) const {
    if (pass.kind != PassKind::kColumns || alone.kind != PassKind::kColumns ||
        !pass.outer.empty() || !alone.outer.empty() || pass.columns != alone.columns ||
        pass.vector_axis != alone.vector_axis)
      return false;
    const Stage& a = w_.stages[At(pass.stages[0])];
    const Stage& b = w_.stages[At(alone.stages[0])];
    for (const int axis : pass.columns)
      if (!(a.axes[At(axis)].extent == b.axes[At(axis)].extent)) return false;
    bool fits = true;
    Visit(*b.body, [&](const Expr& e) {
      if (e.op != Op::kLoad) return;
      for (const int member : pass.stages) {
        const Stage& m = w_.stages[At(member)];
        if (m.tensor == e.index)
          fits = fits && m.combiner == Combiner::kNone && ReadsAtSamePoint(e);
      }
    });
    return fits;
  }

  void Place(int s) {
    RowPass alone = Alone(s);
    // Not before anything it reads.
    int earliest = 0;
    Visit(*w_.stages[At(s)].body, [&](const Expr& e) {
      if (e.op != Op::kLoad) return;
      for (int p = 0; p < s; ++p)
        if (w_.stages[At(p)].tensor == e.index) earliest = std::max(earliest, plan_.pass_of[At(p)]);
    });
    for (int p = earliest; p < static_cast<int>(plan_.passes.size()); ++p) {
      if (!CanJoin(plan_.passes[At(p)], alone)) continue;
      plan_.passes[At(p)].stages.push_back(s);
      plan_.pass_of.push_back(p);
      return;
    }
    plan_.passes.push_back(std::move(alone));
    plan_.pass_of.push_back(static_cast<int>(plan_.passes.size()) - 1);
  }

  const Workload& w_;
  RowPlan plan_;
};

}  // namespace

RowPlan PlanRows(const Workload& workload) { return Planner(workload).Run(); }

bool UseReciprocals(Workload& workload, int row_axes) {
  bool any = false;
  for (Stage& stage : workload.stages) {
    if (static_cast<int>(stage.axes.size()) == row_axes) continue;
    stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kDiv || !IsFloat(e->type) || IsConstant(*e->args[1])) return nullptr;
      bool fixed = true;
      Visit(*e->args[1], [&](const Expr& node) {
        fixed = fixed && !(node.op == Op::kVar && node.index >= row_axes);
      });
      if (!fixed || IsConstant(*e->args[0])) return nullptr;
      any = true;
      return e->args[0] * (FloatExpr(1, e->type) / e->args[1]);
    });
  }
  return any;
}

}  // namespace kindred::internal
