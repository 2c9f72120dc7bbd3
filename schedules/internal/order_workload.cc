// The last pass of the canonical form: order and names.
//
// Operands of commutative operators are ordered by how much they are, then by colour (which depends
// on structure only); with them fixed, a walk from the outputs visits everything in one order:
// stages before their readers, inputs at first use, reduction axes at first appearance. Operands of
// equal colour are interchangeable but for graphs on which colour refinement is blind; they keep
// their order.
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "schedules/internal/canonical_passes.h"
#include "schedules/internal/color_refinement.h"

namespace kindred {
namespace {

class Orderer {
 public:
  Orderer(const Workload& workload, std::vector<int>& source)
      : workload_(workload), colors_(workload), source_(source) {}

  Workload Run() {
    producers_.assign(workload_.tensors.size(), -1);
    new_id_.assign(workload_.tensors.size(), -1);
    new_symbol_.assign(workload_.symbols.size(), -1);
    for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
      producers_[static_cast<std::size_t>(workload_.stages[s].tensor)] = static_cast<int>(s);
      bodies_.push_back(SortOperands(s, workload_.stages[s].body));
    }
    done_.assign(workload_.stages.size(), false);
    for (std::size_t s = 0; s < workload_.stages.size(); ++s)
      if (workload_.tensors[static_cast<std::size_t>(workload_.stages[s].tensor)].role ==
          Role::kOutput)
        VisitStage(s);
    Number();
    result_.contract = workload_.contract;
    return std::move(result_);
  }

 private:
  // What is put first: no constants, many axes, inputs before weights, the outer spatial axes, many
  // nodes.
  struct Weight {
    bool constant;
    int axes;  // that it uses
    bool weight;
    std::vector<int> spatial;  // axes that it uses, ascending
    int nodes;
  };

  Weight Weigh(std::size_t stage, const Expr& e) const {
    Weight w{IsConstant(e), 0, false, {}, 0};
    std::vector<int> seen;
    Visit(e, [&](const Expr& node) {
      ++w.nodes;
      if (node.op == Op::kVar && std::find(seen.begin(), seen.end(), node.index) == seen.end())
        seen.push_back(node.index);
      if (node.op == Op::kLoad)
        w.weight |= workload_.tensors[static_cast<std::size_t>(node.index)].role == Role::kWeight;
    });
    w.axes = static_cast<int>(seen.size());
    std::sort(seen.begin(), seen.end());
    for (const int axis : seen)
      if (axis < workload_.stages[stage].spatial) w.spatial.push_back(axis);
    return w;
  }

  bool Swap(std::size_t stage, const Expr& a, const Expr& b) const {
    const Weight x = Weigh(stage, a), y = Weigh(stage, b);
    const auto rank = [](const Weight& w) {
      return std::tuple(w.constant, -w.axes, w.weight, w.spatial, -w.nodes);
    };
    if (rank(x) != rank(y)) return rank(y) < rank(x);
    return colors_.Of(stage, b) < colors_.Of(stage, a);
  }

  ExprPtr SortOperands(std::size_t stage, const ExprPtr& body) const {
    return Rewrite(body, [&](const ExprPtr& e) -> ExprPtr {
      if (!ColorRefinement::IsCommutative(e->op) || e->args[1]->op == Op::kInt ||
          !Swap(stage, *e->args[0], *e->args[1]))
        return nullptr;
      auto swapped = MakeNode<Expr>(*e);
      std::swap(swapped->args[0], swapped->args[1]);
      return swapped;
    });
  }

  void VisitStage(std::size_t s) {
    if (done_[s]) return;
    done_[s] = true;
    const Stage& stage = workload_.stages[s];
    for (int a = 0; a < stage.spatial; ++a)
      UseExtent(stage.axes[static_cast<std::size_t>(a)].extent);
    Visit(*bodies_[s], [this](const Expr& e) {
      if (e.op == Op::kExtent) UseExtent({1, e.index});
      if (e.op != Op::kLoad) return;
      const auto id = static_cast<std::size_t>(e.index);
      if (producers_[id] >= 0) return VisitStage(static_cast<std::size_t>(producers_[id]));
      if (new_id_[id] >= 0) return;
      new_id_[id] = static_cast<int>(source_.size());
      source_.push_back(e.index);
      for (const Extent& extent : workload_.tensors[id].shape) UseExtent(extent);
    });
    for (const Axis& axis : stage.axes) UseExtent(axis.extent);
    order_.push_back(s);
  }

  void UseExtent(const Extent& extent) {
    if (extent.symbol < 0 || new_symbol_[static_cast<std::size_t>(extent.symbol)] >= 0) return;
    new_symbol_[static_cast<std::size_t>(extent.symbol)] = static_cast<int>(result_.symbols.size());
    result_.symbols.push_back(workload_.symbols[static_cast<std::size_t>(extent.symbol)]);
    result_.symbols.back().name = "s" + std::to_string(result_.symbols.size() - 1);
  }

  Extent Renumber(Extent extent) const {
    if (extent.symbol >= 0) extent.symbol = new_symbol_[static_cast<std::size_t>(extent.symbol)];
    return extent;
  }

  void Number() {
    for (const std::size_t s : order_) {
      const auto id = static_cast<std::size_t>(workload_.stages[s].tensor);
      new_id_[id] = static_cast<int>(source_.size());
      source_.push_back(static_cast<int>(id));
    }
    for (std::size_t t = 0; t < source_.size(); ++t) {
      Tensor tensor = workload_.tensors[static_cast<std::size_t>(source_[t])];
      tensor.name = "t" + std::to_string(t);
      for (Extent& extent : tensor.shape) extent = Renumber(extent);
      result_.tensors.push_back(std::move(tensor));
    }
    for (const std::size_t s : order_) result_.stages.push_back(Finished(s));
  }

  Stage Finished(std::size_t s) const {
    const Stage& old = workload_.stages[s];
    // Spatial axes stay; reduction axes in the order in which the body first uses them, unused ones
    // last.
    std::vector<int> order;
    std::vector<bool> placed(old.axes.size());
    const auto place = [&](int axis) {
      if (placed[static_cast<std::size_t>(axis)]) return;
      placed[static_cast<std::size_t>(axis)] = true;
      order.push_back(axis);
    };
    for (int a = 0; a < old.spatial; ++a) place(a);
    PlaceInOrder(s, *bodies_[s], place);
    std::vector<int> unused;
    for (int a = old.spatial; a < static_cast<int>(old.axes.size()); ++a)
      if (!placed[static_cast<std::size_t>(a)]) unused.push_back(a);
    std::stable_sort(unused.begin(), unused.end(), [&](int a, int b) {
      return old.axes[static_cast<std::size_t>(a)].extent.value <
             old.axes[static_cast<std::size_t>(b)].extent.value;
    });
    for (const int a : unused) place(a);

    Stage stage = old;
    stage.tensor = new_id_[static_cast<std::size_t>(old.tensor)];
    stage.axes.clear();
    std::vector<ExprPtr> values(old.axes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto from = static_cast<std::size_t>(order[i]);
      values[from] = VarExpr(static_cast<int>(i));
      stage.axes.push_back({"i" + std::to_string(i), Renumber(old.axes[from].extent)});
    }
    stage.body = Renamed(bodies_[s], values);
    return stage;
  }

  // The axes of `e` in order; those of an affine sum by colour, because it is printed in axis
  // order.
  template <typename Place>
  void PlaceInOrder(std::size_t s, const Expr& e, const Place& place) const {
    if (e.op == Op::kVar) return place(e.index);
    const int count = static_cast<int>(workload_.stages[s].axes.size());
    if (const auto affine = AsAffine(e, count)) {
      std::vector<std::pair<std::uint64_t, int>> terms;
      for (int a = 0; a < count; ++a)
        if (affine->coefficients[static_cast<std::size_t>(a)] != 0)
          terms.emplace_back(colors_.Of(s, *VarExpr(a)), a);
      std::stable_sort(terms.begin(), terms.end(),
                       [](const auto& x, const auto& y) { return x.first < y.first; });
      for (const auto& [color, axis] : terms) place(axis);
      return;
    }
    for (const ExprPtr& arg : e.args) PlaceInOrder(s, *arg, place);
  }

  // New variables and ids, affine sums rebuilt in axis order; the order of operands stays.
  ExprPtr Renamed(const ExprPtr& e, const std::vector<ExprPtr>& values) const {
    if (e->op == Op::kVar) return values[static_cast<std::size_t>(e->index)];
    auto copy = MakeNode<Expr>(*e);
    if (e->op == Op::kLoad) copy->index = new_id_[static_cast<std::size_t>(e->index)];
    if (e->op == Op::kExtent) copy->index = new_symbol_[static_cast<std::size_t>(e->index)];
    for (ExprPtr& arg : copy->args) arg = Renamed(arg, values);
    if (e->type == DataType::kI64)
      if (const auto affine = AsAffine(*copy, static_cast<int>(values.size())))
        return FromAffine(*affine);
    return copy;
  }

  const Workload& workload_;
  ColorRefinement colors_;
  std::vector<int>& source_;
  std::vector<ExprPtr> bodies_;
  std::vector<int> producers_;  // stage per tensor, or -1
  std::vector<int> new_id_;
  std::vector<int> new_symbol_;
  std::vector<bool> done_;
  std::vector<std::size_t> order_;
  Workload result_;
};

}  // namespace

Workload OrderWorkload(const Workload& workload, std::vector<int>& source) {
  source.clear();
  return Orderer(workload, source).Run();
}

}  // namespace kindred
