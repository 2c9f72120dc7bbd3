#include "tuner/import/merge_instances.h"

#include <algorithm>

namespace kindred {
namespace {

// Not the name of any of the stage's axes.
std::string FreshAxisName(const Stage& stage) {
  std::string name = "instance";
  const auto taken = [&](const Axis& axis) { return axis.name == name; };
  while (std::any_of(stage.axes.begin(), stage.axes.end(), taken)) name += '_';
  return name;
}

}  // namespace

Workload MergeInstances(const Workload& workload, int instances, const std::set<int>& shared) {
  if (instances == 1) return workload;
  Workload merged = workload;
  for (std::size_t id = 0; id < merged.tensors.size(); ++id)
    if (!shared.contains(static_cast<int>(id))) {
      auto& shape = merged.tensors[id].shape;
      shape.insert(shape.begin(), Extent{instances});
    }
  for (Stage& stage : merged.stages) {
    std::vector<ExprPtr> moved;
    for (std::size_t axis = 0; axis < stage.axes.size(); ++axis)
      moved.push_back(VarExpr(static_cast<int>(axis) + 1));
    stage.axes.insert(stage.axes.begin(), Axis{FreshAxisName(stage), Extent{instances}});
    ++stage.spatial;
    // Loads last: their indices have moved then, and no load is visited twice.
    stage.body = Rewrite(SubstituteVars(stage.body, moved), [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || shared.contains(e->index)) return nullptr;
      std::vector<ExprPtr> index = {VarExpr(0)};
      index.insert(index.end(), e->args.begin(), e->args.end());
      return LoadExpr(e->index, std::move(index), e->type);
    });
  }
  return merged;
}

}  // namespace kindred
