#include "schedules/sketches/cuda_row_pattern.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/lower_common.h"
#include "schedules/sketches/row_plan.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

Workload WithoutColumnTemporaries(const Workload& workload) {
  std::vector<bool> chosen;
  for (const Stage& s : workload.stages) chosen.push_back(CanInline(workload, s));
  // Values of a row are computed once.
  int rows = -1;
  for (const Stage& s : workload.stages)
    if (s.combiner != Combiner::kNone) rows = rows < 0 ? s.spatial : std::min(rows, s.spatial);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (workload.stages[i].spatial <= rows) chosen[i] = false;
  return InlineStages(workload, chosen);
}

// The reduction that all others agree with on their rows.
const Stage* AnyReduction(const Workload& w) {
  const Stage* reduction = nullptr;
  for (const Stage& s : w.stages) {
    if (s.combiner == Combiner::kNone) continue;
    if (reduction && reduction->spatial != s.spatial) return nullptr;
    const DataType a = s.accumulator;
    if (a != DataType::kF32 && a != DataType::kF64 && a != DataType::kI32 && a != DataType::kI64 &&
        a != DataType::kC64)
      return nullptr;
    reduction = &s;
  }
  return reduction;
}

// Where a stage reads a row's value decides which of its axes are rows; without any, the first.
std::optional<std::vector<int>> AxisOrder(const Workload& w, const Stage& s, int rows) {
  std::vector<int> order;
  bool fits = s.spatial >= rows;
  Visit(*s.body, [&](const Expr& e) {
    if (e.op != Op::kLoad || w.ProducerOf(e.index) == nullptr) return;
    fits = fits && static_cast<int>(e.args.size()) == rows;
    std::vector<int> read;
    for (std::size_t a = 0; fits && a < e.args.size(); ++a) {
      const Expr& index = *e.args[a];
      fits = index.op == Op::kVar && index.index < s.spatial &&
             std::find(read.begin(), read.end(), index.index) == read.end();
      if (fits) read.push_back(index.index);
    }
    if (fits && order.empty()) order = read;
    fits = fits && order == read;
  });
  if (!fits) return std::nullopt;
  if (order.empty())
    for (int a = 0; a < rows; ++a) order.push_back(a);
  const bool in_order =
      std::is_sorted(order.begin(), order.end()) && (rows == 0 || order.back() == rows - 1);
  if ((s.combiner != Combiner::kNone || s.spatial == rows) && !in_order) return std::nullopt;
  for (int a = 0; a < static_cast<int>(s.axes.size()); ++a)
    if (std::find(order.begin(), order.begin() + rows, a) == order.begin() + rows)
      order.push_back(a);
  return order;
}

// The load in canonical order, where it is read at every point and lies inside its tensor.
ExprPtr Fetchable(const Workload& w, const Stage& s, const std::vector<int>& order,
                  const ExprPtr& load) {
  if (w.ProducerOf(load->index) != nullptr) return nullptr;
  const RangeOf range = AxisRanges(w, s);
  for (std::size_t d = 0; d < load->args.size(); ++d) {
    const auto bounds = BoundsOf(*load->args[d], range);
    const Extent& extent = w.tensors[At(load->index)].shape[d];
    if (!bounds || extent.symbol >= 0 || bounds->low < 0 || bounds->high >= extent.value)
      return nullptr;
  }
  std::vector<ExprPtr> canonical(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    canonical[At(order[i])] = VarExpr(static_cast<int>(i));
  return SubstituteVars(load, canonical);
}

const Expr* SkipCasts(const Expr* e) {
  while (e->op == Op::kCast && !IsInteger(e->type)) e = e->args[0].get();
  return e;
}

class Matcher {
 public:
  explicit Matcher(const Workload& workload) { p_.workload = WithoutColumnTemporaries(workload); }

  std::optional<RowPattern> Run() {
    Workload& w = p_.workload;
    const Stage* reduction = AnyReduction(w);
    if (reduction == nullptr) return std::nullopt;
    p_.rows = reduction->spatial;
    for (int a = 0; a < p_.rows; ++a) p_.row_count *= CapacityOf(w, reduction->axes[At(a)].extent);
    for (const Stage& s : w.stages) {
      const auto order = AxisOrder(w, s, p_.rows);
      if (!order) return std::nullopt;
      for (int a = 0; a < p_.rows; ++a)
        if (!(s.axes[At((*order)[At(a)])].extent == reduction->axes[At(a)].extent))
          return std::nullopt;
      p_.order.push_back(*order);
    }
    // A division is a dozen instructions in every column, with the reciprocal it is one.
    bool leading = true;
    for (const std::vector<int>& order : p_.order)
      leading = leading && std::is_sorted(order.begin(), order.end());
    if (leading) UseReciprocals(w, p_.rows);
    for (std::size_t s = 0; s < w.stages.size(); ++s) Note(s);
    p_.strided = p_.rows > 0 && row_votes_ > column_votes_;
    FindOnline();
    return std::move(p_);
  }

 private:
  void Vote(const Tensor& tensor, const std::vector<ExprPtr>& indices, std::size_t s) {
    const std::vector<int>& order = p_.order[s];
    const auto affine = AsAffine(*FlatIndex(tensor, indices), static_cast<int>(order.size()));
    if (!affine) return;
    const int bytes = ByteSize(tensor.type);
    if (p_.rows > 0 && affine->coefficients[At(order[At(p_.rows) - 1])] == 1) row_votes_ += bytes;
    if (affine->coefficients[At(order.back())] == 1) column_votes_ += bytes;
  }

  void Note(std::size_t s) {
    Workload& w = p_.workload;
    Stage& stage = w.stages[s];
    p_.arg |= IsArg(stage.combiner);
    p_.loads.emplace_back();
    std::int64_t columns = 1;
    std::vector<Extent> extents;
    for (std::size_t a = At(p_.rows); a < stage.axes.size(); ++a) {
      extents.push_back(stage.axes[At(p_.order[s][a])].extent);
      columns *= CapacityOf(w, extents.back());
    }
    p_.columns = std::max(p_.columns, columns);
    stage.body = GuardPadding(w, stage);
    if (extents.empty()) return;
    if (stage.combiner == Combiner::kNone) {
      std::vector<ExprPtr> at;
      for (int a = 0; a < stage.spatial; ++a) at.push_back(VarExpr(a));
      Vote(w.tensors[At(stage.tensor)], at, s);
    }
    Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || w.ProducerOf(e->index) != nullptr) return nullptr;
      Vote(w.tensors[At(e->index)], e->args, s);
      const ExprPtr load = Fetchable(w, stage, p_.order[s], e);
      if (load) Fetch(s, load, extents);
      return nullptr;
    });
  }

  // Data of a row is worth fetching; what all rows read stays in caches.
  void Fetch(std::size_t s, const ExprPtr& load, const std::vector<Extent>& columns) {
    bool row = p_.rows == 0, column = false;
    Visit(*load, [&](const Expr& e) {
      if (e.op != Op::kVar) return;
      row |= e.index < p_.rows;
      column |= e.index >= p_.rows;
    });
    if (!row || !column) return;
    std::size_t i = 0;
    while (i < p_.fetched.size() &&
           !(SameExpr(*p_.fetched[i].load, *load) && p_.fetched[i].columns == columns))
      ++i;
    if (i == p_.fetched.size()) p_.fetched.push_back({load, columns});
    std::vector<int>& loads = p_.loads[s];
    if (std::find(loads.begin(), loads.end(), static_cast<int>(i)) == loads.end())
      loads.push_back(static_cast<int>(i));
  }

  void FindOnline() {
    const Workload& w = p_.workload;
    for (std::size_t s = 0; s < w.stages.size() && p_.online_sum < 0; ++s) {
      const Stage& sum = w.stages[s];
      if (sum.combiner != Combiner::kSum || sum.accumulator != DataType::kF32) continue;
      const Expr* exp = SkipCasts(sum.body.get());
      if (exp->op != Op::kExp) continue;
      const Expr* difference = SkipCasts(exp->args[0].get());
      if (difference->op != Op::kSub) continue;
      const Expr* max = SkipCasts(difference->args[1].get());
      if (max->op != Op::kLoad) continue;
      for (std::size_t m = 0; m < s; ++m) {
        const Stage& stage = w.stages[m];
        if (stage.tensor != max->index || stage.combiner != Combiner::kMax ||
            stage.accumulator != DataType::kF32 || stage.axes.size() != sum.axes.size())
          continue;
        // The maximum is stored as it is, so that later stages see what the sum has seen.
        const DataType stored = w.tensors[At(stage.tensor)].type;
        bool same = (stored == DataType::kF32 || stored == stage.body->type) &&
                    SameExpr(*SkipCasts(stage.body.get()), *SkipCasts(difference->args[0].get()));
        for (std::size_t a = 0; same && a < sum.axes.size(); ++a)
          same = sum.axes[a].extent == stage.axes[a].extent;
        if (same) p_.online_max = static_cast<int>(m), p_.online_sum = static_cast<int>(s);
      }
    }
  }

  RowPattern p_;
  int row_votes_ = 0, column_votes_ = 0;
};

}  // namespace

std::vector<ExprPtr> RowPattern::StageValues(std::size_t s,
                                             const std::vector<ExprPtr>& canonical) const {
  std::vector<ExprPtr> values(canonical.size());
  for (std::size_t i = 0; i < canonical.size(); ++i) values[At(order[s][i])] = canonical[i];
  return values;
}

bool RowPattern::HasColumns(std::size_t s) const {
  return workload.stages[s].axes.size() > At(rows);
}

bool RowPattern::WholeVectors(std::int64_t lanes) const {
  if (lanes == 1) return true;
  const auto whole = [&](const Extent& e) { return e.symbol < 0 && e.value % lanes == 0; };
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const std::vector<Axis>& axes = workload.stages[s].axes;
    if (strided && !whole(axes[At(order[s][At(rows) - 1])].extent)) return false;
    if (!strided && HasColumns(s) && !whole(axes[At(order[s].back())].extent)) return false;
  }
  return true;
}

std::optional<RowPattern> MatchCudaRows(const Workload& workload) {
  return Matcher(workload).Run();
}

}  // namespace kindred::internal
