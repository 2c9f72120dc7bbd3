#include <utility>

#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/contraction_epilogue.h"
#include "schedules/sketches/cuda_common.h"
#include "schedules/sketches/cuda_contraction.h"
#include "schedules/sketches/cuda_contraction_tile.h"
#include "schedules/sketches/cuda_pointwise.h"

namespace kindred::internal {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t kPointwiseThreads = 256;

class Lowerer {
 public:
  Lowerer(const CudaContraction& contraction, const CudaContractionPlan& plan)
      : c_(contraction),
        p_(contraction.pattern),
        plan_(plan),
        lowering_(*contraction.workload),
        warp_(WarpOf(plan)),
        a_(lowering_, contraction, plan, false),
        b_(lowering_, contraction, plan, true),
        epilogue_(lowering_, {p_.anchor, p_.before, p_.after, p_.after_axes}),
        batch_(1) {
    for (const int axis : c_.groups.batch) batch_ *= p_.Extent(axis);
    lanes_ = b_.strip();
    if (!epilogue_.VectorAlong(p_.x) || p_.Extent(p_.x) % lanes_ != 0) lanes_ = 1;
  }

  Program Run() {
    std::vector<StmtPtr> launches;
    for (const int s : c_.apart[plan_.fused]) {
      Stage stage = c_.workload->stages[At(s)];
      stage.body = GuardPadding(*c_.workload, stage);
      launches.push_back(LowerPointwise(lowering_, {{std::move(stage)}}, kPointwiseThreads, 1, 1));
    }
    const std::int64_t slots = plan_.register_rows * plan_.register_columns;
    sums_ = lowering_.AddRegisters("sums", p_.accumulator, slots);
    a_part_ = lowering_.AddRegisters("a_part", p_.accumulator, plan_.register_rows);
    b_part_ = lowering_.AddRegisters("b_part", p_.accumulator, plan_.register_columns);
    if (plan_.splits > 1)
      partial_ = lowering_.program.AddBuffer({"partial", p_.accumulator,
                                              plan_.splits * batch_ * a_.all() * b_.all(),
                                              Scope::kWorkspace, -1, ""});
    launches.push_back(Product());
    if (plan_.splits > 1) launches.push_back(SumOfParts());
    lowering_.program.body = Block(std::move(launches));
    return std::move(lowering_.program);
  }

 private:
  ExprPtr Value(const std::string& name, const ExprPtr& value, std::vector<StmtPtr>& lets) {
    return Bound(lowering_, name, value, lets);
  }

  StmtPtr Product() {
    const std::int64_t down = kindred::CeilDiv(a_.all(), a_.tile()),
                       across = kindred::CeilDiv(b_.all(), b_.tile());
    return Launch(lowering_, IntExpr(plan_.splits * batch_ * down * across), plan_.Threads(),
                  [&](const ExprPtr& block, const ExprPtr& thread) {
                    std::vector<StmtPtr> all;
                    const ExprPtr extents[] = {IntExpr(plan_.splits), IntExpr(batch_),
                                               IntExpr(down * across)};
                    const std::string names[] = {"split", "batch", "tile"};
                    const auto at = Decompose(lowering_, block, extents, names, all);
                    split_ = at[0];
                    flat_batch_ = at[1];
                    std::vector<ExprPtr> axes(p_.extents.size(), IntExpr(0));
                    Spread(lowering_, c_, flat_batch_, c_.groups.batch, axes, all);
                    axes_ = axes;
                    const auto [row, column] = Raster(at[2], down, across, all);
                    const ExprPtr rows = Value("row_first", row * a_.tile(), all);
                    const ExprPtr columns = Value("column_first", column * b_.tile(), all);
                    a_.Place(axes, rows, thread);
                    b_.Place(axes, columns, thread);
                    const ExprPtr warp = Value("warp", thread / IntExpr(32), all);
                    const ExprPtr lane = Value("lane", thread % IntExpr(32), all);
                    const std::int64_t warps_across = plan_.Across() / warp_.across;
                    row_ = Value("row",
                                 warp / IntExpr(warps_across) * (warp_.down * plan_.register_rows) +
                                     lane / IntExpr(warp_.across) * a_.strip(),
                                 all);
                    column_ = Value(
                        "column",
                        warp % IntExpr(warps_across) * (warp_.across * plan_.register_columns) +
                            lane % IntExpr(warp_.across) * b_.strip(),
                        all);
                    all.push_back(Tile());
                    return Block(std::move(all));
                  });
  }

  // Which tile a block takes: `raster` rows of tiles go along the columns together.
  std::pair<ExprPtr, ExprPtr> Raster(const ExprPtr& tile, std::int64_t down, std::int64_t across,
                                     std::vector<StmtPtr>& lets) {
    if (plan_.raster == 1) return {tile / IntExpr(across), tile % IntExpr(across)};
    const std::int64_t area = plan_.raster * across;
    const ExprPtr first = Value("band", tile / IntExpr(area) * plan_.raster, lets);
    const ExprPtr in_band = Value("in_band", tile % IntExpr(area), lets);
    const ExprPtr height =
        down % plan_.raster == 0
            ? IntExpr(plan_.raster)
            : Value("band_rows", Minimum(IntExpr(down) - first, IntExpr(plan_.raster)), lets);
    return {first + in_band % height, in_band / height};
  }

  StmtPtr Multiply(const ExprPtr& stage) {
    const int var = lowering_.program.AddVar("k");
    const ExprPtr k = VarExpr(var);
    const auto read = [&](OperandTile& side, int into, std::int64_t count, std::int64_t apart,
                          const ExprPtr& own) {
      return Unrolled(lowering_, "s", count / side.strip(), [&](const ExprPtr& s) {
        return side.Read(into, s * side.strip(), stage, k, own + s * apart, side.strip());
      });
    };
    const StmtPtr products = Unrolled(lowering_, "r", plan_.register_rows, [&](const ExprPtr& r) {
      return Unrolled(lowering_, "c", plan_.register_columns, [&](const ExprPtr& c) {
        const ExprPtr slot = r * plan_.register_columns + c;
        return Store(sums_, slot,
                     Combine(Combiner::kSum, lowering_.Load(sums_, slot),
                             lowering_.Load(a_part_, r) * lowering_.Load(b_part_, c)));
      });
    });
    return For(
        var, IntExpr(plan_.k_step), LoopKind::kUnrolled,
        Block({read(a_, a_part_, plan_.register_rows, RowsApart(), row_),
               read(b_, b_part_, plan_.register_columns, ColumnsApart(), column_), products}));
  }

  std::int64_t RowsApart() const { return warp_.down * a_.strip(); }
  std::int64_t ColumnsApart() const { return warp_.across * b_.strip(); }

  StmtPtr Tile() {
    std::vector<StmtPtr> all;
    all.push_back(
        Unrolled(lowering_, "s", plan_.register_rows * plan_.register_columns,
                 [&](const ExprPtr& s) { return Store(sums_, s, Constant(0, p_.accumulator)); }));
    const std::int64_t steps = c_.Steps(plan_), own = kindred::CeilDiv(steps, plan_.splits);
    const ExprPtr first = Value("first", split_ * own, all);
    const ExprPtr count = steps % plan_.splits == 0
                              ? IntExpr(own)
                              : Value("steps", Minimum(IntExpr(steps) - first, IntExpr(own)), all);
    if (plan_.Async())
      Pipeline(first, count, all);
    else if (plan_.stages == 2)
      DoubleBuffer(first, count, all);
    else
      SingleBuffer(first, count, all);
    all.push_back(Results());
    return Block(std::move(all));
  }

  void SingleBuffer(const ExprPtr& first, const ExprPtr& count, std::vector<StmtPtr>& all) {
    const ExprPtr zero = IntExpr(0);
    const int var = lowering_.program.AddVar("step");
    const ExprPtr at = first + VarExpr(var);
    all.push_back(For(var, count, LoopKind::kSerial,
                      Block({a_.Fetch(at), b_.Fetch(at), Barrier(), a_.Commit(zero),
                             b_.Commit(zero), Barrier(), Multiply(zero)})));
  }

  // The next tile is on its way from global memory while this one is multiplied.
  void DoubleBuffer(const ExprPtr& first, const ExprPtr& count, std::vector<StmtPtr>& all) {
    const ExprPtr zero = IntExpr(0);
    all.insert(all.end(),
               {a_.Fetch(first), b_.Fetch(first), a_.Commit(zero), b_.Commit(zero), Barrier()});
    const int var = lowering_.program.AddVar("step");
    const ExprPtr step = VarExpr(var), at = first + (step + 1);
    const ExprPtr next = (step + 1) % IntExpr(2), more = LessThan(step + 1, count);
    all.push_back(
        For(var, count, LoopKind::kSerial,
            Block({If(more, Block({a_.Fetch(at), b_.Fetch(at)})), Multiply(step % IntExpr(2)),
                   If(more, Block({a_.Commit(next), b_.Commit(next)})), Barrier()})));
  }

  // stages - 1 tiles are under way by cp.async; a stage is filled again when all have left it.
  void Pipeline(const ExprPtr& first, const ExprPtr& count, std::vector<StmtPtr>& all) {
    const std::int64_t ahead = plan_.stages - 1;
    for (std::int64_t s = 0; s < ahead; ++s) {
      const ExprPtr stage = IntExpr(s), at = first + stage;
      all.push_back(If(LessThan(stage, count), Block({a_.Copy(at, stage), b_.Copy(at, stage)})));
      all.push_back(CommitCopies());
    }
    const int var = lowering_.program.AddVar("step");
    const ExprPtr step = VarExpr(var), far = step + ahead;
    const ExprPtr into = far % IntExpr(plan_.stages);
    all.push_back(For(var, count, LoopKind::kSerial,
                      Block({WaitCopies(static_cast<int>(ahead - 1)), Barrier(),
                             If(LessThan(far, count),
                                Block({a_.Copy(first + far, into), b_.Copy(first + far, into)})),
                             CommitCopies(), Multiply(step % IntExpr(plan_.stages))})));
  }

  // Every strip of the thread: make(row, column of its first element, slot of that).
  StmtPtr Results() {
    const std::int64_t strip = b_.strip();
    return Unrolled(lowering_, "r", plan_.register_rows, [&](const ExprPtr& r) {
      std::vector<StmtPtr> rows;
      const ExprPtr own = r / IntExpr(a_.strip()) * RowsApart() + r % IntExpr(a_.strip());
      const ExprPtr row = Value("row_at", a_.origin() + row_ + own, rows);
      rows.push_back(
          Unrolled(lowering_, "c", plan_.register_columns / strip, [&](const ExprPtr& c) {
            std::vector<StmtPtr> all;
            const ExprPtr column =
                Value("column_at", b_.origin() + column_ + c * ColumnsApart(), all);
            const ExprPtr slot = r * plan_.register_columns + c * strip;
            all.push_back(Strip(row, column, slot));
            return Block(std::move(all));
          }));
      return Block(std::move(rows));
    });
  }

  StmtPtr Strip(const ExprPtr& row, const ExprPtr& column, const ExprPtr& slot) {
    const bool whole = plan_.splits > 1 ? b_.all() % b_.strip() == 0 : lanes_ > 1;
    const std::int64_t lanes = whole ? b_.strip() : 1;
    return Unrolled(lowering_, "e", b_.strip() / lanes, [&](const ExprPtr& e) {
      std::vector<StmtPtr> all;
      const ExprPtr at = Value("element", column + e, all);
      const auto value = [&](const ExprPtr& lane) {
        return lowering_.Load(sums_, slot + e + lane);
      };
      ExprPtr inside;
      if (a_.all() % a_.tile() != 0) inside = LessThan(row, IntExpr(a_.all()));
      if (b_.all() % b_.tile() != 0) {
        const ExprPtr own = LessThan(at, IntExpr(b_.all()));
        inside = inside ? BinaryExpr(Op::kAnd, inside, own) : own;
      }
      StmtPtr work =
          plan_.splits > 1 ? Partial(row, at, lanes, value) : Final(axes_, row, at, lanes, value);
      all.push_back(inside ? If(inside, std::move(work)) : std::move(work));
      return Block(std::move(all));
    });
  }

  using LaneValue = std::function<ExprPtr(const ExprPtr& lane)>;

  // The product's value, through the stages after it, to the outputs.
  StmtPtr Final(std::vector<ExprPtr> axes, const ExprPtr& row, const ExprPtr& column,
                std::int64_t lanes, const LaneValue& value) {
    std::vector<StmtPtr> all;
    Spread(lowering_, c_, row, c_.groups.rows, axes, all);
    Spread(lowering_, c_, column, c_.groups.columns, axes, all);
    all.push_back(epilogue_.Emit(axes, p_.x, lanes, value));
    return Block(std::move(all));
  }

  ExprPtr PartialIndex(const ExprPtr& part, const ExprPtr& batch, const ExprPtr& row,
                       const ExprPtr& column) const {
    return ((part * batch_ + batch) * a_.all() + row) * b_.all() + column;
  }

  StmtPtr Partial(const ExprPtr& row, const ExprPtr& column, std::int64_t lanes,
                  const LaneValue& value) {
    const int var = lowering_.program.AddVar("v");
    const ExprPtr lane = lanes > 1 ? VarExpr(var) : IntExpr(0);
    return VectorStatement(var, lanes, value(lane), [&](const ExprPtr& settled) {
      return Store(partial_, PartialIndex(split_, flat_batch_, row, column) + lane, settled);
    });
  }

  // The second launch: parts are added in order.
  StmtPtr SumOfParts() {
    const int total = lowering_.AddRegisters("total", p_.accumulator, lanes_);
    const ExprPtr extents[] = {IntExpr(batch_), IntExpr(a_.all()), IntExpr(b_.all() / lanes_)};
    const std::string names[] = {"batch", "row", "chunk"};
    const std::int64_t chunks = batch_ * a_.all() * (b_.all() / lanes_);
    return Launch(
        lowering_, IntExpr(kindred::CeilDiv(chunks, kPointwiseThreads)), kPointwiseThreads,
        [&](const ExprPtr& block, const ExprPtr& thread) {
          std::vector<StmtPtr> all, inside;
          const ExprPtr index = Value("index", block * kPointwiseThreads + thread, all);
          const auto at = Decompose(lowering_, index, extents, names, inside);
          const ExprPtr column = Value("column", at[2] * lanes_, inside);
          const auto part = [&](const ExprPtr& s, bool first) {
            const int var = lowering_.program.AddVar("v");
            const ExprPtr lane = lanes_ > 1 ? VarExpr(var) : IntExpr(0);
            ExprPtr value = lowering_.Load(partial_, PartialIndex(s, at[0], at[1], column) + lane);
            if (!first) value = Combine(Combiner::kSum, lowering_.Load(total, lane), value);
            return VectorStatement(var, lanes_, value, [&](const ExprPtr& settled) {
              return Store(total, lane, settled);
            });
          };
          inside.push_back(part(IntExpr(0), true));
          inside.push_back(Unrolled(lowering_, "part", plan_.splits - 1,
                                    [&](const ExprPtr& s) { return part(s + 1, false); }));
          std::vector<ExprPtr> axes(p_.extents.size(), IntExpr(0));
          Spread(lowering_, c_, at[0], c_.groups.batch, axes, inside);
          inside.push_back(Final(axes, at[1], column, lanes_,
                                 [&](const ExprPtr& lane) { return lowering_.Load(total, lane); }));
          all.push_back(If(LessThan(index, IntExpr(chunks)), Block(std::move(inside))));
          return Block(std::move(all));
        });
  }

  const CudaContraction& c_;
  const ContractionPattern& p_;
  const CudaContractionPlan& plan_;
  Lowering lowering_;
  WarpShape warp_;
  OperandTile a_, b_;
  Epilogue epilogue_;
  std::int64_t batch_, lanes_ = 1;  // lanes_: neighbours along x that the outputs take at once
  int sums_ = -1, a_part_ = -1, b_part_ = -1, partial_ = -1;
  std::vector<ExprPtr> axes_;
  ExprPtr split_, flat_batch_, row_, column_;
};

}  // namespace

Program LowerCudaContraction(const CudaContraction& contraction, const CudaContractionPlan& plan) {
  return Lowerer(contraction, plan).Run();
}

}  // namespace kindred::internal
