#include "tuner/import/assemble.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tuner/import/view_index.h"

namespace kindred {
namespace {

constexpr int kMostUses = 8;        // of a cheap stage that is written into all its readers
constexpr std::int64_t kCheap = 3;  // operations per point

Shape ExtentsOf(const Stage& stage) {
  Shape extents;
  for (const Axis& axis : stage.axes) extents.push_back(axis.extent.value);
  return extents;
}

// Splits the axes of a stage without reductions so that its tensor has the shape `refined`.
Stage Refine(const Stage& stage, const Shape& refined) {
  Stage result = stage;
  result.axes.clear();
  std::vector<ExprPtr> old;
  std::size_t next = 0;
  for (const Axis& axis : stage.axes) {
    ExprPtr index = IntExpr(0);
    std::int64_t count = 1;
    const std::size_t first = next;
    while (count < axis.extent.value) {
      count *= refined[next];
      index = index * refined[next] + VarExpr(static_cast<int>(next));
      ++next;
    }
    for (std::size_t d = first; d < next; ++d)
      result.axes.push_back(
          {next - first == 1 ? axis.name : fmt::format("{}{}", axis.name, d - first),
           Extent{refined[d]}});
    old.push_back(std::move(index));
  }
  result.spatial = static_cast<int>(result.axes.size());
  result.body = SubstituteVars(stage.body, old);
  return result;
}

// Splits axes of a stage, its reductions' too: axis a into parts[a], outermost first.
Stage SplitAxes(const Stage& stage, const std::vector<Shape>& parts) {
  Stage result = stage;
  result.axes.clear();
  std::vector<ExprPtr> old;
  for (std::size_t a = 0; a < stage.axes.size(); ++a) {
    ExprPtr index = IntExpr(0);
    for (std::size_t i = 0; i < parts[a].size(); ++i) {
      index = index * parts[a][i] + VarExpr(static_cast<int>(result.axes.size()));
      result.axes.push_back(
          {parts[a].size() == 1 ? stage.axes[a].name : fmt::format("{}{}", stage.axes[a].name, i),
           Extent{parts[a][i]}});
    }
    old.push_back(std::move(index));
    if (static_cast<int>(a) + 1 == stage.spatial)
      result.spatial = static_cast<int>(result.axes.size());
  }
  result.body = SubstituteVars(stage.body, old);
  return result;
}

// How the axes must be split for a load of `view` to have a plain index into `storage`. nullopt:
// it does not read whole axes, or the splits do not fit together.
std::optional<std::vector<Shape>> SplitsFor(const Expr& load, const Shape& view,
                                            const Shape& storage, const Shape& extents) {
  std::vector<Shape> parts;
  for (const std::int64_t extent : extents) parts.push_back({extent});
  const auto refined = CommonRefinement(view, storage);
  if (!refined) return std::nullopt;
  std::size_t next = 0;
  bool any = false;
  for (std::size_t d = 0; d < view.size(); ++d) {
    Shape pieces;
    for (std::int64_t count = 1; count < view[d]; ++next) {
      pieces.push_back((*refined)[next]);
      count *= pieces.back();
    }
    if (pieces.size() < 2) continue;
    const Expr& index = *load.args[d];
    if (index.op != Op::kVar || extents[static_cast<std::size_t>(index.index)] != view[d])
      return std::nullopt;
    Shape& split = parts[static_cast<std::size_t>(index.index)];
    if (split.size() > 1 && split != pieces) return std::nullopt;
    split = std::move(pieces);
    any = true;
  }
  if (!any) return std::nullopt;
  return parts;
}

bool HasMath(const Expr& body) {
  bool math = false;
  Visit(body, [&](const Expr& e) {
    math |= (e.op >= Op::kExp && e.op <= Op::kRound) || e.op == Op::kPow || e.op == Op::kDiv;
  });
  return math;
}

class Assembler {
 public:
  Assembler(const Graph& graph, const std::vector<int>& units, const std::set<int>& outputs)
      : graph_(graph), outputs_(outputs) {
    for (const int u : units) {
      const Unit& unit = graph.units[static_cast<std::size_t>(u)];
      for (const Stage& stage : unit.stages) {
        made_[stage.tensor] = stages_.size();
        contraction_.push_back(unit.kind == UnitKind::kContraction);
        if (contraction_.back()) contraction_of_.insert(stage.tensor);
        stages_.push_back(stage);
      }
      for (const IndexUse& use : unit.index_uses) index_uses_.push_back(use);
    }
  }

  Result<Assembled> Run() {
    for (Stage& stage : stages_) KINDRED_CHECK(ComposeViews(stage));
    for (std::size_t i = 0; i < stages_.size(); ++i) InlineIfGood(i);
    DropUnread();
    for (std::size_t i = 0; i < stages_.size(); ++i) TurnReduction(i);
    for (std::size_t i = 0; i < stages_.size(); ++i) NameAxes(i);
    Assembled result = Build();
    KINDRED_CHECK(CheckWorkload(result.workload));
    return result;
  }

 private:
  const GraphValue& value(int id) const { return graph_.values[static_cast<std::size_t>(id)]; }

  Shape LocalShape(int storage) const {
    const Stage& stage = stages_[made_.at(storage)];
    Shape shape = ExtentsOf(stage);
    shape.resize(static_cast<std::size_t>(stage.spatial));
    return shape;
  }

  // Rewrites loads of values made here into the shape in which they are made.
  Result<void> ComposeViews(Stage& stage) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      int failed = -1;
      std::optional<std::vector<Shape>> splits;
      const Shape extents = ExtentsOf(stage);
      const auto compose = [&](const ExprPtr& load, bool padded) -> ExprPtr {
        const GraphValue& v = value(load->index);
        if (!made_.contains(v.storage)) return load;
        const Shape local = LocalShape(v.storage);
        if (load->index == v.storage && local == v.shape) return load;
        const auto index = ComposeView(load->args, v.shape, local, extents, padded);
        if (!index) {
          failed = v.storage;
          splits = SplitsFor(*load, v.shape, local, extents);
          return load;
        }
        return LoadExpr(Done(v.storage), *index, load->type);
      };
      const ExprPtr body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
        if (e->op == Op::kPadded) {
          const ExprPtr load = compose(e->args[0], true);
          return load == e->args[0] ? nullptr : PaddedExpr(load, e->args[1]);
        }
        return nullptr;
      });
      // Loads under a kPadded are done; the rest follows.
      std::set<const Expr*> padded;
      Visit(*body, [&](const Expr& e) {
        if (e.op == Op::kPadded) padded.insert(e.args[0].get());
      });
      const ExprPtr whole = Rewrite(body, [&](const ExprPtr& e) -> ExprPtr {
        if (e->op != Op::kLoad || e->index < 0 || padded.contains(e.get())) return nullptr;
        const ExprPtr load = compose(e, false);
        return load == e ? nullptr : load;
      });
      if (failed < 0) {
        stage.body = Rewrite(whole, [&](const ExprPtr& e) -> ExprPtr {
          return e->op == Op::kLoad && e->index < 0 ? LoadExpr(Done(e->index), e->args, e->type)
                                                    : nullptr;
        });
        return {};
      }
      const std::optional<Shape> refined =
          stage.reduction() > 0 ? std::nullopt : CommonRefinement(extents, LocalShape(failed));
      if (refined && *refined != extents) {
        stage = Refine(stage, *refined);
        continue;
      }
      if (!splits)
        return Unsupported(fmt::format("the view of '{}' has no plain index", value(failed).name));
      stage = SplitAxes(stage, *splits);
    }
    return Unsupported("views that do not settle");
  }

  // Marks a storage id as rewritten while a body is worked on, and back.
  static int Done(int id) { return -2 - id; }

  int Uses(int id) const {
    int uses = 0;
    for (const Stage& stage : stages_)
      VisitLoads(stage, [&](const Expr& load) { uses += load.index == id; });
    return uses;
  }

  // Writes stage `from` into its readers where no work is repeated by it, or only little.
  void InlineIfGood(std::size_t from) {
    const Stage source = stages_[from];
    if (source.reduction() > 0 || outputs_.contains(source.tensor)) return;
    const int uses = Uses(source.tensor);
    const std::int64_t cost = OperationsPerPoint(source), elements = Points(source);
    const bool cheap = cost <= kCheap && uses <= kMostUses && !HasMath(*source.body);
    if (uses == 0 || (uses > 1 && cost > 0 && !cheap)) return;
    for (std::size_t to = from + 1; to < stages_.size(); ++to) {
      const Stage& reader = stages_[to];
      bool reads = false, padded = false, once = true;
      Visit(*reader.body, [&](const Expr& e) {
        const bool load = e.op == Op::kLoad && e.index == source.tensor;
        reads |= load;
        once = once && (!load || ReadsOnce(reader, e));
        padded |= e.op == Op::kPadded && e.args[0]->index == source.tensor;
      });
      if (!reads) continue;
      if (padded || (cost > 0 && ((Points(reader) > elements && !once) || contraction_[to])))
        return;
    }
    for (std::size_t to = from + 1; to < stages_.size(); ++to)
      stages_[to].body = Rewrite(stages_[to].body, [&](const ExprPtr& e) -> ExprPtr {
        if (e->op != Op::kLoad || e->index != source.tensor) return nullptr;
        return CastExpr(e->type, SubstituteVars(source.body, e->args));
      });
  }

  // A transposition behind a contraction: the contraction computes its tensor in the reader's
  // order, and a mere copy of it vanishes.
  void TurnReduction(std::size_t from) {
    Stage& source = stages_[from];
    if (!contraction_of_.contains(source.tensor) || source.reduction() == 0 ||
        outputs_.contains(source.tensor))
      return;
    std::size_t to = 0;
    for (std::size_t i = from + 1; i < stages_.size(); ++i)
      VisitLoads(stages_[i], [&](const Expr& load) {
        if (load.index == source.tensor) to = to == 0 || to == i ? i : stages_.size();
      });
    if (to == 0 || to >= stages_.size()) return;
    Stage& reader = stages_[to];
    const auto order = ReadOrder(reader, source.tensor);
    if (reader.reduction() > 0 || !order) return;
    // order[d]: the reader's axis at which dimension d of the source is read.
    const auto count = static_cast<std::size_t>(source.spatial);
    const bool copies = reader.body->op == Op::kLoad;
    bool turned = false;
    for (std::size_t d = 0; d < count; ++d) turned = turned || (*order)[d] != d;
    if (!turned && !copies) return;
    std::vector<Axis> axes(count);
    std::vector<ExprPtr> places;
    for (std::size_t d = 0; d < count; ++d) {
      axes[(*order)[d]] = source.axes[d];
      places.push_back(VarExpr(static_cast<int>((*order)[d])));
    }
    std::copy(axes.begin(), axes.end(), source.axes.begin());
    source.body = SubstituteVars(source.body, places);
    if (copies) {
      source.tensor = reader.tensor;
      stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(to));
      return;
    }
    reader.body = Rewrite(reader.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || e->index != source.tensor) return nullptr;
      std::vector<ExprPtr> index;
      for (std::size_t d = 0; d < count; ++d) index.push_back(VarExpr(static_cast<int>(d)));
      return LoadExpr(e->index, std::move(index), e->type);
    });
  }

  // Which axis of `reader` each dimension of `tensor` is read at, if every load names each axis
  // once, plainly (dimensions of extent 1 may be read at 0).
  static std::optional<std::vector<std::size_t>> ReadOrder(const Stage& reader, int tensor) {
    std::optional<std::vector<std::size_t>> order;
    bool plain = true;
    VisitLoads(reader, [&](const Expr& load) {
      if (load.index != tensor) return;
      const std::size_t rank = reader.axes.size();
      std::vector<std::size_t> read(load.args.size(), rank);
      std::set<std::size_t> seen;
      plain = plain && read.size() == rank;
      for (std::size_t d = 0; plain && d < rank; ++d) {
        if (load.args[d]->op == Op::kInt) continue;
        plain = load.args[d]->op == Op::kVar &&
                seen.insert(static_cast<std::size_t>(load.args[d]->index)).second;
        read[d] = static_cast<std::size_t>(load.args[d]->index);
      }
      for (std::size_t d = 0, axis = 0; plain && d < rank; ++d) {
        if (read[d] < rank) continue;
        while (axis < rank && (seen.contains(axis) || reader.axes[axis].extent.value != 1)) ++axis;
        plain = axis < rank;
        read[d] = axis++;
      }
      plain = plain && (!order || *order == read);
      order = std::move(read);
    });
    return plain ? order : std::nullopt;
  }

  // A stage that reads another in place names its axes alike.
  void NameAxes(std::size_t at) {
    Stage& stage = stages_[at];
    for (std::size_t i = 0; i < at && stage.reduction() == 0; ++i) {
      const auto order = ReadOrder(stage, stages_[i].tensor);
      if (!order || stages_[i].spatial != stage.spatial) continue;
      for (std::size_t d = 0; d < order->size(); ++d)
        stage.axes[(*order)[d]].name = stages_[i].axes[d].name;
      return;
    }
  }

  // Different points of the reader read different elements: every index is one axis, up to sign and
  // offset.
  static bool ReadsOnce(const Stage& reader, const Expr& load) {
    std::set<std::size_t> seen;
    for (const ExprPtr& index : load.args) {
      const auto affine = AsAffine(*index, static_cast<int>(reader.axes.size()));
      if (!affine) return false;
      int axes = 0;
      for (std::size_t a = 0; a < reader.axes.size(); ++a) {
        if (affine->coefficients[a] == 0) continue;
        seen.insert(a);
        ++axes;
      }
      if (axes > 1) return false;
    }
    for (std::size_t a = 0; a < reader.axes.size(); ++a)
      if (reader.axes[a].extent.value > 1 && !seen.contains(a)) return false;
    return true;
  }

  void DropUnread() {
    for (std::size_t i = stages_.size(); i-- > 0;) {
      if (outputs_.contains(stages_[i].tensor) || Uses(stages_[i].tensor) > 0) continue;
      stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  Assembled Build() {
    Assembled result;
    std::map<std::pair<int, Shape>, int> ids;  // (storage, shape) of what comes from outside
    std::map<int, int> made;                   // storage made here
    std::map<Role, int> counts;
    const auto add = [&](int storage, const Shape& shape, Role role) {
      static const std::map<Role, std::string> letters = {
          {Role::kInput, "X"}, {Role::kWeight, "W"}, {Role::kTemporary, "T"}, {Role::kOutput, "Y"}};
      Tensor tensor;
      const int number = counts[role]++;
      tensor.name = letters.at(role) + (number > 0 ? std::to_string(number) : "");
      tensor.type = value(storage).type;
      tensor.role = role;
      for (const std::int64_t extent : shape) tensor.shape.push_back(Extent{extent});
      for (const IndexUse& use : index_uses_)
        if (value(use.value).storage == storage) SetRange(tensor, use);
      result.workload.tensors.push_back(std::move(tensor));
      result.values.push_back(storage);
      return static_cast<int>(result.values.size()) - 1;
    };
    std::set<int> here;
    for (const Stage& stage : stages_) here.insert(stage.tensor);
    for (const Stage& stage : stages_)
      VisitLoads(stage, [&](const Expr& load) {
        const GraphValue& v = value(load.index);
        if (here.contains(load.index) || ids.contains({v.storage, v.shape})) return;
        const bool given = v.kind == ValueKind::kInput || v.kind == ValueKind::kComputed;
        ids[{v.storage, v.shape}] = add(v.storage, v.shape, given ? Role::kInput : Role::kWeight);
      });
    for (const Stage& stage : stages_) {
      Shape shape = ExtentsOf(stage);
      shape.resize(static_cast<std::size_t>(stage.spatial));
      made[stage.tensor] = add(stage.tensor, shape,
                               outputs_.contains(stage.tensor) ? Role::kOutput : Role::kTemporary);
    }
    for (Stage stage : stages_) {
      stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
        if (e->op != Op::kLoad || e->index < 0) return nullptr;
        const GraphValue& v = value(e->index);
        const int id = here.contains(e->index) ? made.at(e->index) : ids.at({v.storage, v.shape});
        return LoadExpr(Done(id), e->args, e->type);
      });
      stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
        return e->op == Op::kLoad && e->index < 0 ? LoadExpr(Done(e->index), e->args, e->type)
                                                  : nullptr;
      });
      stage.tensor = made.at(stage.tensor);
      result.workload.stages.push_back(std::move(stage));
    }
    return result;
  }

  // Several uses of one index tensor: what is valid for all.
  static void SetRange(Tensor& tensor, const IndexUse& use) {
    const auto low = static_cast<double>(use.low), high = static_cast<double>(use.high);
    const bool set = tensor.data.kind == "index";
    tensor.data.low = set ? std::max(tensor.data.low, low) : low;
    tensor.data.high = set ? std::min(tensor.data.high, high) : high;
    tensor.data.kind = "index";
  }

  const Graph& graph_;
  const std::set<int>& outputs_;
  std::vector<Stage> stages_;
  std::vector<bool> contraction_;  // by stage, before any is dropped
  std::set<int> contraction_of_;   // tensors of contractions' stages
  std::map<int, std::size_t> made_;
  std::vector<IndexUse> index_uses_;
};

}  // namespace

Result<Assembled> Assemble(const Graph& graph, const std::vector<int>& units,
                           const std::set<int>& outputs) {
  return Assembler(graph, units, outputs).Run();
}

}  // namespace kindred
