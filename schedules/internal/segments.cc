#include "schedules/internal/segments.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kindred::internal {
namespace {

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && ((a < 0) == (b < 0)) ? q + 1 : q;
}

// Where along one axis the comparison changes, if it depends on that axis alone: first values of
// the new side.
void AddCuts(const Expr& comparison, int axes, std::vector<std::set<std::int64_t>>& cuts) {
  if (comparison.args[0]->type != DataType::kI64) return;
  const auto a = AsAffine(*comparison.args[0], axes), b = AsAffine(*comparison.args[1], axes);
  if (!a || !b) return;
  int axis = -1;
  for (int i = 0; i < axes; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (a->coefficients[k] == b->coefficients[k]) continue;
    if (axis >= 0) return;
    axis = i;
  }
  if (axis < 0) return;
  // c * x + d (<, <=, ==) 0
  const auto k = static_cast<std::size_t>(axis);
  const std::int64_t c = a->coefficients[k] - b->coefficients[k];
  const std::int64_t d = a->constant - b->constant;
  // It changes where c * x + d passes `level`; for a falling line one further on.
  const auto passes = [&](std::int64_t level) {
    cuts[k].insert(c > 0 ? CeilDiv(level - d, c) : CeilDiv(d - level + 1, -c));
  };
  switch (comparison.op) {
    case Op::kLess:  // rising: first x with c * x + d >= 0; falling: first with c * x + d <= -1
      passes(0);
      break;
    case Op::kLessEqual: passes(1); break;
    default:
      if (d % c == 0) {
        cuts[k].insert(-d / c);
        cuts[k].insert(-d / c + 1);
      }
      break;
  }
}

}  // namespace

ExprPtr SimplifyWithin(const ExprPtr& e, const RangeOf& range) {
  return Rewrite(e, [&](const ExprPtr& node) -> ExprPtr {
    switch (node->op) {
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kEqual:
      case Op::kNotEqual:
        if (const auto decided = Decide(*node, range)) return IntExpr(*decided, DataType::kBool);
        return nullptr;
      default: return nullptr;
    }
  });
}

std::vector<Segment> CutStage(const Workload& workload, const Stage& stage, std::size_t limit) {
  Stage whole = stage;
  whole.body = GuardPadding(workload, stage);
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  std::vector<std::set<std::int64_t>> cuts(stage.axes.size());
  Visit(*whole.body, [&](const Expr& e) {
    if (e.op != Op::kSelect) return;
    Visit(*e.args[0], [&](const Expr& c) {
      if (c.op == Op::kLess || c.op == Op::kLessEqual || c.op == Op::kEqual ||
          c.op == Op::kNotEqual)
        AddCuts(c, static_cast<int>(stage.axes.size()), cuts);
    });
  });
  // Begins of the parts of each spatial axis.
  std::vector<std::vector<std::int64_t>> begins(spatial, {0});
  std::size_t parts = 1;
  for (std::size_t a = spatial; a-- > 0;) {
    const Extent& extent = stage.axes[a].extent;
    if (extent.symbol >= 0) continue;
    std::vector<std::int64_t> own = {0};
    for (const std::int64_t cut : cuts[a])
      if (cut > 0 && cut < extent.value) own.push_back(cut);
    if (parts * own.size() > limit) continue;
    parts *= own.size();
    begins[a] = std::move(own);
  }
  std::vector<Segment> segments;
  for (std::size_t p = 0; p < parts; ++p) {
    Segment segment{std::vector<std::int64_t>(stage.axes.size(), 0), whole};
    std::vector<ExprPtr> shifted;
    std::size_t rest = p;
    // The last axis varies fastest, so that parts are written in memory order.
    for (std::size_t a = spatial; a-- > 0;) {
      const std::size_t which = rest % begins[a].size();
      rest /= begins[a].size();
      segment.begin[a] = begins[a][which];
      if (begins[a].size() == 1) continue;
      const std::int64_t end =
          which + 1 < begins[a].size() ? begins[a][which + 1] : stage.axes[a].extent.value;
      segment.stage.axes[a].extent = {end - segment.begin[a], -1};
    }
    for (std::size_t a = 0; a < stage.axes.size(); ++a)
      shifted.push_back(VarExpr(static_cast<int>(a)) + segment.begin[a]);
    segment.stage.body =
        SimplifyWithin(SubstituteVars(whole.body, shifted), AxisRanges(workload, segment.stage));
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace kindred::internal
