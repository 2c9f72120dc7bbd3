// Of equal temporaries one stays.
//
// Stages are compared in a form of their own: operands of commutative operators in an order of
// structure alone (first with reduction axes told apart by their extents only), reduction axes as
// the body then first uses them, operands again. The form knows nothing of a stage's readers, which
// the order of OrderWorkload does. Reduction axes that this cannot tell apart keep their order; two
// stages in which it differs are then not seen to be equal.
#include <algorithm>
#include <bit>
#include <compare>
#include <tuple>
#include <utility>

#include "schedules/internal/canonical_passes.h"
#include "schedules/internal/color_refinement.h"

namespace kindred {
namespace {

class OwnForm {
 public:
  explicit OwnForm(Stage stage) : stage_(std::move(stage)) {}

  Stage Make() {
    stage_.body = Sorted(stage_.body);
    OrderReductionAxes();
    exact_ = true;
    stage_.body = Sorted(stage_.body);
    return std::move(stage_);
  }

 private:
  using Rank = std::tuple<int, int, std::int64_t>;

  Rank RankOf(int axis) const {
    if (exact_ || axis < stage_.spatial) return {axis, 0, 0};
    const Extent& extent = stage_.axes[static_cast<std::size_t>(axis)].extent;
    return {stage_.spatial, extent.symbol, extent.value};
  }

  std::strong_ordering Compare(const Expr& a, const Expr& b) const {
    if (a.op == Op::kVar && b.op == Op::kVar) return RankOf(a.index) <=> RankOf(b.index);
    const auto node = [](const Expr& e) {
      return std::tuple(IsConstant(e), e.op, e.type, e.index, e.integer,
                        std::bit_cast<std::uint64_t>(e.number), e.args.size());
    };
    if (const auto order = node(a) <=> node(b); order != 0) return order;
    for (std::size_t i = 0; i < a.args.size(); ++i)
      if (const auto order = Compare(*a.args[i], *b.args[i]); order != 0) return order;
    return std::strong_ordering::equal;
  }

  ExprPtr Sorted(const ExprPtr& body) const {
    return Rewrite(body, [this](const ExprPtr& e) -> ExprPtr {
      if (!ColorRefinement::IsCommutative(e->op) || Compare(*e->args[0], *e->args[1]) <= 0)
        return nullptr;
      auto swapped = MakeNode<Expr>(*e);
      std::swap(swapped->args[0], swapped->args[1]);
      return swapped;
    });
  }

  void OrderReductionAxes() {
    std::vector<int> order;
    const auto place = [&order](int axis) {
      if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
    };
    for (int a = 0; a < stage_.spatial; ++a) place(a);
    Visit(*stage_.body, [&place](const Expr& e) {
      if (e.op == Op::kVar) place(e.index);
    });
    std::vector<int> unused;
    for (int a = stage_.spatial; a < static_cast<int>(stage_.axes.size()); ++a)
      if (std::find(order.begin(), order.end(), a) == order.end()) unused.push_back(a);
    std::stable_sort(unused.begin(), unused.end(),
                     [this](int a, int b) { return RankOf(a) < RankOf(b); });
    order.insert(order.end(), unused.begin(), unused.end());
    std::vector<Axis> axes;
    std::vector<ExprPtr> values(order.size());
    for (const int axis : order) {
      values[static_cast<std::size_t>(axis)] = VarExpr(static_cast<int>(axes.size()));
      axes.push_back(stage_.axes[static_cast<std::size_t>(axis)]);
    }
    stage_.axes = std::move(axes);
    const int count = static_cast<int>(values.size());
    stage_.body = Rewrite(SubstituteVars(stage_.body, values), [count](const ExprPtr& e) {
      const auto affine = AsAffine(*e, count);
      return affine ? FromAffine(*affine) : nullptr;
    });
  }

  Stage stage_;
  bool exact_ = false;  // reduction axes are in order
};

bool SameStages(const Workload& workload, const Stage& a, const Stage& b) {
  const auto same_extent = [](const Axis& x, const Axis& y) { return x.extent == y.extent; };
  return a.spatial == b.spatial && a.combiner == b.combiner && a.accumulator == b.accumulator &&
         std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(), same_extent) &&
         workload.tensors[static_cast<std::size_t>(a.tensor)].type ==
             workload.tensors[static_cast<std::size_t>(b.tensor)].type &&
         SameExpr(*a.body, *b.body);
}

}  // namespace

void MergeEqualStages(Workload& workload) {
  std::vector<int> replaced(workload.tensors.size());
  for (std::size_t t = 0; t < replaced.size(); ++t) replaced[t] = static_cast<int>(t);
  std::vector<Stage> kept, forms;
  for (Stage& stage : workload.stages) {
    stage.body = Rewrite(stage.body, [&replaced](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || replaced[static_cast<std::size_t>(e->index)] == e->index)
        return nullptr;
      return LoadExpr(replaced[static_cast<std::size_t>(e->index)], e->args, e->type);
    });
    Stage form = OwnForm(stage).Make();
    if (workload.tensors[static_cast<std::size_t>(stage.tensor)].role == Role::kTemporary) {
      const auto earlier = std::find_if(forms.begin(), forms.end(), [&](const Stage& other) {
        return SameStages(workload, other, form);
      });
      if (earlier != forms.end()) {
        replaced[static_cast<std::size_t>(stage.tensor)] = earlier->tensor;
        continue;
      }
    }
    kept.push_back(std::move(stage));
    forms.push_back(std::move(form));
  }
  workload.stages = std::move(kept);
}

}  // namespace kindred
