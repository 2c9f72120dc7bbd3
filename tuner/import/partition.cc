#include "tuner/import/partition.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "schedules/canonical.h"
#include "tuner/import/assemble.h"
#include "tuner/import/group_graph.h"
#include "tuner/import/view_index.h"

namespace kindred {
namespace {

constexpr std::int64_t kMostOperations = 64;  // per point of a stage that others were written into
constexpr int kMostLoads = 40;
constexpr std::int64_t kShortestVector = 8;  // elements
// Groups of real models have up to 20 units; these keep the time that growing takes in proportion
// to the model.
constexpr std::size_t kMostUnits = 24;
constexpr std::size_t kMostStages = 32;
constexpr std::size_t kMostRefused = 32;  // units in a row that a group was offered in vain

Shape ExtentsOf(const Stage& stage) {
  Shape extents;
  for (const Axis& axis : stage.axes) extents.push_back(axis.extent.value);
  return extents;
}

std::int64_t SpatialPoints(const Stage& stage) {
  std::int64_t points = 1;
  for (int a = 0; a < stage.spatial; ++a)
    points *= stage.axes[static_cast<std::size_t>(a)].extent.value;
  return points;
}

// Rows of a row group: `rows` * `columns` elements, reduced along their trailing part.
struct RowShape {
  std::int64_t rows = 1, columns = 1;
};

class Partitioner {
 public:
  explicit Partitioner(const Graph& graph) : groups_(graph), graph_(graph) {}

  std::vector<Group> Run() {
    const int count = static_cast<int>(graph_.units.size());
    for (int u = 0; u < count; ++u)
      if (groups_.Free(u) && (Kind(u) == UnitKind::kContraction || Kind(u) == UnitKind::kWindow))
        GrowAnchor(u);
    for (int u = 0; u < count; ++u)
      if (groups_.Free(u) && Kind(u) == UnitKind::kRow) GrowRows(u);
    for (int u = count; u-- > 0;)
      if (groups_.Free(u)) GrowBackwards(u);
    return Sorted();
  }

 private:
  UnitKind Kind(int u) const { return groups_.unit(u).kind; }
  const GraphValue& value(int id) const { return graph_.values[static_cast<std::size_t>(id)]; }

  static std::vector<int> With(std::vector<int> units, int added) {
    units.insert(std::upper_bound(units.begin(), units.end(), added), added);
    return units;
  }

  std::optional<Workload> Try(const std::vector<int>& units) const {
    std::size_t stages = 0;
    for (const int u : units) stages += groups_.unit(u).stages.size();
    if (units.size() > 1 && stages > kMostStages) return std::nullopt;
    auto assembled = Assemble(graph_, units, groups_.Escaping(units));
    if (!assembled) return std::nullopt;
    for (const Stage& stage : assembled->workload.stages) {
      int loads = 0;
      VisitLoads(stage, [&](const Expr&) { ++loads; });
      if (loads > kMostLoads || OperationsPerPoint(stage) > kMostOperations) return std::nullopt;
    }
    return std::move(assembled->workload);
  }

  void Commit(int anchor, std::vector<int> units) {
    groups_.Commit(units);
    result_.push_back({std::move(units), anchor, {}});
  }

  // --- contractions and windows

  static bool PlainLoads(const Stage& stage) {
    bool plain = true;
    Visit(*stage.body, [&](const Expr& e) {
      if (e.op == Op::kSelect) plain = false;
      if (e.op != Op::kLoad) return;
      for (const ExprPtr& index : e.args)
        plain = plain && AsAffine(*index, static_cast<int>(stage.axes.size()));
    });
    return plain;
  }

  // Movements of an operand that nothing else reads become part of its index.
  std::vector<int> TakeOperands(int anchor) {
    std::vector<int> units = {anchor};
    for (bool grown = true; grown;) {
      grown = false;
      const std::vector<int> members = units;
      for (const int u : members)
        for (const int storage : groups_.unit(u).reads) {
          const int maker = groups_.Maker(storage);
          if (maker < 0 || !groups_.CanJoin(maker, units) || Kind(maker) != UnitKind::kMovement)
            continue;
          if (std::find(units.begin(), units.end(), maker) != units.end()) continue;
          const std::vector<int> larger = With(units, maker);
          if (groups_.Escaping(larger) != groups_.Escaping(units) || !groups_.Convex(larger))
            continue;
          const auto before = Try(units), after = Try(larger);
          if (!before || !after || after->stages.size() != before->stages.size()) continue;
          if (!PlainLoads(after->stages.front())) continue;
          units = larger;
          grown = true;
        }
    }
    return units;
  }

  void GrowAnchor(int anchor) {
    std::vector<int> units = {anchor};
    if (Kind(anchor) == UnitKind::kContraction) units = TakeOperands(anchor);
    const std::int64_t elements = SpatialPoints(groups_.unit(anchor).stages.back());
    const auto fits = [&](const std::vector<int>& group, int u) {
      if (Kind(u) == UnitKind::kMovement)
        return Kind(anchor) == UnitKind::kContraction && Transposes(group, u, elements);
      return Kind(u) == UnitKind::kPointwise && ReadsInPlace(group, u, {elements, 1});
    };
    Commit(anchor,
           BestPrefix(anchor, units, fits, [](const std::vector<int>&, int) { return false; }));
  }

  // A transposition of all elements of the group's only result. Units behind it would not read in
  // place.
  bool Transposes(const std::vector<int>& group, int u, std::int64_t elements) const {
    const Unit& unit = groups_.unit(u);
    if (unit.stages.size() != 1 || SpatialPoints(unit.stages[0]) != elements ||
        unit.stages[0].body->op != Op::kLoad)
      return false;
    const Expr& load = *unit.stages[0].body;
    const GraphValue& from = value(load.index);
    const int maker = groups_.Maker(from.storage);
    if (std::find(group.begin(), group.end(), maker) == group.end() ||
        ElementCount(from.shape) != elements)
      return false;
    std::set<int> axes;
    for (const ExprPtr& index : load.args)
      if (index->op != Op::kVar || !axes.insert(index->index).second) return false;
    // Vectors of the product would be scattered one by one.
    const Axis& last = unit.stages[0].axes.back();
    const bool inner = load.args.back()->index + 1 == static_cast<int>(unit.stages[0].axes.size());
    if (!inner && last.extent.value < kShortestVector) return false;
    const std::set<int> escaping = groups_.Escaping(With(group, u));
    return escaping.size() == 1 && *escaping.begin() == unit.values.front();
  }

  // What stands behind a reduction reads it element by element at plain axes, as the sketches of
  // contractions and windows need it. Axes that the canonical form merges count as one.
  static bool PlainEpilogue(const Workload& workload) {
    const auto plain = [](const Workload& w) {
      bool all = true;
      for (const Stage& stage : w.stages)
        if (stage.reduction() == 0)
          VisitLoads(stage, [&](const Expr& load) {
            if (w.tensors[static_cast<std::size_t>(load.index)].role != Role::kTemporary) return;
            for (const ExprPtr& index : load.args)
              all = all && (index->op == Op::kVar || index->op == Op::kInt);
          });
      return all;
    };
    return plain(workload) || plain(Canonicalize(workload).workload);
  }

  // Every load that `u` does of a value made in `group` reads element i, or the row of element i,
  // for element i.
  bool ReadsInPlace(const std::vector<int>& group, int u, RowShape rows) const {
    const std::int64_t all = rows.rows * rows.columns;
    bool fits = true;
    for (const Stage& stage : groups_.unit(u).stages) {
      const std::int64_t points = SpatialPoints(stage);
      const Shape extents = ExtentsOf(stage);
      if (points != all && points != rows.rows) return false;
      if (stage.reduction() > 0 && (points != rows.rows || Points(stage) != all)) return false;
      // A reduction's axes in the order of its elements: rows, then the trailing axes.
      const std::size_t places = points * 1 == rows.rows && stage.reduction() > 0
                                     ? extents.size()
                                     : static_cast<std::size_t>(stage.spatial);
      const std::int64_t count = stage.reduction() > 0 ? all : points;
      VisitLoads(stage, [&](const Expr& load) {
        const int maker = groups_.Maker(value(load.index).storage);
        const bool own = maker == u;
        if (!own && std::find(group.begin(), group.end(), maker) == group.end()) return;
        const std::int64_t size = ElementCount(value(load.index).shape);
        const auto flat = FlatIndex(load, value(load.index).shape, extents);
        const bool same = size == count, row = size == rows.rows && count == all;
        fits = fits && flat && (same || row) &&
               *flat == IdentityIndex(extents, places, same ? 1 : rows.columns);
      });
    }
    return fits;
  }

  using Fits = std::function<bool(const std::vector<int>& group, int unit)>;

  // Adds units that `consumer` or `producer` accept as long as there are any, then goes back to the
  // largest group on the way from which the fewest values escape.
  std::vector<int> BestPrefix(int anchor, std::vector<int> units, const Fits& consumer,
                              const Fits& producer) {
    std::vector<int> best = units;
    std::size_t fewest = groups_.Escaping(units).size();
    std::set<int> refused;
    for (int next = Candidate(units, consumer, producer, refused); next >= 0;
         next = Candidate(units, consumer, producer, refused)) {
      const std::vector<int> larger = With(units, next);
      const bool behind_anchor = Kind(anchor) != UnitKind::kRow;
      const auto workload = groups_.Convex(larger) ? Try(larger) : std::nullopt;
      if (!workload || (behind_anchor && !PlainEpilogue(*workload))) {
        refused.insert(next);
        continue;
      }
      refused.clear();
      units = larger;
      const std::size_t escaping = groups_.Escaping(units).size();
      if (escaping <= fewest) {
        fewest = escaping;
        best = units;
      }
    }
    return best;
  }

  int Candidate(const std::vector<int>& units, const Fits& consumer, const Fits& producer,
                const std::set<int>& refused) const {
    if (units.size() >= kMostUnits || refused.size() >= kMostRefused) return -1;
    std::set<int> readers;
    for (const int u : units) {
      for (const int storage : groups_.unit(u).values)
        for (const int reader : groups_.Readers(storage)) readers.insert(reader);
      for (const int storage : groups_.unit(u).reads) {
        const int maker = groups_.Maker(storage);
        if (maker < 0 || !groups_.CanJoin(maker, units) || refused.contains(maker)) continue;
        if (std::find(units.begin(), units.end(), maker) == units.end() && producer(units, maker))
          return maker;
      }
    }
    for (const int reader : readers)
      if (groups_.CanJoin(reader, units) && !refused.contains(reader) &&
          std::find(units.begin(), units.end(), reader) == units.end() && consumer(units, reader))
        return reader;
    return -1;
  }

  // --- rows

  void GrowRows(int anchor) {
    const Unit& unit = groups_.unit(anchor);
    std::optional<RowShape> rows;
    for (const Stage& stage : unit.stages)
      if (stage.reduction() > 0 && !rows)
        rows = RowShape{SpatialPoints(stage), Points(stage) / SpatialPoints(stage)};
    if (!rows || !ReducesTrailing(unit, *rows)) {
      Commit(anchor, {anchor});
      return;
    }
    const auto consumer = [&](const std::vector<int>& group, int u) {
      if (Kind(u) != UnitKind::kPointwise && Kind(u) != UnitKind::kRow) return false;
      if (Kind(u) == UnitKind::kRow && !ReducesTrailing(groups_.unit(u), *rows)) return false;
      return ReadsInPlace(group, u, *rows);
    };
    const auto producer = [&](const std::vector<int>& group, int u) {
      if (Kind(u) != UnitKind::kPointwise ||
          SpatialPoints(groups_.unit(u).stages.back()) != rows->rows * rows->columns)
        return false;
      for (const int storage : groups_.unit(u).values) {
        if (value(storage).model_output) return false;
        for (const int reader : groups_.Readers(storage))
          if (std::find(group.begin(), group.end(), reader) == group.end() ||
              !ReadsInPlace({u}, reader, *rows))
            return false;
      }
      return true;
    };
    Commit(anchor, BestPrefix(anchor, {anchor}, consumer, producer));
  }

  // All reductions run over the same trailing elements of every row.
  bool ReducesTrailing(const Unit& unit, RowShape rows) const {
    bool trailing = true;
    for (const Stage& stage : unit.stages) {
      if (stage.reduction() == 0) continue;
      const Shape extents = ExtentsOf(stage);
      trailing = trailing && SpatialPoints(stage) == rows.rows &&
                 Points(stage) == rows.rows * rows.columns;
      VisitLoads(stage, [&](const Expr& load) {
        const auto flat = FlatIndex(load, value(load.index).shape, extents);
        const bool whole = ElementCount(value(load.index).shape) == rows.rows * rows.columns;
        if (whole && trailing)
          trailing = flat && *flat == IdentityIndex(extents, extents.size(), 1);
      });
    }
    return trailing;
  }

  // --- the rest

  void GrowBackwards(int last) {
    std::vector<int> units = {last};
    std::set<int> refused;
    const auto none = [](const std::vector<int>&, int) { return false; };
    const auto producer = [&](const std::vector<int>& group, int u) {
      if (Kind(u) != UnitKind::kPointwise && Kind(u) != UnitKind::kMovement) return false;
      for (const int storage : groups_.unit(u).values) {
        if (value(storage).model_output) return false;
        for (const int reader : groups_.Readers(storage))
          if (std::find(group.begin(), group.end(), reader) == group.end()) return false;
      }
      return true;
    };
    auto before = Try(units);
    for (int next = Candidate(units, none, producer, refused); next >= 0;
         next = Candidate(units, none, producer, refused)) {
      const std::vector<int> larger = With(units, next);
      auto after = Try(larger);
      // A movement must vanish into indices; a pointwise unit may stay a stage where it reads in
      // place.
      const bool vanishes = before && after && after->stages.size() <= before->stages.size();
      const bool stays = after && Kind(next) == UnitKind::kPointwise &&
                         Kind(last) == UnitKind::kPointwise && AllInPlace(larger);
      if (vanishes || stays) {
        units = larger;
        before = std::move(after);
      } else {
        refused.insert(next);
      }
    }
    Commit(last, units);
  }

  bool AllInPlace(const std::vector<int>& units) const {
    const std::int64_t elements = SpatialPoints(groups_.unit(units.back()).stages.back());
    return std::all_of(units.begin(), units.end(), [&](int u) {
      return Kind(u) == UnitKind::kPointwise && ReadsInPlace(units, u, {elements, 1});
    });
  }

  // Groups in an order where producers stand before readers.
  std::vector<Group> Sorted() {
    std::vector<Group> sorted;
    std::vector<int> group_of(graph_.units.size(), -1);
    for (std::size_t g = 0; g < result_.size(); ++g) {
      result_[g].outputs = groups_.Escaping(result_[g].units);
      for (const int u : result_[g].units)
        group_of[static_cast<std::size_t>(u)] = static_cast<int>(g);
    }
    // By the last unit of each: a group's inputs are made by units before it, except where groups
    // interleave.
    std::vector<std::size_t> order(result_.size());
    for (std::size_t g = 0; g < order.size(); ++g) order[g] = g;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return result_[a].units.front() < result_[b].units.front();
    });
    // Depth first along what each group reads, through left-out units; a place is a group, or
    // (from result_.size() on) a unit without one.
    const std::size_t groups = result_.size();
    std::vector<char> seen(groups + graph_.units.size(), 0);
    const auto makers = [&](std::size_t place) {
      std::vector<std::size_t> before;
      const std::vector<int> own =
          place < groups ? result_[place].units : std::vector{static_cast<int>(place - groups)};
      for (const int u : own)
        for (const int storage : groups_.unit(u).reads) {
          const int maker = groups_.Maker(storage);
          if (maker < 0) continue;
          const int group = group_of[static_cast<std::size_t>(maker)];
          before.push_back(
              static_cast<std::size_t>(group >= 0 ? group : maker + static_cast<int>(groups)));
        }
      return before;
    };
    struct Visit {
      std::size_t place;
      std::vector<std::size_t> before;
      std::size_t next = 0;
    };
    std::vector<Visit> open;
    const auto enter = [&](std::size_t place) {
      if (seen[place] != 0) return;
      seen[place] = 1;
      open.push_back({place, makers(place)});
    };
    for (const std::size_t g : order) {
      enter(g);
      while (!open.empty()) {
        if (Visit& visit = open.back(); visit.next < visit.before.size()) {
          enter(visit.before[visit.next++]);
          continue;
        }
        if (const std::size_t place = open.back().place; place < groups)
          sorted.push_back(std::move(result_[place]));
        open.pop_back();
      }
    }
    return sorted;
  }

  GroupGraph groups_;
  const Graph& graph_;
  std::vector<Group> result_;
};

}  // namespace

std::vector<Group> Partition(const Graph& graph) { return Partitioner(graph).Run(); }

}  // namespace kindred
