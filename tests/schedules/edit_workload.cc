#include "tests/schedules/edit_workload.h"

#include <set>
#include <string_view>

#include <fmt/format.h>

namespace kindred {
namespace {

ExprPtr ReplacedAt(const ExprPtr& e, int& place, const ExprPtr& by) {
  if (place-- == 0) return by;
  std::vector<ExprPtr> args;
  bool changed = false;
  for (const ExprPtr& arg : e->args) {
    args.push_back(place < 0 ? arg : ReplacedAt(arg, place, by));
    changed |= args.back() != arg;
  }
  return changed ? WithArgs(*e, std::move(args)) : e;
}

}  // namespace

bool IsArg(const Stage& stage) {
  return stage.combiner == Combiner::kArgMax || stage.combiner == Combiner::kArgMin;
}

bool IsComputed(const Tensor& tensor) {
  return tensor.role == Role::kOutput || tensor.role == Role::kTemporary;
}

bool Commutes(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax || op == Op::kAnd ||
         op == Op::kOr || op == Op::kEqual || op == Op::kNotEqual;
}

bool HasLoad(const Expr& e) {
  bool has = false;
  Visit(e, [&has](const Expr& node) { has |= node.op == Op::kLoad; });
  return has;
}

std::string FreshName(const Workload& workload, Random& random) {
  static constexpr std::string_view kStems[] = {"x",      "sum", "conv1/weight:0", "f32", "a \"b\"",
                                                "output", "T_9", "naïve",          "i0"};
  std::set<std::string> taken;
  for (const Tensor& tensor : workload.tensors) taken.insert(tensor.name);
  for (const Symbol& symbol : workload.symbols) taken.insert(symbol.name);
  for (const Stage& stage : workload.stages)
    for (const Axis& axis : stage.axes) taken.insert(axis.name);
  std::string name(kStems[random.Below(std::size(kStems))]);
  while (!taken.insert(name).second) name += fmt::format("_{}", random.Below(100));
  return name;
}

std::vector<std::size_t> Readers(const Workload& workload, int tensor) {
  std::vector<std::size_t> readers;
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    bool reads = false;
    Visit(*workload.stages[s].body,
          [&](const Expr& e) { reads |= e.op == Op::kLoad && e.index == tensor; });
    if (reads) readers.push_back(s);
  }
  return readers;
}

ExprPtr RawExpr(Op op, DataType type, std::vector<ExprPtr> args) {
  auto e = MakeNode<Expr>();
  e->op = op;
  e->type = type;
  e->args = std::move(args);
  return e;
}

ExprPtr WithArgs(const Expr& e, std::vector<ExprPtr> args) {
  auto copy = MakeNode<Expr>(e);
  copy->args = std::move(args);
  return copy;
}

ExprPtr RawRewrite(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& replace) {
  std::vector<ExprPtr> args;
  bool changed = false;
  for (const ExprPtr& arg : e->args) {
    args.push_back(RawRewrite(arg, replace));
    changed |= args.back() != arg;
  }
  const ExprPtr result = changed ? WithArgs(*e, std::move(args)) : e;
  ExprPtr replaced = replace(result);
  return replaced ? replaced : result;
}

ExprPtr RawSubstitute(const ExprPtr& e, const std::vector<ExprPtr>& values) {
  return RawRewrite(e, [&values](const ExprPtr& node) {
    return node->op == Op::kVar ? values[Size(node->index)] : nullptr;
  });
}

ExprPtr Constant(DataType type, double value) {
  if (IsFloat(type)) return FloatExpr(value, type);
  return IntExpr(type == DataType::kBool ? value != 0 : static_cast<std::int64_t>(value), type);
}

std::vector<Site> SitesOf(const Workload& workload,
                          const std::function<bool(const Site&)>& wanted) {
  std::vector<Site> sites;
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    int place = 0;
    const auto walk = [&](const auto& self, const ExprPtr& e, auto where, bool padded) -> void {
      Site site{s, place++, e, where};
      if (!padded && wanted(site)) sites.push_back(std::move(site));
      if (where == Site::kIndex) where = Site::kInsideIndex;
      for (std::size_t i = 0; i < e->args.size(); ++i) {
        auto inner = where;
        if (e->op == Op::kLoad && where == Site::kValue) inner = Site::kIndex;
        if (e->op == Op::kSelect && i == 0) inner = Site::kInsideCondition;
        self(self, e->args[i], inner, e->op == Op::kPadded && i == 0);
      }
    };
    walk(walk, workload.stages[s].body, Site::kValue, false);
  }
  return sites;
}

void Replace(Workload& workload, const Site& site, const ExprPtr& by) {
  Stage& stage = workload.stages[site.stage];
  int place = site.place;
  stage.body = ReplacedAt(stage.body, place, by);
}

}  // namespace kindred
