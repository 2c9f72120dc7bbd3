// Merging of neighbouring axes: an optimistic fixpoint.
//
// A pair (d, d+1) of a tensor's dimensions stays mergeable only while every access to the tensor
// indexes it with two plain axes (a, b) that form a mergeable pair of the accessing stage; a pair
// (a, b) of a stage's axes stays mergeable only while a and b appear nowhere in the stage but
// together, as such pairs. Both sets start full and shrink until nothing changes; what is left is
// merged at once. A store is an access too (with the spatial axes in order), so merged spatial axes
// are neighbours. Fixed extents only; the one axis of argmax and argmin never merges.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schedules/internal/canonical_passes.h"

namespace kindred {
namespace {

struct Access {
  int tensor;
  std::vector<int> axes;  // per dimension: the plain axis, or -1
};

struct StageAccesses {
  std::vector<Access> accesses;  // reads, and the store
  std::vector<bool> elsewhere;   // per axis: also appears outside plain indices
};

StageAccesses Collect(const Stage& stage) {
  StageAccesses found;
  found.elsewhere.resize(stage.axes.size());
  const auto walk = [&found](const auto& self, const Expr& e) -> void {
    if (e.op == Op::kVar) found.elsewhere[static_cast<std::size_t>(e.index)] = true;
    if (e.op != Op::kLoad) {
      for (const ExprPtr& arg : e.args) self(self, *arg);
      return;
    }
    Access access{e.index, {}};
    for (const ExprPtr& index : e.args) {
      access.axes.push_back(index->op == Op::kVar ? index->index : -1);
      if (index->op != Op::kVar) self(self, *index);
    }
    found.accesses.push_back(std::move(access));
  };
  walk(walk, *stage.body);
  Access store{stage.tensor, {}};
  for (int a = 0; a < stage.spatial; ++a) store.axes.push_back(a);
  found.accesses.push_back(std::move(store));
  return found;
}

class Merger {
 public:
  explicit Merger(Workload& workload) : workload_(workload) {
    for (const Stage& stage : workload.stages) stages_.push_back(Collect(stage));
    for (const Tensor& tensor : workload.tensors)
      dims_.emplace_back(tensor.shape.empty() ? 0 : tensor.shape.size() - 1, true);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      pairs_.emplace_back();
      for (const Access& access : stages_[s].accesses)
        for (std::size_t d = 0; d + 1 < access.axes.size(); ++d)
          if (Possible(s, access, d)) pairs_[s].insert({access.axes[d], access.axes[d + 1]});
    }
  }

  void Run() {
    while (ShrinkDims() || ShrinkPairs()) {
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) MergeStage(s);
    for (std::size_t t = 0; t < dims_.size(); ++t) {
      std::vector<Extent>& shape = workload_.tensors[t].shape;
      std::vector<Extent> merged;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (d > 0 && dims_[t][d - 1])
          merged.back().value *= shape[d].value;
        else
          merged.push_back(shape[d]);
      }
      shape = std::move(merged);
    }
  }

 private:
  bool Possible(std::size_t s, const Access& access, std::size_t d) const {
    const Stage& stage = workload_.stages[s];
    const int a = access.axes[d], b = access.axes[d + 1];
    if (a < 0 || b < 0 || a == b || (a < stage.spatial) != (b < stage.spatial)) return false;
    const auto fits = [&](int axis, std::size_t dimension) {
      const Extent& extent = stage.axes[static_cast<std::size_t>(axis)].extent;
      return extent.symbol < 0 &&
             extent == workload_.tensors[static_cast<std::size_t>(access.tensor)].shape[dimension];
    };
    return fits(a, d) && fits(b, d + 1);
  }

  bool ShrinkDims() {
    bool changed = false;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const Access& access : stages_[s].accesses) {
        auto mergeable = dims_[static_cast<std::size_t>(access.tensor)].begin();
        for (std::size_t d = 0; d + 1 < access.axes.size(); ++d, ++mergeable) {
          if (!*mergeable) continue;
          if (Possible(s, access, d) && pairs_[s].contains({access.axes[d], access.axes[d + 1]}))
            continue;
          *mergeable = false;
          changed = true;
        }
      }
    }
    return changed;
  }

  bool Together(std::size_t s, int a, int b) const {
    if (stages_[s].elsewhere[static_cast<std::size_t>(a)] ||
        stages_[s].elsewhere[static_cast<std::size_t>(b)])
      return false;
    for (const Access& access : stages_[s].accesses) {
      const auto& dims = dims_[static_cast<std::size_t>(access.tensor)];
      for (std::size_t d = 0; d < access.axes.size(); ++d) {
        if (access.axes[d] == a &&
            !(d + 1 < access.axes.size() && access.axes[d + 1] == b && dims[d]))
          return false;
        if (access.axes[d] == b && !(d > 0 && access.axes[d - 1] == a && dims[d - 1])) return false;
      }
    }
    return true;
  }

  bool ShrinkPairs() {
    bool changed = false;
    for (std::size_t s = 0; s < pairs_.size(); ++s)
      changed |= std::erase_if(pairs_[s], [&](const auto& pair) {
                   return !Together(s, pair.first, pair.second);
                 }) > 0;
    return changed;
  }

  void MergeStage(std::size_t s) {
    Stage& stage = workload_.stages[s];
    std::map<int, int> follows(pairs_[s].begin(),
                               pairs_[s].end());  // axis -> the one merged after it
    std::set<int> absorbed;
    for (const auto& [first, second] : follows) absorbed.insert(second);
    std::vector<ExprPtr> values(stage.axes.size());
    std::vector<Axis> axes;
    int spatial = 0;
    for (int a = 0; a < static_cast<int>(stage.axes.size()); ++a) {
      if (absorbed.contains(a)) continue;
      Axis axis = stage.axes[static_cast<std::size_t>(a)];
      const ExprPtr variable = VarExpr(static_cast<int>(axes.size()));
      values[static_cast<std::size_t>(a)] = variable;
      for (auto next = follows.find(a); next != follows.end(); next = follows.find(next->second)) {
        axis.extent.value *= stage.axes[static_cast<std::size_t>(next->second)].extent.value;
        values[static_cast<std::size_t>(next->second)] = variable;
      }
      axes.push_back(std::move(axis));
      spatial += a < stage.spatial ? 1 : 0;
    }
    stage.body = SubstituteVars(stage.body, values);
    stage.body = Rewrite(stage.body, [this](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad) return nullptr;
      const auto& dims = dims_[static_cast<std::size_t>(e->index)];
      std::vector<ExprPtr> indices;
      for (std::size_t d = 0; d < e->args.size(); ++d)
        if (d == 0 || !dims[d - 1]) indices.push_back(e->args[d]);
      return indices.size() == e->args.size() ? nullptr
                                              : LoadExpr(e->index, std::move(indices), e->type);
    });
    stage.axes = std::move(axes);
    stage.spatial = spatial;
  }

  Workload& workload_;
  std::vector<StageAccesses> stages_;
  std::vector<std::vector<bool>> dims_;               // per tensor, per pair (d, d+1)
  std::vector<std::set<std::pair<int, int>>> pairs_;  // per stage
};

}  // namespace

void MergeAxes(Workload& workload) { Merger(workload).Run(); }

}  // namespace kindred
