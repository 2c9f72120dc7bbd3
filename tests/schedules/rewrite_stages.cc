// Rewrites that cut stages and axes into other pieces.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tests/schedules/edit_workload.h"
#include "tests/schedules/rewrite_kinds.h"

namespace kindred {
namespace {

// Equal for expressions that the canonical form could take for the same temporary: the inputs that
// they read, and their functions.
std::multiset<int> Skeleton(const Workload& workload, const Expr& e) {
  std::multiset<int> parts;
  Visit(e, [&](const Expr& node) {
    if (node.op == Op::kLoad)
      parts.insert(IsComputed(workload.tensors[Size(node.index)]) ? -1000 : node.index);
    if (node.op >= Op::kExp && node.op <= Op::kRound) parts.insert(-static_cast<int>(node.op));
  });
  return parts;
}

// The axes at which every read of `tensor` in `stage` stands, if they are all its axes.
std::optional<std::vector<int>> ReadByAllAxes(const Stage& stage, int tensor) {
  std::optional<std::vector<int>> axes;
  bool plain = true;
  const auto walk = [&](const auto& self, const Expr& e, bool inside) -> void {
    if (e.op == Op::kLoad && e.index == tensor) {
      std::vector<int> used;
      for (const ExprPtr& index : e.args) used.push_back(index->op == Op::kVar ? index->index : -1);
      plain &= !inside && (!axes || *axes == used);
      axes = std::move(used);
    }
    for (const ExprPtr& arg : e.args)
      self(self, *arg, inside || e.op == Op::kLoad || e.op == Op::kPadded);
  };
  walk(walk, *stage.body, false);
  if (!plain || !axes) return std::nullopt;
  std::set<int> distinct(axes->begin(), axes->end());
  distinct.erase(-1);
  return distinct.size() == stage.axes.size() && axes->size() == stage.axes.size() ? axes
                                                                                   : std::nullopt;
}

// What must be split together with one dimension, so that every access walks both halves together.
class AxisSplit {
 public:
  AxisSplit(const Workload& workload, std::int64_t extent) : workload_(workload), extent_(extent) {}

  bool Add(int tensor, std::size_t dimension) {
    if (!dims_.insert({tensor, dimension}).second) return true;
    for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
      const Stage& stage = workload_.stages[s];
      if (stage.tensor == tensor && !AddAxis(s, static_cast<int>(dimension))) return false;
      bool fits = true;
      Visit(*stage.body, [&](const Expr& e) {
        if (!fits || e.op != Op::kLoad || e.index != tensor) return;
        const Expr& index = *e.args[dimension];
        fits = index.op == Op::kVar && AddAxis(s, index.index);
      });
      if (!fits) return false;
    }
    return true;
  }

  void Apply(Workload& w, std::int64_t outer, std::int64_t inner, Random& random) const {
    for (std::size_t t = 0; t < w.tensors.size(); ++t) {
      std::vector<Extent> shape;
      for (std::size_t i = 0; i < w.tensors[t].shape.size(); ++i) {
        if (!dims_.contains({static_cast<int>(t), i})) {
          shape.push_back(w.tensors[t].shape[i]);
          continue;
        }
        shape.push_back({outer, -1});
        shape.push_back({inner, -1});
      }
      w.tensors[t].shape = std::move(shape);
    }
    for (std::size_t s = 0; s < w.stages.size(); ++s) ApplyTo(w, s, outer, inner, random);
  }

 private:
  bool AddAxis(std::size_t s, int axis) {
    const Stage& stage = workload_.stages[s];
    if (stage.axes[Size(axis)].extent != Extent{extent_, -1}) return false;
    if (!axes_.insert({s, axis}).second) return true;
    if (axis >= stage.spatial && IsArg(stage)) return false;
    if (axis < stage.spatial && !Add(stage.tensor, Size(axis))) return false;
    bool fits = true;
    const auto walk = [&](const auto& self, const Expr& e) -> void {
      fits &= !(e.op == Op::kVar && e.index == axis);
      for (std::size_t i = 0; fits && i < e.args.size(); ++i) {
        const Expr& arg = *e.args[i];
        if (e.op != Op::kLoad || arg.op != Op::kVar)
          self(self, arg);
        else if (arg.index == axis)
          fits =
              workload_.tensors[Size(e.index)].shape[i] == Extent{extent_, -1} && Add(e.index, i);
      }
    };
    walk(walk, *stage.body);
    return fits;
  }

  void ApplyTo(Workload& w, std::size_t s, std::int64_t outer, std::int64_t inner,
               Random& random) const {
    Stage& stage = w.stages[s];
    std::vector<Axis> axes;
    std::vector<ExprPtr> values;
    std::vector<int> first;  // per old axis, its place now
    int spatial = 0;
    for (int a = 0; a < static_cast<int>(stage.axes.size()); ++a) {
      first.push_back(static_cast<int>(axes.size()));
      values.push_back(VarExpr(first.back()));
      if (axes_.contains({s, a})) {
        axes.push_back({FreshName(w, random), {outer, -1}});
        axes.push_back({stage.axes[Size(a)].name, {inner, -1}});
      } else {
        axes.push_back(stage.axes[Size(a)]);
      }
      if (a < stage.spatial) spatial = static_cast<int>(axes.size());
    }
    const auto rebuilt = [&](const auto& self, const ExprPtr& e) -> ExprPtr {
      if (e->op == Op::kVar) return values[Size(e->index)];
      std::vector<ExprPtr> args;
      for (std::size_t i = 0; i < e->args.size(); ++i) {
        args.push_back(self(self, e->args[i]));
        if (e->op == Op::kLoad && dims_.contains({e->index, i}))
          args.push_back(VarExpr(first[Size(e->args[i]->index)] + 1));
      }
      return WithArgs(*e, std::move(args));
    };
    stage.body = rebuilt(rebuilt, stage.body);
    stage.axes = std::move(axes);
    stage.spatial = spatial;
  }

  const Workload& workload_;
  std::int64_t extent_;
  std::set<std::pair<int, std::size_t>> dims_;
  std::set<std::pair<std::size_t, int>> axes_;
};

}  // namespace

// A part of a stage's body becomes a temporary over all its axes, which step 7 takes back.
bool SplitStage(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const auto guarded = [&w](const Site& s) {  // by a select above it
    bool found = false;
    const auto walk = [&](const auto& self, const Expr& e, bool below) -> void {
      found |= below && &e == s.expr.get();
      for (std::size_t i = 0; i < e.args.size(); ++i)
        self(self, *e.args[i], below || (e.op == Op::kSelect && i > 0));
    };
    walk(walk, *w.stages[s.stage].body, false);
    return found;
  };
  const auto site = Pick(SitesOf(w,
                                 [&](const Site& s) {
                                   return s.where == Site::kValue && !IsConstant(*s.expr) &&
                                          s.expr->op != Op::kVar && HasLoad(*s.expr) && !guarded(s);
                                 }),
                         random);
  if (!site) return false;
  // Step 6 would take an equal temporary for this one.
  const std::multiset<int> skeleton = Skeleton(w, *site->expr);
  bool alone = true;
  for (std::size_t s = 0; s < w.stages.size(); ++s)
    Visit(*w.stages[s].body,
          [&](const Expr& e) { alone &= s == site->stage || Skeleton(w, e) != skeleton; });
  if (!alone) return false;
  const Stage& reader = w.stages[site->stage];
  Stage part;
  part.tensor = static_cast<int>(w.tensors.size());
  part.axes = reader.axes;
  part.spatial = static_cast<int>(part.axes.size());
  part.body = site->expr;
  Tensor tensor;
  tensor.name = FreshName(w, random);
  tensor.type = site->expr->type;
  tensor.role = Role::kTemporary;
  std::vector<ExprPtr> indices;
  for (const Axis& axis : part.axes) {
    indices.push_back(VarExpr(static_cast<int>(indices.size())));
    tensor.shape.push_back(axis.extent);
  }
  Replace(w, *site, LoadExpr(part.tensor, std::move(indices), tensor.type));
  w.tensors.push_back(std::move(tensor));
  w.stages.insert(w.stages.begin() + static_cast<std::ptrdiff_t>(site->stage), std::move(part));
  return true;
}

bool InlineStage(Disguised& d, Random& random) {
  Workload& w = d.workload;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // producer, reader
  for (std::size_t s = 0; s < w.stages.size(); ++s) {
    const Stage& producer = w.stages[s];
    if (producer.combiner != Combiner::kNone ||
        w.tensors[Size(producer.tensor)].role != Role::kTemporary)
      continue;
    const auto readers = Readers(w, producer.tensor);
    if (readers.size() != 1) continue;
    const Stage& reader = w.stages[readers[0]];
    const auto axes = ReadByAllAxes(reader, producer.tensor);
    bool whole = axes.has_value();
    for (std::size_t i = 0; whole && i < axes->size(); ++i)
      whole = reader.axes[Size((*axes)[i])].extent == producer.axes[i].extent;
    // Where an equal temporary exists, step 6 would come first.
    for (const Stage& other : w.stages)
      whole &= &other == &producer || Skeleton(w, *other.body) != Skeleton(w, *producer.body);
    if (whole) pairs.emplace_back(s, readers[0]);
  }
  const auto chosen = Pick(pairs, random);
  if (!chosen) return false;
  const Stage producer = w.stages[chosen->first];
  Stage& reader = w.stages[chosen->second];
  const DataType type = w.tensors[Size(producer.tensor)].type;
  reader.body = RawRewrite(reader.body, [&](const ExprPtr& e) -> ExprPtr {
    if (e->op != Op::kLoad || e->index != producer.tensor) return nullptr;
    return RawExpr(Op::kCast, type, {RawSubstitute(producer.body, e->args)});
  });
  w.stages.erase(w.stages.begin() + static_cast<std::ptrdiff_t>(chosen->first));
  // The tensor goes too: the last one takes its place.
  const int last = static_cast<int>(w.tensors.size()) - 1;
  const int gone = producer.tensor;
  w.tensors[Size(gone)] = w.tensors.back();
  w.tensors.pop_back();
  for (Stage& stage : w.stages) {
    if (stage.tensor == last) stage.tensor = gone;
    stage.body = RawRewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      return e->op == Op::kLoad && e->index == last ? LoadExpr(gone, e->args, e->type) : nullptr;
    });
  }
  for (int& id : d.tensors) id = id == gone ? -1 : id == last ? gone : id;
  return true;
}

// A temporary is computed twice; some reads go to the copy.
bool DuplicateTemporary(Disguised& d, Random& random) {
  Workload& w = d.workload;
  std::vector<std::size_t> temporaries;
  for (std::size_t s = 0; s < w.stages.size(); ++s)
    if (w.tensors[Size(w.stages[s].tensor)].role == Role::kTemporary) temporaries.push_back(s);
  const auto chosen = Pick(temporaries, random);
  if (!chosen) return false;
  Stage copy = w.stages[*chosen];
  const int original = copy.tensor;
  copy.tensor = static_cast<int>(w.tensors.size());
  Tensor tensor = w.tensors[Size(original)];
  tensor.name = FreshName(w, random);
  w.tensors.push_back(std::move(tensor));
  for (std::size_t s = *chosen + 1; s < w.stages.size(); ++s)
    w.stages[s].body = RawRewrite(w.stages[s].body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || e->index != original || random.Below(2) == 0) return nullptr;
      return LoadExpr(copy.tensor, e->args, e->type);
    });
  w.stages.insert(w.stages.begin() + static_cast<std::ptrdiff_t>(*chosen) + 1, std::move(copy));
  return true;
}

bool SplitAxis(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const int tensor = static_cast<int>(random.Below(w.tensors.size()));
  const std::vector<Extent>& shape = w.tensors[Size(tensor)].shape;
  if (shape.empty() || shape.size() >= 10) return false;
  const std::size_t dimension = random.Below(shape.size());
  const Extent extent = shape[dimension];
  std::vector<std::int64_t> divisors;
  for (std::int64_t i = 1; i <= extent.value; ++i)
    if (extent.value % i == 0) divisors.push_back(i);
  const std::int64_t outer = *Pick(divisors, random);
  const Workload before = w;
  AxisSplit split(before, extent.value);
  if (extent.symbol >= 0 || !split.Add(tensor, dimension)) return false;
  split.Apply(w, outer, extent.value / outer, random);
  return true;
}

}  // namespace kindred
