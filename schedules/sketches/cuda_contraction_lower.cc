#include <algorithm>
#include <utility>

#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/contraction_epilogue.h"
#include "schedules/sketches/cuda_common.h"
#include "schedules/sketches/cuda_contraction.h"
#include "schedules/sketches/cuda_pointwise.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t kBeforeThreads = 256;

// One operand on its way: global memory, registers of the thread, shared memory [k][side].
struct Staged {
  ExprPtr value;           // over the anchor's axes
  std::vector<int> axes;   // rows or columns
  std::int64_t tile = 0;   // of a block
  std::int64_t all = 0;    // the extent of the side
  bool k_is_fast = false;  // neighbouring threads walk along the reduction
  int shared = -1, fetched = -1;
  ExprPtr origin;  // of the block's tile

  std::int64_t Line() const { return tile + 1; }
};

class Lowerer {
 public:
  Lowerer(const Workload& workload, const ContractionPattern& pattern,
          const CudaContractionPlan& plan)
      : w_(workload),
        p_(pattern),
        plan_(plan),
        lowering_(workload),
        anchor_(workload.stages[At(pattern.anchor)]),
        groups_(GroupAxes(pattern)),
        axes_(anchor_.axes.size(), IntExpr(0)),
        epilogue_(lowering_, {pattern.anchor, pattern.before, pattern.after, pattern.after_axes}) {
    const auto product = [](const Expr* e) {
      while (e->op == Op::kCast) e = e->args[0].get();
      return e;
    };
    const Expr* plain = product(anchor_.body.get());
    const bool left_is_b = MatchOperand(w_, anchor_, *plain->args[0])->Uses(p_.x);
    const ExprPtr guarded = GuardPadding(w_, anchor_);
    const Expr* both = product(guarded.get());
    a_ = Side("a", both->args[left_is_b ? 1 : 0], groups_.rows, plan_.block_rows, p_.a);
    b_ = Side("b", both->args[left_is_b ? 0 : 1], groups_.columns, plan_.block_columns, p_.b);
  }

  Program Run() {
    std::vector<StmtPtr> steps;
    for (const int s : p_.before) {
      Stage stage = w_.stages[At(s)];
      stage.body = GuardPadding(w_, stage);
      steps.push_back(LowerPointwise(lowering_, {{std::move(stage)}}, kBeforeThreads, 1, 1));
    }
    sums_ = lowering_.AddRegisters("sums", p_.accumulator,
                                   plan_.register_rows * plan_.register_columns);
    a_part_ = lowering_.AddRegisters("a_part", p_.accumulator, plan_.register_rows);
    b_part_ = lowering_.AddRegisters("b_part", p_.accumulator, plan_.register_columns);
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    for (const int axis : groups_.batch) {
      extents.push_back(IntExpr(p_.Extent(axis)));
      names.push_back(anchor_.axes[At(axis)].name);
    }
    extents.push_back(IntExpr(Ceil(a_.all, a_.tile)));
    extents.push_back(IntExpr(Ceil(b_.all, b_.tile)));
    names.insert(names.end(), {"row_block", "column_block"});
    steps.push_back(Launch(lowering_, Product(extents), plan_.Threads(),
                           [&](const ExprPtr& block, const ExprPtr& thread) {
                             std::vector<StmtPtr> all;
                             const auto at = Decompose(lowering_, block, extents, names, all);
                             for (std::size_t i = 0; i < groups_.batch.size(); ++i)
                               axes_[At(groups_.batch[i])] = at[i];
                             a_.origin =
                                 Bound(lowering_, "row_first", at[at.size() - 2] * a_.tile, all);
                             b_.origin = Bound(lowering_, "column_first", at.back() * b_.tile, all);
                             thread_ = thread;
                             const std::int64_t across = Across();
                             row_ = Bound(lowering_, "row", thread / IntExpr(across), all);
                             column_ = Bound(lowering_, "column", thread % IntExpr(across), all);
                             all.push_back(Tile());
                             return Block(std::move(all));
                           }));
    lowering_.program.body = Block(std::move(steps));
    return std::move(lowering_.program);
  }

 private:
  static std::int64_t Ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  std::int64_t Across() const { return plan_.block_columns / plan_.register_columns; }
  std::int64_t Down() const { return plan_.block_rows / plan_.register_rows; }

  Staged Side(const std::string& name, const ExprPtr& value, const std::vector<int>& axes,
              std::int64_t tile, const OperandAccess& operand) {
    Staged s;
    s.value = CastExpr(p_.accumulator, value);
    s.axes = axes;
    s.tile = tile;
    s.all = 1;
    for (const int axis : axes) s.all *= p_.Extent(axis);
    s.k_is_fast = operand.Stride(groups_.reduction.back()) == 1 &&
                  (axes.empty() || operand.Stride(axes.back()) != 1);
    s.shared = lowering_.program.AddBuffer({name + "_tile", p_.accumulator,
                                            plan_.stages * plan_.k_step * s.Line(), Scope::kShared,
                                            -1, ""});
    s.fetched = lowering_.AddRegisters(name + "_next", p_.accumulator,
                                       Ceil(tile * plan_.k_step, plan_.Threads()));
    return s;
  }

  template <class Make>
  StmtPtr Unrolled(const char* name, std::int64_t extent, const Make& make) {
    const int var = lowering_.program.AddVar(name);
    return For(var, IntExpr(extent), LoopKind::kUnrolled, make(VarExpr(var)));
  }

  void Spread(const ExprPtr& flat, const std::vector<int>& axes, std::vector<ExprPtr>& values,
              std::vector<StmtPtr>& lets) {
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    for (const int axis : axes) {
      extents.push_back(IntExpr(p_.Extent(axis)));
      names.push_back(anchor_.axes[At(axis)].name);
    }
    const auto at = Decompose(lowering_, flat, extents, names, lets);
    for (std::size_t i = 0; i < axes.size(); ++i) values[At(axes[i])] = at[i];
  }

  // Every element of the staged tile that this thread moves.
  template <class Make>
  StmtPtr Elements(const Staged& s, const Make& make) {
    const std::int64_t elements = s.tile * plan_.k_step, threads = plan_.Threads();
    return Unrolled("i", Ceil(elements, threads), [&](const ExprPtr& i) {
      std::vector<StmtPtr> lets;
      const ExprPtr index = Bound(lowering_, "index", i * threads + thread_, lets);
      const IntPair fast_slow = {index % IntExpr(s.k_is_fast ? plan_.k_step : s.tile),
                                 index / IntExpr(s.k_is_fast ? plan_.k_step : s.tile)};
      const ExprPtr k =
          Bound(lowering_, "k_in", s.k_is_fast ? fast_slow.first : fast_slow.second, lets);
      const ExprPtr side =
          Bound(lowering_, "side_in", s.k_is_fast ? fast_slow.second : fast_slow.first, lets);
      StmtPtr work = make(i, k, side);
      if (elements % threads != 0)
        work = If(BinaryExpr(Op::kLess, index, IntExpr(elements)), std::move(work));
      lets.push_back(std::move(work));
      return Block(std::move(lets));
    });
  }

  StmtPtr Fetch(const Staged& s, const ExprPtr& step) {
    const std::int64_t depth = p_.ReductionExtent();
    return Elements(s, [&](const ExprPtr& i, const ExprPtr& k_in, const ExprPtr& side_in) {
      std::vector<StmtPtr> outer, inner;
      const ExprPtr k = Bound(lowering_, "k", step * plan_.k_step + k_in, outer);
      const ExprPtr side = Bound(lowering_, "at", s.origin + side_in, outer);
      std::vector<ExprPtr> values = axes_;
      Spread(k, groups_.reduction, values, inner);
      Spread(side, s.axes, values, inner);
      inner.push_back(Store(s.fetched, i, LowerBody(s.value, values, lowering_.RowMajor())));
      ExprPtr inside;
      if (depth % plan_.k_step != 0) inside = BinaryExpr(Op::kLess, k, IntExpr(depth));
      if (s.all % s.tile != 0) {
        const ExprPtr own = BinaryExpr(Op::kLess, side, IntExpr(s.all));
        inside = inside ? BinaryExpr(Op::kAnd, inside, own) : own;
      }
      outer.push_back(inside ? If(inside, Block(std::move(inner)),
                                  Store(s.fetched, i, Constant(0, p_.accumulator)))
                             : Block(std::move(inner)));
      return Block(std::move(outer));
    });
  }

  StmtPtr Commit(const Staged& s, const ExprPtr& stage) {
    return Elements(s, [&](const ExprPtr& i, const ExprPtr& k, const ExprPtr& side) {
      return Store(s.shared, (stage * plan_.k_step + k) * s.Line() + side,
                   lowering_.Load(s.fetched, i));
    });
  }

  StmtPtr Multiply(const ExprPtr& stage) {
    return Unrolled("k", plan_.k_step, [&](const ExprPtr& k) {
      const auto part = [&](const Staged& s, int into, std::int64_t count, std::int64_t apart,
                            const ExprPtr& own) {
        return Unrolled("i", count, [&](const ExprPtr& i) {
          return Store(
              into, i,
              lowering_.Load(s.shared, (stage * plan_.k_step + k) * s.Line() + i * apart + own));
        });
      };
      return Block({part(a_, a_part_, plan_.register_rows, Down(), row_),
                    part(b_, b_part_, plan_.register_columns, Across(), column_),
                    Unrolled("r", plan_.register_rows, [&](const ExprPtr& r) {
                      return Unrolled("c", plan_.register_columns, [&](const ExprPtr& c) {
                        const ExprPtr slot = r * plan_.register_columns + c;
                        return Store(
                            sums_, slot,
                            Combine(Combiner::kSum, lowering_.Load(sums_, slot),
                                    lowering_.Load(a_part_, r) * lowering_.Load(b_part_, c)));
                      });
                    })});
    });
  }

  StmtPtr Tile() {
    std::vector<StmtPtr> all;
    all.push_back(
        Unrolled("s", plan_.register_rows * plan_.register_columns,
                 [&](const ExprPtr& s) { return Store(sums_, s, Constant(0, p_.accumulator)); }));
    const std::int64_t steps = Ceil(p_.ReductionExtent(), plan_.k_step);
    const int step_var = lowering_.program.AddVar("step");
    const ExprPtr step = VarExpr(step_var), zero = IntExpr(0);
    if (plan_.stages == 1) {
      all.push_back(For(step_var, IntExpr(steps), LoopKind::kSerial,
                        Block({Fetch(a_, step), Fetch(b_, step), Barrier(), Commit(a_, zero),
                               Commit(b_, zero), Barrier(), Multiply(zero)})));
    } else {
      all.insert(all.end(),
                 {Fetch(a_, zero), Fetch(b_, zero), Commit(a_, zero), Commit(b_, zero), Barrier()});
      const ExprPtr next = (step + 1) % IntExpr(2);
      const ExprPtr more = BinaryExpr(Op::kLess, step, IntExpr(steps - 1));
      all.push_back(For(step_var, IntExpr(steps), LoopKind::kSerial,
                        Block({If(more, Block({Fetch(a_, step + 1), Fetch(b_, step + 1)})),
                               Multiply(step % IntExpr(2)),
                               If(more, Block({Commit(a_, next), Commit(b_, next)})), Barrier()})));
    }
    all.push_back(Results());
    return Block(std::move(all));
  }

  StmtPtr Results() {
    return Unrolled("r", plan_.register_rows, [&](const ExprPtr& r) {
      std::vector<StmtPtr> rows;
      const ExprPtr row = Bound(lowering_, "row_at", a_.origin + r * Down() + row_, rows);
      rows.push_back(Unrolled("c", plan_.register_columns, [&](const ExprPtr& c) {
        std::vector<StmtPtr> outer, inner;
        const ExprPtr column =
            Bound(lowering_, "column_at", b_.origin + c * Across() + column_, outer);
        std::vector<ExprPtr> values = axes_;
        Spread(row, groups_.rows, values, inner);
        Spread(column, groups_.columns, values, inner);
        inner.push_back(epilogue_.Emit(values, p_.x, 1, [&](const ExprPtr&) {
          return lowering_.Load(sums_, r * plan_.register_columns + c);
        }));
        ExprPtr inside = BinaryExpr(Op::kAnd, BinaryExpr(Op::kLess, row, IntExpr(a_.all)),
                                    BinaryExpr(Op::kLess, column, IntExpr(b_.all)));
        outer.push_back(If(inside, Block(std::move(inner))));
        return Block(std::move(outer));
      }));
      return Block(std::move(rows));
    });
  }

  using IntPair = std::pair<ExprPtr, ExprPtr>;
  const Workload& w_;
  const ContractionPattern& p_;
  const CudaContractionPlan& plan_;
  Lowering lowering_;
  const Stage& anchor_;
  ProductAxes groups_;
  std::vector<ExprPtr> axes_;
  Epilogue epilogue_;
  Staged a_, b_;
  int sums_ = -1, a_part_ = -1, b_part_ = -1;
  ExprPtr thread_, row_, column_;
};

}  // namespace

std::int64_t CudaContractionPlan::Registers(std::int64_t bytes) const {
  const std::int64_t values = register_rows * register_columns + register_rows + register_columns +
                              (block_rows + block_columns) * k_step / Threads();
  return values * std::max<std::int64_t>(bytes / 4, 1) + 40;
}

ProductAxes GroupAxes(const ContractionPattern& pattern) {
  ProductAxes groups;
  for (int axis = 0; axis < pattern.spatial; ++axis) {
    if (axis == pattern.x) continue;
    const bool a = pattern.a.Uses(axis), b = pattern.b.Uses(axis);
    (a && b ? groups.batch : a ? groups.rows : groups.columns).push_back(axis);
  }
  groups.columns.push_back(pattern.x);
  for (int axis = pattern.spatial; axis < static_cast<int>(pattern.extents.size()); ++axis)
    groups.reduction.push_back(axis);
  return groups;
}

Program LowerCudaContraction(const Workload& workload, const ContractionPattern& pattern,
                             const CudaContractionPlan& plan) {
  return Lowerer(workload, pattern, plan).Run();
}

}  // namespace kindred::internal
