#include "schedules/internal/canonical_passes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "schedules/internal/interval.h"

namespace kindred {
namespace {

// Inlining stops before a body, written out as a tree, grows beyond this.
constexpr std::int64_t kMaxInlinedNodes = 600;

std::int64_t TreeSize(const Expr& e) {
  std::int64_t nodes = 0;
  Visit(e, [&nodes](const Expr&) { ++nodes; });
  return nodes;
}

bool IsUnit(const Extent& extent) { return extent.symbol < 0 && extent.value == 1; }

// Ranges that hold for every value of the symbols.
RangeAnalysis AnalysisOf(const Workload& workload, const Stage& stage) {
  std::vector<Interval> variables, symbols;
  for (const Axis& axis : stage.axes) {
    const bool fixed = axis.extent.symbol < 0;
    variables.push_back(
        {0, (fixed ? axis.extent.value
                   : workload.symbols[static_cast<std::size_t>(axis.extent.symbol)].high) -
                1});
  }
  for (const Symbol& symbol : workload.symbols) symbols.push_back({symbol.low, symbol.high});
  return RangeAnalysis(std::move(variables), std::move(symbols), nullptr);
}

std::int64_t Smallest(const Workload& workload, const Extent& extent) {
  return extent.symbol < 0 ? extent.value
                           : workload.symbols[static_cast<std::size_t>(extent.symbol)].low;
}

// 1: always true, 0: always false, -1: depends.
int Decide(const RangeAnalysis& ranges, const Expr& condition) {
  switch (condition.op) {
    case Op::kInt: return condition.integer != 0 ? 1 : 0;
    case Op::kNot: {
      const int inner = Decide(ranges, *condition.args[0]);
      return inner < 0 ? -1 : 1 - inner;
    }
    case Op::kAnd:
    case Op::kOr: {
      const int a = Decide(ranges, *condition.args[0]);
      const int b = Decide(ranges, *condition.args[1]);
      const int decisive = condition.op == Op::kAnd ? 0 : 1;
      if (a == decisive || b == decisive) return decisive;
      return a == 1 - decisive && b == 1 - decisive ? 1 - decisive : -1;
    }
    case Op::kLess:
    case Op::kLessEqual: {
      if (!IsInteger(condition.args[0]->type)) return -1;
      const Interval a = ranges.Of(*condition.args[0]);
      const Interval b = ranges.Of(*condition.args[1]);
      const bool strict = condition.op == Op::kLess;
      if (a.high < kUnbounded && b.low > -kUnbounded && (strict ? a.high < b.low : a.high <= b.low))
        return 1;
      if (a.low > -kUnbounded && b.high < kUnbounded && (strict ? a.low >= b.high : a.low > b.high))
        return 0;
      return -1;
    }
    default: return -1;
  }
}

bool InRange(const Workload& workload, const Stage& stage, const RangeAnalysis& ranges,
             const Expr& load, std::size_t d) {
  const Extent& extent = workload.tensors[static_cast<std::size_t>(load.index)].shape[d];
  const Expr& index = *load.args[d];
  // An axis of the dimension's own symbolic extent.
  if (index.op == Op::kVar && stage.axes[static_cast<std::size_t>(index.index)].extent == extent)
    return true;
  return ranges.Of(index).Inside(0, Smallest(workload, extent) - 1);
}

std::set<int> TensorsReadBy(const Stage& stage) {
  std::set<int> tensors;
  Visit(*stage.body, [&tensors](const Expr& e) {
    if (e.op == Op::kLoad) tensors.insert(e.index);
  });
  return tensors;
}

// How stage `consumer` reads `tensor`: the one list of plain distinct axes used at every site;
// empty optional where it is read otherwise.
std::optional<std::vector<int>> PlainRead(const Stage& consumer, int tensor) {
  std::optional<std::vector<int>> axes;
  bool plain = true;
  Visit(*consumer.body, [&](const Expr& e) {
    if (e.op == Op::kPadded && e.args[0]->index == tensor) plain = false;
    if (e.op != Op::kLoad) return;
    // An index that is itself read from the tensor, or a read inside an index, is left alone.
    for (const ExprPtr& index : e.args)
      Visit(*index, [&](const Expr& inner) {
        if (inner.op == Op::kLoad && inner.index == tensor) plain = false;
      });
    if (e.index != tensor) return;
    std::vector<int> used;
    for (const ExprPtr& index : e.args) {
      if (index->op != Op::kVar ||
          std::find(used.begin(), used.end(), index->index) != used.end()) {
        plain = false;
        return;
      }
      used.push_back(index->index);
    }
    if (axes && *axes != used) plain = false;
    axes = std::move(used);
  });
  return plain ? axes : std::nullopt;
}

// Cheap enough to be computed again for every element of a broadcast.
bool IsCheap(const Expr& body) {
  bool cheap = true;
  Visit(body, [&cheap](const Expr& e) {
    const bool math = e.op >= Op::kExp && e.op <= Op::kRound;
    cheap &= !math && e.op != Op::kPow;
    if (e.op == Op::kDiv || e.op == Op::kMod) cheap &= IsConstant(*e.args[1]);
  });
  return cheap;
}

bool MayInline(const Workload& workload, const Stage& producer, const Stage& consumer) {
  const auto axes = PlainRead(consumer, producer.tensor);
  if (!axes) return false;
  for (std::size_t d = 0; d < axes->size(); ++d)
    if (consumer.axes[static_cast<std::size_t>((*axes)[d])].extent != producer.axes[d].extent)
      return false;
  const bool every_axis = axes->size() == consumer.axes.size();
  if (!every_axis && (consumer.combiner != Combiner::kNone || !IsCheap(*producer.body)))
    return false;
  std::int64_t sites = 0;
  Visit(*consumer.body, [&](const Expr& e) {
    if (e.op == Op::kLoad && e.index == producer.tensor) ++sites;
  });
  return TreeSize(*consumer.body) + sites * TreeSize(*producer.body) <= kMaxInlinedNodes &&
         workload.tensors[static_cast<std::size_t>(producer.tensor)].role == Role::kTemporary;
}

// The body without outer casts that the store (of a reduction: the accumulator) of type `to` makes
// superfluous.
ExprPtr WithoutLastCasts(ExprPtr body, DataType to) {
  while (body->op == Op::kCast) {
    const ExprPtr& inner = body->args[0];
    const bool converts = (IsFloat(inner->type) && IsFloat(body->type) && IsFloat(to)) ||
                          (IsInteger(inner->type) && IsInteger(body->type) && IsInteger(to));
    if (!converts || (body->type != to && !Contains(body->type, inner->type))) break;
    body = inner;
  }
  return body;
}

}  // namespace

void NormalizeExpressions(Workload& workload) {
  for (Stage& stage : workload.stages) {
    const RangeAnalysis ranges = AnalysisOf(workload, stage);
    stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      switch (e->op) {
        // A fresh leaf makes Rewrite rebuild everything above it.
        case Op::kVar: return VarExpr(e->index);
        case Op::kInt: return IntExpr(e->integer, e->type);
        case Op::kFloat: return FloatExpr(e->number, e->type);
        case Op::kLoad: return e->args.empty() ? LoadExpr(e->index, {}, e->type) : nullptr;
        case Op::kExtent: return ExtentExpr(e->index);
        case Op::kAdd:
        case Op::kSub:
        case Op::kMul:
        case Op::kNeg: {
          const auto affine = AsAffine(*e, static_cast<int>(stage.axes.size()));
          return affine ? FromAffine(*affine) : nullptr;
        }
        case Op::kPadded:
          for (std::size_t d = 0; d < e->args[0]->args.size(); ++d)
            if (!InRange(workload, stage, ranges, *e->args[0], d)) return nullptr;
          return e->args[0];
        case Op::kSelect: {
          const int truth = Decide(ranges, *e->args[0]);
          return truth < 0 ? nullptr : e->args[truth == 1 ? 1 : 2];
        }
        default: return nullptr;
      }
    });
    const bool reduces = stage.combiner != Combiner::kNone;
    stage.body = WithoutLastCasts(
        stage.body, reduces ? stage.accumulator
                            : workload.tensors[static_cast<std::size_t>(stage.tensor)].type);
    if (!reduces) stage.accumulator = DataType::kF32;
  }
}

void DropDeadStages(Workload& workload) {
  std::vector<bool> needed(workload.tensors.size());
  for (std::size_t s = workload.stages.size(); s-- > 0;) {
    const Stage& stage = workload.stages[s];
    const auto id = static_cast<std::size_t>(stage.tensor);
    if (workload.tensors[id].role == Role::kOutput) needed[id] = true;
    if (!needed[id]) continue;
    Visit(*stage.body, [&needed](const Expr& e) {
      if (e.op == Op::kLoad) needed[static_cast<std::size_t>(e.index)] = true;
    });
  }
  std::erase_if(workload.stages, [&needed](const Stage& stage) {
    return !needed[static_cast<std::size_t>(stage.tensor)];
  });
}

void DropUnitAxes(Workload& workload) {
  // A dimension stays where a padded read may leave the tensor in it.
  std::vector<std::vector<bool>> drop(workload.tensors.size());
  for (std::size_t t = 0; t < workload.tensors.size(); ++t)
    for (const Extent& extent : workload.tensors[t].shape) drop[t].push_back(IsUnit(extent));
  for (const Stage& stage : workload.stages) {
    const RangeAnalysis ranges = AnalysisOf(workload, stage);
    Visit(*stage.body, [&](const Expr& e) {
      if (e.op != Op::kPadded) return;
      const Expr& load = *e.args[0];
      for (std::size_t d = 0; d < load.args.size(); ++d)
        if (!InRange(workload, stage, ranges, load, d))
          drop[static_cast<std::size_t>(load.index)][d] = false;
    });
  }
  for (Stage& stage : workload.stages) {
    const auto& dropped = drop[static_cast<std::size_t>(stage.tensor)];
    std::vector<ExprPtr> values;
    std::vector<Axis> axes;
    int spatial = 0;
    const bool arg = stage.combiner == Combiner::kArgMax || stage.combiner == Combiner::kArgMin;
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      const bool is_spatial = a < static_cast<std::size_t>(stage.spatial);
      if (is_spatial ? dropped[a] : IsUnit(stage.axes[a].extent)) {
        values.push_back(IntExpr(0));
        continue;
      }
      values.push_back(VarExpr(static_cast<int>(axes.size())));
      axes.push_back(stage.axes[a]);
      spatial += is_spatial ? 1 : 0;
    }
    stage.body = SubstituteVars(stage.body, values);
    stage.body = Rewrite(stage.body, [&drop](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad) return nullptr;
      const auto& gone = drop[static_cast<std::size_t>(e->index)];
      std::vector<ExprPtr> indices;
      for (std::size_t d = 0; d < e->args.size(); ++d)
        if (!gone[d]) indices.push_back(e->args[d]);
      return indices.size() == e->args.size() ? nullptr
                                              : LoadExpr(e->index, std::move(indices), e->type);
    });
    stage.axes = std::move(axes);
    stage.spatial = spatial;
    if (stage.combiner != Combiner::kNone && stage.reduction() == 0) {
      const DataType type = workload.tensors[static_cast<std::size_t>(stage.tensor)].type;
      stage.body = arg ? IntExpr(0, type) : CastExpr(stage.accumulator, stage.body);
      stage.combiner = Combiner::kNone;
      stage.accumulator = DataType::kF32;
    }
  }
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
    std::vector<Extent> shape;
    for (std::size_t d = 0; d < drop[t].size(); ++d)
      if (!drop[t][d]) shape.push_back(workload.tensors[t].shape[d]);
    workload.tensors[t].shape = std::move(shape);
  }
}

// The first stage in order that may move into its reader does, until none may. A stage that may not
// is looked at again when one that reads it has moved: then the two have one reader.
void InlinePointwise(Workload& workload) {
  std::vector<Stage>& stages = workload.stages;
  std::vector<std::set<std::size_t>> readers(workload.tensors.size());
  std::vector<std::optional<std::size_t>> producers(workload.tensors.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    producers[static_cast<std::size_t>(stages[s].tensor)] = s;
    for (const int t : TensorsReadBy(stages[s])) readers[static_cast<std::size_t>(t)].insert(s);
  }
  std::vector<bool> moved(stages.size()), stays(stages.size());
  for (std::size_t s = 0; s < stages.size();) {
    const std::size_t next = s + 1;
    const Stage& producer = stages[s];
    const auto& of_producer = readers[static_cast<std::size_t>(producer.tensor)];
    if (moved[s] || stays[s] || producer.combiner != Combiner::kNone || of_producer.size() != 1 ||
        !MayInline(workload, producer, stages[*of_producer.begin()])) {
      stays[s] = true;
      s = next;
      continue;
    }
    const std::size_t into = *of_producer.begin();
    const ExprPtr value =
        CastExpr(workload.tensors[static_cast<std::size_t>(producer.tensor)].type, producer.body);
    stages[into].body = Rewrite(stages[into].body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || e->index != producer.tensor) return nullptr;
      return SubstituteVars(value, e->args);
    });
    moved[s] = true;
    const std::size_t from = s;
    s = next;
    for (const int t : TensorsReadBy(producer)) {
      auto& of_tensor = readers[static_cast<std::size_t>(t)];
      of_tensor.erase(from);
      of_tensor.insert(into);
      const auto before = producers[static_cast<std::size_t>(t)];
      if (!before) continue;
      stays[*before] = false;
      s = std::min(s, *before);
    }
  }
  std::size_t at = 0;
  std::erase_if(stages, [&](const Stage&) { return moved[at++]; });
}

}  // namespace kindred
