// A group of threads owns a row, or (strided) `lanes` neighbouring rows. What belongs to a row
// stays in registers, one slot per row of the group; an accumulator has `lanes` slots, which are
// joined where they belong to one row. Without strides the owners of a row are neighbouring
// threads, with strides neighbouring threads own neighbouring rows.
#include "schedules/sketches/cuda_rows_lower.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/sketches/cuda_common.h"
#include "schedules/sketches/cuda_pointwise.h"

namespace kindred::internal {
namespace {

constexpr std::int64_t kWarp = 32;

std::size_t At(int i) { return static_cast<std::size_t>(i); }

Op CombineOp(Combiner combiner) {
  switch (combiner) {
    case Combiner::kMax:
    case Combiner::kArgMax: return Op::kMax;
    case Combiner::kMin:
    case Combiner::kArgMin: return Op::kMin;
    case Combiner::kProd: return Op::kMul;
    default: return Op::kAdd;
  }
}

class RowLowering {
 public:
  RowLowering(const RowPattern& pattern, const RowSchedule& schedule)
      : p_(pattern), w_(pattern.workload), s_(schedule), lowering_(pattern.workload) {}

  Program Run() {
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

 private:
  // The columns of one thread that a statement is made for.
  struct Place {
    std::vector<ExprPtr> canonical;  // axis values of the first lane
    ExprPtr chunk, round;
  };
  using MakeColumns = std::function<StmtPtr(const Place&)>;

  std::int64_t RowLanes() const { return p_.strided ? s_.lanes : 1; }
  std::int64_t ColumnLanes() const { return p_.strided ? 1 : s_.lanes; }

  StmtPtr RowsOf(const std::vector<std::size_t>& stages) {
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
          group_ = groups == 1 ? IntExpr(0)
                               : Bound(lowering_, "group",
                                       p_.strided ? thread % size : thread / owners, all);
          row_ = Bound(lowering_, "row", block / IntExpr(s_.splits) * groups + group_, all);
          inside_ = BinaryExpr(Op::kLess, row_, rows);
          // Threads beyond the last row work on it too, and store nothing: all meet.
          const ExprPtr safe = groups == 1 ? row_
                                           : Bound(lowering_, "own_row",
                                                   BinaryExpr(Op::kMin, row_, rows + (-1)), all);
          values_ = Decompose(lowering_, safe, extents, names, all);
          if (RowLanes() > 1) values_.back() = values_.back() * RowLanes();
          fetched_.assign(p_.fetched.size(), -1);
          if (s_.residency != Residency::kNone)
            for (std::size_t i = 0; i < p_.fetched.size(); ++i) all.push_back(FetchRow(i));
          for (const std::size_t s : stages) all.push_back(OfStage(s));
          return Block(std::move(all));
        });
  }

  // Axis values of lane `v`.
  std::vector<ExprPtr> Lane(std::vector<ExprPtr> canonical, const ExprPtr& v) const {
    const std::size_t axis = p_.strided ? At(p_.rows) - 1 : canonical.size() - 1;
    if (!canonical.empty()) canonical[axis] = canonical[axis] + v;
    return canonical;
  }

  StmtPtr Lanes(std::int64_t lanes, const std::function<ExprPtr(const ExprPtr& v)>& value,
                const std::function<StmtPtr(const ExprPtr& v, const ExprPtr& value)>& store) {
    const int var = lowering_.program.AddVar("v");
    const ExprPtr v = lanes > 1 ? VarExpr(var) : IntExpr(0);
    return VectorStatement(var, lanes, value(v),
                           [&](const ExprPtr& settled) { return store(v, settled); });
  }

  // make() for each vector of columns of this thread: an owner takes every owners-th.
  StmtPtr Columns(const std::vector<Extent>& columns, bool written_out, const MakeColumns& make) {
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

  std::vector<Extent> ColumnsOf(std::size_t s) const {
    std::vector<Extent> columns;
    for (std::size_t a = At(p_.rows); a < w_.stages[s].axes.size(); ++a)
      columns.push_back(w_.stages[s].axes[At(p_.order[s][a])].extent);
    return columns;
  }

  ExprPtr FetchedSlot(const ExprPtr& round, const ExprPtr& v) const {
    if (s_.residency == Residency::kRegisters) return round * s_.lanes + v;
    return (round * s_.threads + thread_) * IntExpr(s_.lanes) + v;
  }

  StmtPtr FetchRow(std::size_t i) {
    const RowLoad& load = p_.fetched[i];
    const Tensor& t = w_.tensors[At(load.load->index)];
    const std::int64_t elements = FetchedElements(p_, load, s_);
    const bool shared = s_.residency == Residency::kShared;
    fetched_[i] = shared
                      ? lowering_.program.AddBuffer({t.name + "_row", t.type, elements * s_.threads,
                                                     Scope::kShared, -1, ""})
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

  // The body of stage `s` at lane `v`.
  ExprPtr Body(std::size_t s, const Place& at, const ExprPtr& v) {
    const std::vector<ExprPtr> canonical = Lane(at.canonical, v);
    return LowerBody(w_.stages[s].body, p_.StageValues(s, canonical),
                     [&, direct = lowering_.RowMajor()](
                         int tensor, std::span<const ExprPtr> indices, DataType type) {
                       for (const auto& [id, buffer] : kept_)
                         if (id == tensor)
                           return lowering_.Load(buffer, p_.strided ? v : IntExpr(0));
                       for (const int i : p_.loads[s]) {
                         const RowLoad& load = p_.fetched[At(i)];
                         if (fetched_[At(i)] < 0 || load.load->index != tensor) continue;
                         bool same = true;
                         for (std::size_t d = 0; same && d < indices.size(); ++d)
                           same = SameExpr(*SubstituteVars(load.load->args[d], canonical),
                                           *indices[d]);
                         if (same) return lowering_.Load(fetched_[At(i)], FetchedSlot(at.round, v));
                       }
                       return direct(tensor, indices, type);
                     });
  }

  bool WrittenOut() const { return s_.residency == Residency::kRegisters; }

  StmtPtr OfStage(std::size_t s) {
    const Stage& stage = w_.stages[s];
    if (s_.online && static_cast<int>(s) == p_.online_sum) return Block({});
    if (s_.online && static_cast<int>(s) == p_.online_max) return Online();
    if (stage.combiner != Combiner::kNone)
      return IsArg(stage.combiner) ? ArgReduction(s) : Reduction(s);
    if (!p_.HasColumns(s)) {
      const Place at{values_, nullptr, nullptr};
      return Keep(stage, [&](const ExprPtr& v) {
        return p_.strided ? Body(s, at, v) : Body(s, {values_, nullptr, nullptr}, IntExpr(0));
      });
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

  StmtPtr Reduction(std::size_t s) {
    const Stage& stage = w_.stages[s];
    const int acc = lowering_.AddRegisters("acc", stage.accumulator, s_.lanes);
    const auto slot = [&](const ExprPtr& v) { return lowering_.Load(acc, v); };
    std::vector<StmtPtr> all = {Lanes(
        s_.lanes, [&](const ExprPtr&) { return InitialValue(stage.combiner, stage.accumulator); },
        [&](const ExprPtr& v, const ExprPtr& value) { return Store(acc, v, value); })};
    all.push_back(Columns(ColumnsOf(s), WrittenOut(), [&](const Place& at) {
      return Lanes(
          s_.lanes, [&](const ExprPtr& v) { return Body(s, at, v); },
          [&](const ExprPtr& v, const ExprPtr& value) {
            return Store(acc, v, Combine(stage.combiner, slot(v), value));
          });
    }));
    if (ColumnLanes() > 1) {
      const int other = lowering_.program.AddVar("other");
      all.push_back(
          For(other, IntExpr(s_.lanes - 1), LoopKind::kUnrolled,
              Store(acc, IntExpr(0),
                    Combine(stage.combiner, slot(IntExpr(0)), slot(VarExpr(other) + 1)))));
    }
    all.push_back(AmongOwners(stage.combiner, acc));
    if (s_.splits > 1)
      all.push_back(StorePartial(stage, acc));
    else
      all.push_back(Keep(stage, slot));
    return Block(std::move(all));
  }

  // An accumulator becomes that of all owners of the row.
  StmtPtr AmongOwners(Combiner combiner, int acc) {
    std::vector<StmtPtr> all;
    const ExprPtr zero = IntExpr(0);
    if (s_.owners == 1) return Block({});
    if (!p_.strided) {
      const std::int64_t width = std::min(s_.owners, kWarp);
      all.push_back(CombineThreads(acc, zero, CombineOp(combiner), static_cast<int>(width)));
      if (s_.owners <= kWarp) return Block(std::move(all));
    }
    // Warps, or owners, put their totals side by side, and every thread joins them.
    const std::int64_t groups = s_.threads / s_.owners;
    const std::int64_t parts = p_.strided ? s_.owners : s_.owners / kWarp;
    const std::int64_t stride = (p_.strided ? groups : groups * parts) * RowLanes();
    const DataType type = lowering_.program.buffers[At(acc)].type;
    const int totals = lowering_.program.AddBuffer(
        {"totals", type, parts * groups * RowLanes(), Scope::kShared, -1, ""});
    const auto slot = [&](const ExprPtr& part, const ExprPtr& v) {
      return p_.strided ? part * stride + group_ * RowLanes() + v : group_ * parts + part;
    };
    const ExprPtr own = p_.strided ? lane_ : lane_ / IntExpr(kWarp);
    const StmtPtr put = Lanes(
        RowLanes(), [&](const ExprPtr& v) { return lowering_.Load(acc, v); },
        [&](const ExprPtr& v, const ExprPtr& value) { return Store(totals, slot(own, v), value); });
    all.push_back(p_.strided ? put
                             : If(BinaryExpr(Op::kEqual, thread_ % IntExpr(kWarp), zero), put));
    all.push_back(Barrier());
    all.push_back(Lanes(
        RowLanes(), [&](const ExprPtr& v) { return lowering_.Load(totals, slot(zero, v)); },
        [&](const ExprPtr& v, const ExprPtr& value) { return Store(acc, v, value); }));
    const int other = lowering_.program.AddVar("part");
    all.push_back(For(
        other, IntExpr(parts - 1), LoopKind::kUnrolled,
        Lanes(
            RowLanes(),
            [&](const ExprPtr& v) { return lowering_.Load(totals, slot(VarExpr(other) + 1, v)); },
            [&](const ExprPtr& v, const ExprPtr& value) {
              return Store(acc, v, Combine(combiner, lowering_.Load(acc, v), value));
            })));
    return Block(std::move(all));
  }

  StmtPtr ArgReduction(std::size_t s) {
    const Stage& stage = w_.stages[s];
    const std::int64_t slots = RowLanes();
    const ArgRegisters found = AddArgRegisters(lowering_, stage, slots);
    const auto each = [&](std::int64_t lanes, const auto& make) {
      const int var = lowering_.program.AddVar("v");
      return For(var, IntExpr(lanes), LoopKind::kUnrolled,
                 make(lanes > 1 ? VarExpr(var) : IntExpr(0)));
    };
    std::vector<StmtPtr> all = {each(
        slots, [&](const ExprPtr& v) { return ArgStart(lowering_, found, stage.combiner, v); })};
    // A vector is loaded whole, then looked through.
    const int kept = lowering_.AddRegisters("candidates", stage.accumulator, s_.lanes);
    all.push_back(Columns(ColumnsOf(s), WrittenOut(), [&](const Place& at) {
      return Block({Lanes(
                        s_.lanes, [&](const ExprPtr& v) { return Body(s, at, v); },
                        [&](const ExprPtr& v, const ExprPtr& value) {
                          return Store(kept, v, CastExpr(stage.accumulator, value));
                        }),
                    each(s_.lanes, [&](const ExprPtr& v) {
                      return ArgStep(lowering_, found, stage.combiner, p_.strided ? v : IntExpr(0),
                                     lowering_.Load(kept, v),
                                     p_.strided ? at.chunk : at.chunk * s_.lanes + v);
                    })});
    }));
    if (s_.owners > 1)
      all.push_back(CombineThreads(found.best, IntExpr(0), CombineOp(stage.combiner),
                                   static_cast<int>(s_.owners), found.position));
    all.push_back(Keep(stage, [&](const ExprPtr& v) { return lowering_.Load(found.position, v); }));
    return Block(std::move(all));
  }

  // Maximum and sum of exponentials below it: whenever a larger maximum is found, the sum so far is
  // scaled down. A thread that has seen only -inf has the sum 0.
  StmtPtr Online() {
    const Stage& max = w_.stages[At(p_.online_max)];
    const Stage& sum = w_.stages[At(p_.online_sum)];
    const ExprPtr zero = IntExpr(0), nothing = FloatExpr(0, DataType::kF32),
                  lowest = InitialValue(Combiner::kMax, DataType::kF32);
    const auto registers = [&](const char* name, std::int64_t n) {
      return lowering_.AddRegisters(name, DataType::kF32, n);
    };
    const int best = registers("best", 1), next = registers("next", 1), total = registers("acc", 1),
              seen = registers("seen", s_.lanes);
    const ExprPtr b = lowering_.Load(best, zero), n = lowering_.Load(next, zero),
                  t = lowering_.Load(total, zero);
    const auto exponential = [&](const ExprPtr& x) {
      return SelectExpr(BinaryExpr(Op::kEqual, x, lowest), nothing, UnaryExpr(Op::kExp, x - n));
    };
    const int v1 = lowering_.program.AddVar("v"), v2 = lowering_.program.AddVar("v");
    std::vector<StmtPtr> all = {Store(best, zero, lowest), Store(total, zero, nothing)};
    all.push_back(Columns(ColumnsOf(At(p_.online_max)), false, [&](const Place& at) {
      return Block(
          {Lanes(
               s_.lanes, [&](const ExprPtr& v) { return Body(At(p_.online_max), at, v); },
               [&](const ExprPtr& v, const ExprPtr& value) {
                 return Store(seen, v, CastExpr(DataType::kF32, value));
               }),
           Store(next, zero, b),
           For(v1, IntExpr(s_.lanes), LoopKind::kUnrolled,
               Store(next, zero, BinaryExpr(Op::kMax, n, lowering_.Load(seen, VarExpr(v1))))),
           Store(total, zero, t * exponential(b)),
           For(v2, IntExpr(s_.lanes), LoopKind::kUnrolled,
               Store(total, zero, t + exponential(lowering_.Load(seen, VarExpr(v2))))),
           Store(best, zero, n)});
    }));
    all.push_back(Store(next, zero, b));
    all.push_back(AmongOwners(Combiner::kMax, next));
    all.push_back(Store(total, zero, t * exponential(b)));
    all.push_back(AmongOwners(Combiner::kSum, total));
    all.push_back(Keep(max, [&](const ExprPtr&) { return n; }));
    // Where the maximum is infinite, the sum is not a number.
    all.push_back(Keep(sum, [&](const ExprPtr&) { return t + (n - n); }));
    return Block(std::move(all));
  }

  // Values of the row: for later stages in registers, as the tensor would round them; an output is
  // stored by the first owner.
  StmtPtr Keep(const Stage& s, const std::function<ExprPtr(const ExprPtr& v)>& value) {
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

  ExprPtr FirstOwner() const {
    return BinaryExpr(Op::kAnd, inside_, BinaryExpr(Op::kEqual, lane_, IntExpr(0)));
  }

  // Partial results lie side by side for who reads them next: splits of a row, or with strides rows
  // of a split.
  StmtPtr StorePartial(const Stage& s, int acc) {
    partial_ =
        lowering_.program.AddBuffer({w_.tensors[At(s.tensor)].name + "_partial", s.accumulator,
                                     p_.row_count * s_.splits, Scope::kWorkspace, -1, ""});
    return If(FirstOwner(),
              Lanes(
                  RowLanes(), [&](const ExprPtr& v) { return lowering_.Load(acc, v); },
                  [&](const ExprPtr& v, const ExprPtr& value) {
                    const ExprPtr slot = p_.strided ? split_ * p_.row_count + row_ * RowLanes() + v
                                                    : row_ * s_.splits + split_;
                    return Store(partial_, slot, value);
                  }));
  }

  StmtPtr Join(const Stage& s) {
    const std::int64_t threads = 128, owners = p_.strided ? 1 : kWarp;
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    for (int a = 0; a < p_.rows; ++a) {
      extents.push_back(ExtentValue(s.axes[At(a)].extent));
      names.push_back(s.axes[At(a)].name);
    }
    const ExprPtr rows = Product(extents), zero = IntExpr(0);
    const int acc = lowering_.AddRegisters("acc", s.accumulator, 1);
    const ExprPtr total = lowering_.Load(acc, zero);
    const int round = lowering_.program.AddVar("round");
    return Launch(
        lowering_, CeilDiv(rows, threads / owners), threads,
        [&](const ExprPtr& block, const ExprPtr& thread) {
          std::vector<StmtPtr> all, inside;
          const ExprPtr row =
              Bound(lowering_, "row", block * (threads / owners) + thread / IntExpr(owners), all);
          const ExprPtr lane = p_.strided ? zero : thread % IntExpr(owners);
          const ExprPtr split = VarExpr(round) * owners + lane;
          const ExprPtr slot = p_.strided ? split * p_.row_count + row : row * s_.splits + split;
          const ExprPtr here = BinaryExpr(Op::kLess, row, rows);
          const ExprPtr useful =
              BinaryExpr(Op::kAnd, here, BinaryExpr(Op::kLess, split, IntExpr(s_.splits)));
          all.push_back(Store(acc, zero, InitialValue(s.combiner, s.accumulator)));
          all.push_back(
              For(round, IntExpr((s_.splits + owners - 1) / owners), LoopKind::kSerial,
                  If(useful,
                     Store(acc, zero, Combine(s.combiner, total, lowering_.Load(partial_, slot)))),
                  4));
          if (owners > 1)
            all.push_back(
                CombineThreads(acc, zero, CombineOp(s.combiner), static_cast<int>(owners)));
          const std::vector<ExprPtr> at = Decompose(lowering_, row, extents, names, inside);
          inside.push_back(lowering_.StoreResult(s, at, total));
          all.push_back(If(BinaryExpr(Op::kAnd, here, BinaryExpr(Op::kEqual, lane, zero)),
                           Block(std::move(inside))));
          return Block(std::move(all));
        });
  }

  StmtPtr Pointwise(const Stage& stage) {
    const PointwiseStep step{{stage}};
    std::int64_t points = 1;
    for (const Axis& axis : stage.axes) points *= CapacityOf(w_, axis.extent);
    std::int64_t lanes = s_.lanes;
    while (lanes > points) lanes /= 2;
    return LowerPointwise(lowering_, step, 256, lanes, 2);
  }

  const RowPattern& p_;
  const Workload& w_;
  const RowSchedule s_;
  Lowering lowering_;
  ExprPtr thread_, lane_, group_, row_, split_, inside_;
  std::vector<ExprPtr> values_;            // of the row axes
  std::vector<int> fetched_;               // buffer per fetched load; -1: none
  std::vector<std::pair<int, int>> kept_;  // tensor, register buffer
  int partial_ = -1;
};

}  // namespace

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
