#include <algorithm>

#include "schedules/sketches/cuda_row_lowering.h"

namespace kindred::internal {
namespace {

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

}  // namespace

StmtPtr RowLowering::Reduction(std::size_t s) {
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
    all.push_back(For(other, IntExpr(s_.lanes - 1), LoopKind::kUnrolled,
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

StmtPtr RowLowering::AmongOwners(Combiner combiner, int acc) {
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
  all.push_back(p_.strided ? put : If(BinaryExpr(Op::kEqual, thread_ % IntExpr(kWarp), zero), put));
  all.push_back(Barrier());
  all.push_back(Lanes(
      RowLanes(), [&](const ExprPtr& v) { return lowering_.Load(totals, slot(zero, v)); },
      [&](const ExprPtr& v, const ExprPtr& value) { return Store(acc, v, value); }));
  const int other = lowering_.program.AddVar("part");
  all.push_back(
      For(other, IntExpr(parts - 1), LoopKind::kUnrolled,
          Lanes(
              RowLanes(),
              [&](const ExprPtr& v) { return lowering_.Load(totals, slot(VarExpr(other) + 1, v)); },
              [&](const ExprPtr& v, const ExprPtr& value) {
                return Store(acc, v, Combine(combiner, lowering_.Load(acc, v), value));
              })));
  return Block(std::move(all));
}

StmtPtr RowLowering::ArgReduction(std::size_t s) {
  const Stage& stage = w_.stages[s];
  const std::int64_t slots = RowLanes();
  const ArgRegisters found = AddArgRegisters(lowering_, stage, slots);
  const auto each = [&](std::int64_t lanes, const auto& make) {
    const int var = lowering_.program.AddVar("v");
    return For(var, IntExpr(lanes), LoopKind::kUnrolled,
               make(lanes > 1 ? VarExpr(var) : IntExpr(0)));
  };
  std::vector<StmtPtr> all = {
      each(slots, [&](const ExprPtr& v) { return ArgStart(lowering_, found, stage.combiner, v); })};
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

StmtPtr RowLowering::Online() {
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

StmtPtr RowLowering::StorePartial(const Stage& s, int acc) {
  partial_ = lowering_.program.AddBuffer({w_.tensors[At(s.tensor)].name + "_partial", s.accumulator,
                                          p_.row_count * s_.splits, Scope::kWorkspace, -1, ""});
  return If(FirstOwner(), Lanes(
                              RowLanes(), [&](const ExprPtr& v) { return lowering_.Load(acc, v); },
                              [&](const ExprPtr& v, const ExprPtr& value) {
                                const ExprPtr slot =
                                    p_.strided ? split_ * p_.row_count + row_ * RowLanes() + v
                                               : row_ * s_.splits + split_;
                                return Store(partial_, slot, value);
                              }));
}

StmtPtr RowLowering::Join(const Stage& s) {
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
          all.push_back(CombineThreads(acc, zero, CombineOp(s.combiner), static_cast<int>(owners)));
        const std::vector<ExprPtr> at = Decompose(lowering_, row, extents, names, inside);
        inside.push_back(lowering_.StoreResult(s, at, total));
        all.push_back(If(BinaryExpr(Op::kAnd, here, BinaryExpr(Op::kEqual, lane, zero)),
                         Block(std::move(inside))));
        return Block(std::move(all));
      });
}

}  // namespace kindred::internal
