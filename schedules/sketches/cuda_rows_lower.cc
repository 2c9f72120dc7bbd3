#include "schedules/sketches/cuda_rows_lower.h"

#include <algorithm>

#include "schedules/sketches/cuda_pointwise.h"
#include "schedules/sketches/cuda_row_lowering.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Program RowLowering::Run() {
  std::vector<StmtPtr> steps;
  if (s_.splits == 1) {
    std::vector<std::size_t> stages(w_.stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) stages[i] = i;
    steps.push_back(RowsOf(stages));
  } else {
    for (std::size_t i = 0; i < w_.stages.size(); ++i) {
      if (w_.stages[i].combiner == Combiner::kNone) {
        steps.push_back(Pointwise(w_.stages[i]));
        continue;
      }
      steps.push_back(RowsOf({i}));
      steps.push_back(Join(w_.stages[i]));
    }
  }
  lowering_.program.body = Block(std::move(steps));
  return std::move(lowering_.program);
}

StmtPtr RowLowering::RowsOf(const std::vector<std::size_t>& stages) {
  const Stage& first = w_.stages[stages.front()];
  std::vector<ExprPtr> extents;
  std::vector<std::string> names;
  for (int a = 0; a < p_.rows; ++a) {
    const Axis& axis = first.axes[At(p_.order[stages.front()][At(a)])];
    extents.push_back(ExtentValue(axis.extent));
    names.push_back(axis.name);
  }
  if (RowLanes() > 1) {
    extents.back() = CeilDiv(extents.back(), RowLanes());
    names.back() = "rows";
  }
  const ExprPtr rows = Product(extents);
  const std::int64_t groups = s_.threads / s_.owners;
  return Launch(
      lowering_, CeilDiv(rows, groups) * IntExpr(s_.splits), s_.threads,
      [&](const ExprPtr& block, const ExprPtr& thread) {
        std::vector<StmtPtr> all;
        thread_ = thread;
        split_ = Bound(lowering_, "split", block % IntExpr(s_.splits), all);
        const ExprPtr owners = IntExpr(s_.owners), size = IntExpr(groups);
        lane_ = s_.owners == 1
                    ? IntExpr(0)
                    : Bound(lowering_, "lane", p_.strided ? thread / size : thread % owners, all);
        group_ = groups == 1
                     ? IntExpr(0)
                     : Bound(lowering_, "group", p_.strided ? thread % size : thread / owners, all);
        row_ = Bound(lowering_, "row", block / IntExpr(s_.splits) * groups + group_, all);
        inside_ = BinaryExpr(Op::kLess, row_, rows);
        // Threads beyond the last row work on it too, and store nothing: all meet.
        const ExprPtr safe =
            groups == 1 ? row_
                        : Bound(lowering_, "own_row", BinaryExpr(Op::kMin, row_, rows + (-1)), all);
        values_ = Decompose(lowering_, safe, extents, names, all);
        if (RowLanes() > 1) values_.back() = values_.back() * RowLanes();
        fetched_.assign(p_.fetched.size(), -1);
        if (s_.residency != Residency::kNone)
          for (std::size_t i = 0; i < p_.fetched.size(); ++i) all.push_back(FetchRow(i));
        for (const std::size_t s : stages) all.push_back(OfStage(s));
        return Block(std::move(all));
      });
}

std::vector<ExprPtr> RowLowering::Lane(std::vector<ExprPtr> canonical, const ExprPtr& v) const {
  const std::size_t axis = p_.strided ? At(p_.rows) - 1 : canonical.size() - 1;
  if (!canonical.empty()) canonical[axis] = canonical[axis] + v;
  return canonical;
}

StmtPtr RowLowering::Lanes(
    std::int64_t lanes, const std::function<ExprPtr(const ExprPtr& v)>& value,
    const std::function<StmtPtr(const ExprPtr& v, const ExprPtr& value)>& store) {
  const int var = lowering_.program.AddVar("v");
  const ExprPtr v = lanes > 1 ? VarExpr(var) : IntExpr(0);
  return VectorStatement(var, lanes, value(v),
                         [&](const ExprPtr& settled) { return store(v, settled); });
}

StmtPtr RowLowering::Columns(const std::vector<Extent>& columns, bool written_out,
                             const MakeColumns& make) {
  std::vector<ExprPtr> extents;
  std::vector<std::string> names;
  for (const Extent& e : columns) {
    extents.push_back(ExtentValue(e));
    names.emplace_back("column");
  }
  if (ColumnLanes() > 1) extents.back() = CeilDiv(extents.back(), ColumnLanes());
  const ExprPtr count = Product(extents);
  const auto place = [&](const ExprPtr& round, const ExprPtr& base, bool guarded) {
    std::vector<StmtPtr> all, inside;
    Place here;
    here.round = round;
    here.chunk = Bound(lowering_, "chunk", base + round * s_.owners + lane_, all);
    here.canonical = values_;
    for (ExprPtr& value : Decompose(lowering_, here.chunk, extents, names, inside))
      here.canonical.push_back(std::move(value));
    if (ColumnLanes() > 1) here.canonical.back() = here.canonical.back() * ColumnLanes();
    inside.push_back(make(here));
    all.push_back(guarded ? If(BinaryExpr(Op::kLess, here.chunk, count), Block(std::move(inside)))
                          : Block(std::move(inside)));
    return Block(std::move(all));
  };
  const int round = lowering_.program.AddVar("round");
  const LoopKind kind = written_out ? LoopKind::kUnrolled : LoopKind::kSerial;
  const int unroll = written_out ? 1 : 4;
  if (s_.splits > 1) {
    const ExprPtr rounds = CeilDiv(count, s_.owners * s_.splits);
    return For(round, rounds, kind, place(VarExpr(round), split_ * (rounds * s_.owners), true),
               unroll);
  }
  const ExprPtr whole = count / IntExpr(s_.owners);
  std::vector<StmtPtr> all = {
      For(round, whole, kind, place(VarExpr(round), IntExpr(0), false), unroll)};
  if (!IsInt(*(count % IntExpr(s_.owners)), 0)) all.push_back(place(whole, IntExpr(0), true));
  return Block(std::move(all));
}

std::vector<Extent> RowLowering::ColumnsOf(std::size_t s) const {
  std::vector<Extent> columns;
  for (std::size_t a = At(p_.rows); a < w_.stages[s].axes.size(); ++a)
    columns.push_back(w_.stages[s].axes[At(p_.order[s][a])].extent);
  return columns;
}

ExprPtr RowLowering::FetchedSlot(const ExprPtr& round, const ExprPtr& v) const {
  if (s_.residency == Residency::kRegisters) return round * s_.lanes + v;
  return (round * s_.threads + thread_) * IntExpr(s_.lanes) + v;
}

StmtPtr RowLowering::FetchRow(std::size_t i) {
  const RowLoad& load = p_.fetched[i];
  const Tensor& t = w_.tensors[At(load.load->index)];
  const std::int64_t elements = FetchedElements(p_, load, s_);
  const bool shared = s_.residency == Residency::kShared;
  fetched_[i] = shared
                    ? lowering_.program.AddBuffer(
                          {t.name + "_row", t.type, elements * s_.threads, Scope::kShared, -1, ""})
                    : lowering_.AddRegisters(t.name + "_row", t.type, elements);
  return Columns(load.columns, true, [&](const Place& at) {
    return Lanes(
        s_.lanes,
        [&](const ExprPtr& v) {
          return LowerBody(load.load, Lane(at.canonical, v), lowering_.RowMajor());
        },
        [&](const ExprPtr& v, const ExprPtr& value) {
          return Store(fetched_[i], FetchedSlot(at.round, v), value);
        });
  });
}

ExprPtr RowLowering::Body(std::size_t s, const Place& at, const ExprPtr& v) {
  const std::vector<ExprPtr> canonical = Lane(at.canonical, v);
  return LowerBody(w_.stages[s].body, p_.StageValues(s, canonical),
                   [&, direct = lowering_.RowMajor()](int tensor, std::span<const ExprPtr> indices,
                                                      DataType type) {
                     for (const auto& [id, buffer] : kept_)
                       if (id == tensor) return lowering_.Load(buffer, p_.strided ? v : IntExpr(0));
                     for (const int i : p_.loads[s]) {
                       const RowLoad& load = p_.fetched[At(i)];
                       if (fetched_[At(i)] < 0 || load.load->index != tensor) continue;
                       bool same = true;
                       for (std::size_t d = 0; same && d < indices.size(); ++d)
                         same =
                             SameExpr(*SubstituteVars(load.load->args[d], canonical), *indices[d]);
                       if (same) return lowering_.Load(fetched_[At(i)], FetchedSlot(at.round, v));
                     }
                     return direct(tensor, indices, type);
                   });
}

StmtPtr RowLowering::OfStage(std::size_t s) {
  const Stage& stage = w_.stages[s];
  if (s_.online && static_cast<int>(s) == p_.online_sum) return Block({});
  if (s_.online && static_cast<int>(s) == p_.online_max) return Online();
  if (stage.combiner != Combiner::kNone)
    return IsArg(stage.combiner) ? ArgReduction(s) : Reduction(s);
  if (!p_.HasColumns(s)) {
    const Place at{values_, nullptr, nullptr};
    return Keep(stage, [&](const ExprPtr& v) { return Body(s, at, v); });
  }
  return If(inside_, Columns(ColumnsOf(s), WrittenOut(), [&](const Place& at) {
              return Lanes(
                  s_.lanes, [&](const ExprPtr& v) { return Body(s, at, v); },
                  [&](const ExprPtr& v, const ExprPtr& value) {
                    const auto indices = p_.StageValues(s, Lane(at.canonical, v));
                    return lowering_.StoreResult(stage, indices, value);
                  });
            }));
}

StmtPtr RowLowering::Keep(const Stage& s, const std::function<ExprPtr(const ExprPtr& v)>& value) {
  const Tensor& t = w_.tensors[At(s.tensor)];
  const int buffer = lowering_.AddRegisters(t.name, t.type, RowLanes());
  std::vector<StmtPtr> all = {
      Lanes(RowLanes(), value, [&](const ExprPtr& v, const ExprPtr& settled) {
        return Store(buffer, v, CastExpr(t.type, settled));
      })};
  kept_.emplace_back(s.tensor, buffer);
  if (t.role == Role::kOutput)
    all.push_back(If(FirstOwner(),
                     Lanes(
                         RowLanes(), [&](const ExprPtr& v) { return lowering_.Load(buffer, v); },
                         [&](const ExprPtr& v, const ExprPtr& settled) {
                           return lowering_.StoreResult(s, Lane(values_, v), settled);
                         })));
  return Block(std::move(all));
}

ExprPtr RowLowering::FirstOwner() const {
  return BinaryExpr(Op::kAnd, inside_, BinaryExpr(Op::kEqual, lane_, IntExpr(0)));
}

StmtPtr RowLowering::Pointwise(const Stage& stage) {
  const PointwiseStep step{{stage}};
  std::int64_t points = 1;
  for (const Axis& axis : stage.axes) points *= CapacityOf(w_, axis.extent);
  std::int64_t lanes = s_.lanes;
  while (lanes > points) lanes /= 2;
  return LowerPointwise(lowering_, step, 256, lanes, 2);
}

std::int64_t FetchedElements(const RowPattern& pattern, const RowLoad& load,
                             const RowSchedule& schedule) {
  const std::int64_t per_round = schedule.owners * (pattern.strided ? 1 : schedule.lanes);
  std::int64_t columns = 1;
  for (const Extent& e : load.columns) columns *= CapacityOf(pattern.workload, e);
  return (columns + per_round - 1) / per_round * schedule.lanes;
}

Program LowerCudaRows(const RowPattern& pattern, const RowSchedule& schedule) {
  return RowLowering(pattern, schedule).Run();
}

}  // namespace kindred::internal
