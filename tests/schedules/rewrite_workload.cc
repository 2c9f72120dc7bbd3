#include "tests/schedules/rewrite_workload.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"
#include "tests/schedules/edit_workload.h"
#include "tests/schedules/rewrite_kinds.h"

namespace kindred {
namespace {

// --- names and order ---

bool Rename(Disguised& d, Random& random) {
  Workload& w = d.workload;
  w.name = random.Below(2) == 0 ? "" : "another \"name\"";
  for (Tensor& tensor : w.tensors) tensor.name = FreshName(w, random);
  for (Symbol& symbol : w.symbols) symbol.name = FreshName(w, random);
  for (Stage& stage : w.stages)
    for (Axis& axis : stage.axes) axis.name = FreshName(w, random);
  return true;
}

bool ReorderDeclarations(Disguised& d, Random& random) {
  Workload& w = d.workload;
  std::vector<int> tensors(w.tensors.size()), symbols(w.symbols.size());
  std::iota(tensors.begin(), tensors.end(), 0);
  std::iota(symbols.begin(), symbols.end(), 0);
  Shuffle(tensors, random);
  Shuffle(symbols, random);
  const Workload before = w;
  const auto move_extent = [&symbols](Extent& extent) {
    if (extent.symbol >= 0) extent.symbol = symbols[Size(extent.symbol)];
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) w.symbols[Size(symbols[i])] = before.symbols[i];
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& tensor = w.tensors[Size(tensors[i])];
    tensor = before.tensors[i];
    for (Extent& extent : tensor.shape) move_extent(extent);
  }
  for (Stage& stage : w.stages) {
    stage.tensor = tensors[Size(stage.tensor)];
    for (Axis& axis : stage.axes) move_extent(axis.extent);
    stage.body = RawRewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op == Op::kExtent) return ExtentExpr(symbols[Size(e->index)]);
      if (e->op != Op::kLoad) return nullptr;
      return LoadExpr(tensors[Size(e->index)], e->args, e->type);
    });
  }
  for (int& id : d.tensors)
    if (id >= 0) id = tensors[Size(id)];
  return true;
}

// Another topological order; outputs keep theirs.
bool ReorderStages(Disguised& d, Random& random) {
  Workload& w = d.workload;
  std::vector<Stage> rest = std::move(w.stages);
  w.stages.clear();
  std::set<int> ready;
  while (!rest.empty()) {
    std::vector<std::size_t> possible;
    bool output_seen = false;
    for (std::size_t s = 0; s < rest.size(); ++s) {
      const bool output = w.tensors[Size(rest[s].tensor)].role == Role::kOutput;
      bool able = !(output && output_seen);
      output_seen |= output;
      Visit(*rest[s].body, [&](const Expr& e) {
        if (e.op == Op::kLoad)
          able &= !IsComputed(w.tensors[Size(e.index)]) || ready.contains(e.index);
      });
      if (able) possible.push_back(s);
    }
    const std::size_t chosen = possible[random.Below(possible.size())];
    ready.insert(rest[chosen].tensor);
    w.stages.push_back(std::move(rest[chosen]));
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return true;
}

bool CommuteOperands(Disguised& d, Random& random) {
  for (Stage& stage : d.workload.stages)
    stage.body = RawRewrite(stage.body, [&random](const ExprPtr& e) -> ExprPtr {
      if (!Commutes(e->op) || random.Below(2) == 0) return nullptr;
      return WithArgs(*e, {e->args[1], e->args[0]});
    });
  return true;
}

bool ReorderReductionAxes(Disguised& d, Random& random) {
  for (Stage& stage : d.workload.stages) {
    std::vector<std::size_t> order(stage.axes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::size_t> reduced(order.begin() + stage.spatial, order.end());
    Shuffle(reduced, random);
    std::copy(reduced.begin(), reduced.end(), order.begin() + stage.spatial);
    std::vector<ExprPtr> values(order.size());
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      values[order[i]] = VarExpr(static_cast<int>(i));
      axes.push_back(stage.axes[order[i]]);
    }
    stage.axes = std::move(axes);
    stage.body = RawSubstitute(stage.body, values);
  }
  return true;
}

// --- what nothing needs ---

bool AddDeadStages(Disguised& d, Random& random) {
  Workload& w = d.workload;
  if (w.symbols.size() < 4 && random.Below(2) == 0)
    w.symbols.push_back({FreshName(w, random), 2, 9, {}});
  Tensor unread;
  unread.name = FreshName(w, random);
  unread.shape = {{5, -1}};
  unread.role = random.Below(2) == 0 ? Role::kInput : Role::kWeight;
  if (random.Below(2) == 0) unread.data = {"normal", 0, 1, 0.5, ""};
  w.tensors.push_back(unread);
  for (int count = 1 + static_cast<int>(random.Below(2)); count > 0; --count) {
    const int read = static_cast<int>(random.Below(w.tensors.size()));
    const Tensor source = w.tensors[Size(read)];
    Tensor tensor = source;
    tensor.role = Role::kTemporary;
    tensor.data = {};
    tensor.name = FreshName(w, random);
    Stage stage;
    stage.tensor = static_cast<int>(w.tensors.size());
    w.tensors.push_back(std::move(tensor));
    std::vector<ExprPtr> indices;
    for (const Extent& extent : source.shape) {
      indices.push_back(VarExpr(static_cast<int>(stage.axes.size())));
      stage.axes.push_back({fmt::format("dead{}", stage.axes.size()), extent});
    }
    stage.spatial = static_cast<int>(stage.axes.size());
    stage.body = LoadExpr(read, std::move(indices), source.type);
    if (IsFloat(source.type)) stage.body = UnaryExpr(Op::kExp, stage.body);
    w.stages.push_back(std::move(stage));
  }
  return true;
}

// A dimension of extent 1 somewhere in some tensor.
bool AddUnitDimension(Disguised& d, Random& random) {
  Workload& w = d.workload;
  const int id = static_cast<int>(random.Below(w.tensors.size()));
  Tensor& tensor = w.tensors[Size(id)];
  const auto at = static_cast<std::ptrdiff_t>(random.Below(tensor.shape.size() + 1));
  if (tensor.shape.size() >= 12) return false;
  tensor.shape.insert(tensor.shape.begin() + at, Extent{1, -1});
  for (Stage& stage : w.stages) {
    if (stage.tensor == id) {
      std::vector<ExprPtr> values;
      for (int a = 0; a < static_cast<int>(stage.axes.size()); ++a)
        values.push_back(VarExpr(a < at ? a : a + 1));
      stage.body = RawSubstitute(stage.body, values);
      stage.axes.insert(stage.axes.begin() + at, {FreshName(w, random), {1, -1}});
      ++stage.spatial;
    }
    stage.body = RawRewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || e->index != id) return nullptr;
      std::vector<int> units;
      for (int a = 0; a < static_cast<int>(stage.axes.size()); ++a)
        if (stage.axes[Size(a)].extent == Extent{1, -1}) units.push_back(a);
      const auto unit = random.Below(2) == 0 ? Pick(units, random) : std::nullopt;
      std::vector<ExprPtr> indices = e->args;
      indices.insert(indices.begin() + at, unit ? VarExpr(*unit) : IntExpr(0));
      return LoadExpr(id, std::move(indices), e->type);
    });
  }
  return true;
}

// A reduction over one more axis of extent 1; a pointwise stage becomes a reduction over it.
bool AddUnitReduction(Disguised& d, Random& random) {
  Workload& w = d.workload;
  Stage& stage = w.stages[random.Below(w.stages.size())];
  if (IsArg(stage) || stage.axes.size() >= 12) return false;
  if (stage.combiner == Combiner::kNone) {
    static constexpr Combiner kAny[] = {Combiner::kSum, Combiner::kMax, Combiner::kMin,
                                        Combiner::kProd};
    stage.combiner = kAny[random.Below(4)];
    stage.accumulator = DefaultAccumulator(stage.body->type);
  }
  stage.axes.push_back({FreshName(w, random), {1, -1}});
  return true;
}

// --- other forms ---

// Readers fold constants, and so the forms are made for folded ones.
void FoldConstants(Workload& workload) {
  for (Stage& stage : workload.stages)
    stage.body = Rewrite(stage.body, [](const ExprPtr& e) -> ExprPtr {
      return IsConstant(*e) ? MakeNode<Expr>(*e) : nullptr;
    });
}

bool ThroughText(Disguised& d, Random&) {
  FoldConstants(d.workload);
  const auto parsed = ParseWorkload(PrintWorkload(d.workload));
  if (!parsed) return false;
  // Tensors are declared in another order: inputs and weights first.
  std::map<std::string, int> ids;
  for (std::size_t t = 0; t < parsed->tensors.size(); ++t)
    ids[parsed->tensors[t].name] = static_cast<int>(t);
  for (int& id : d.tensors)
    if (id >= 0) id = ids.at(d.workload.tensors[Size(id)].name);
  d.workload = *parsed;
  return true;
}

bool ThroughJson(Disguised& d, Random&) {
  FoldConstants(d.workload);
  nlohmann::json json = WorkloadToJson(d.workload);
  json.erase("text");
  const auto read = WorkloadFromJson(nlohmann::json::parse(json.dump()));
  if (!read) return false;
  d.workload = *read;
  return true;
}

constexpr RewriteKind kKinds[] = {
    {"rename", Rename},
    {"reorder declarations", ReorderDeclarations},
    {"reorder stages", ReorderStages},
    {"commute operands", CommuteOperands},
    {"reorder reduction axes", ReorderReductionAxes},
    {"add dead stages", AddDeadStages},
    {"add a dimension of extent 1", AddUnitDimension},
    {"reduce over an axis of extent 1", AddUnitReduction},
    {"add a cast", AddCast},
    {"add an identity", AddIdentity},
    {"unfold a constant", UnfoldConstant},
    {"respell an affine index", RespellAffine},
    {"add padding that is never read", AddPadding},
    {"add a decided select", AddDecidedSelect},
    {"split a stage", SplitStage},
    {"inline a stage", InlineStage},
    {"compute a temporary twice", DuplicateTemporary},
    {"split an axis", SplitAxis},
    {"through the text form", ThroughText},
    {"through the JSON form", ThroughJson},
};

}  // namespace

Disguised Undisguised(const Workload& workload) {
  Disguised d{workload, std::vector<int>(workload.tensors.size())};
  std::iota(d.tensors.begin(), d.tensors.end(), 0);
  return d;
}

std::span<const RewriteKind> RewriteKinds() { return kKinds; }

}  // namespace kindred
