// The row CUDA sketch: reductions, softmax, layer and RMS normalisation, argmax. Stages share their
// leading axes, the rows; every reduction gives one value per row. A group of neighbouring threads
// owns a row: part of a warp, a warp, or a whole block; what belongs to a row stays in registers.
// Pointwise temporaries with columns are computed where they are read.
//
// Decisions: threads that own a row; threads per block where several rows share one.
#include <algorithm>
#include <utility>

#include "schedules/internal/inline_stages.h"
#include "schedules/internal/path.h"
#include "schedules/sketch.h"
#include "schedules/sketches/cuda_common.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

std::size_t At(int i) { return static_cast<std::size_t>(i); }

Workload WithoutColumnTemporaries(const Workload& workload) {
  std::vector<bool> chosen;
  for (const Stage& s : workload.stages) chosen.push_back(CanInline(workload, s));
  // Values of a row are computed once.
  int rows = -1;
  for (const Stage& s : workload.stages)
    if (s.combiner != Combiner::kNone) rows = rows < 0 ? s.spatial : std::min(rows, s.spatial);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (workload.stages[i].spatial <= rows) chosen[i] = false;
  return InlineStages(workload, chosen);
}

// Rows: leading axes of all stages. nullopt: the workload is not made of rows.
std::optional<int> RowAxes(const Workload& w) {
  const Stage* reduction = nullptr;
  for (const Stage& s : w.stages) {
    if (s.combiner == Combiner::kNone) continue;
    if (reduction && reduction->spatial != s.spatial) return std::nullopt;
    const DataType a = s.accumulator;
    if (a != DataType::kF32 && a != DataType::kF64 && a != DataType::kI32 && a != DataType::kI64 &&
        a != DataType::kC64)
      return std::nullopt;
    reduction = &s;
  }
  if (reduction == nullptr) return std::nullopt;
  const int rows = reduction->spatial;
  for (const Stage& s : w.stages) {
    if (s.spatial < rows) return std::nullopt;
    for (int a = 0; a < rows; ++a)
      if (!(s.axes[At(a)].extent == reduction->axes[At(a)].extent)) return std::nullopt;
    bool own = true;
    Visit(*s.body, [&](const Expr& e) {
      if (e.op != Op::kLoad || w.ProducerOf(e.index) == nullptr) return;
      own = own && static_cast<int>(e.args.size()) == rows;
      for (std::size_t a = 0; own && a < e.args.size(); ++a)
        own = SameExpr(*e.args[a], *VarExpr(static_cast<int>(a)));
    });
    if (!own) return std::nullopt;
  }
  return rows;
}

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
  RowLowering(const Workload& w, int rows, std::int64_t owners, std::int64_t threads)
      : w_(w), row_axes_(At(rows)), owners_(owners), threads_(threads), lowering_(w) {}

  Program Run() {
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    for (std::size_t a = 0; a < row_axes_; ++a) {
      extents.push_back(ExtentValue(w_.stages[0].axes[a].extent));
      names.push_back(w_.stages[0].axes[a].name);
    }
    const ExprPtr rows = Product(extents);
    const std::int64_t rows_per_block = threads_ / owners_;
    lowering_.program.body =
        Launch(lowering_, CeilDiv(rows, rows_per_block), threads_,
               [&](const ExprPtr& block, const ExprPtr& thread) {
                 std::vector<StmtPtr> all;
                 thread_ = thread;
                 lane_ = Bound(lowering_, "lane", thread % IntExpr(owners_), all);
                 const ExprPtr row = Bound(lowering_, "row",
                                           block * rows_per_block + thread / IntExpr(owners_), all);
                 inside_ = BinaryExpr(Op::kLess, row, rows);
                 // Threads beyond the last row work on it too, and store nothing: all meet.
                 const ExprPtr safe =
                     Bound(lowering_, "own_row", BinaryExpr(Op::kMin, row, rows + (-1)), all);
                 values_ = Decompose(lowering_, safe, extents, names, all);
                 for (const Stage& s : w_.stages) all.push_back(OfStage(s));
                 return Block(std::move(all));
               });
    return std::move(lowering_.program);
  }

 private:
  LoadRule Loads() {
    return [this, direct = lowering_.RowMajor()](int tensor, std::span<const ExprPtr> indices,
                                                 DataType type) {
      for (const auto& [id, buffer] : kept_)
        if (id == tensor) return lowering_.Load(buffer, IntExpr(0));
      return direct(tensor, indices, type);
    };
  }

  // make(value of every axis) for the columns of this thread: each owner takes every owners_-th.
  StmtPtr Columns(const Stage& s,
                  const std::function<StmtPtr(const std::vector<ExprPtr>&, const ExprPtr&)>& make) {
    std::vector<ExprPtr> extents;
    std::vector<std::string> names;
    for (std::size_t a = row_axes_; a < s.axes.size(); ++a) {
      extents.push_back(ExtentValue(s.axes[a].extent));
      names.push_back(s.axes[a].name);
    }
    const ExprPtr count = Product(extents);
    const int round = lowering_.program.AddVar("round");
    std::vector<StmtPtr> all, inside;
    const ExprPtr column = Bound(lowering_, "column", VarExpr(round) * owners_ + lane_, all);
    std::vector<ExprPtr> at = values_;
    for (ExprPtr& value : Decompose(lowering_, column, extents, names, inside))
      at.push_back(std::move(value));
    inside.push_back(make(at, column));
    all.push_back(If(BinaryExpr(Op::kLess, column, count), Block(std::move(inside))));
    return For(round, CeilDiv(count, owners_), LoopKind::kSerial, Block(std::move(all)), 4);
  }

  StmtPtr OfStage(const Stage& s) {
    const ExprPtr body = GuardPadding(w_, s);
    if (s.combiner == Combiner::kNone && At(s.spatial) > row_axes_)
      return Columns(s, [&](const std::vector<ExprPtr>& at, const ExprPtr&) {
        return If(inside_, lowering_.StoreResult(s, at, LowerBody(body, at, Loads())));
      });
    if (s.combiner == Combiner::kNone) return Keep(s, LowerBody(body, values_, Loads()));
    const ExprPtr zero = IntExpr(0);
    if (IsArg(s.combiner)) {
      const ArgRegisters found = AddArgRegisters(lowering_, s, 1);
      std::vector<StmtPtr> all = {ArgStart(lowering_, found, s.combiner, zero)};
      all.push_back(Columns(s, [&](const std::vector<ExprPtr>& at, const ExprPtr& column) {
        return ArgStep(lowering_, found, s.combiner, zero, LowerBody(body, at, Loads()), column);
      }));
      if (owners_ > 1)
        all.push_back(CombineThreads(found.best, zero, CombineOp(s.combiner),
                                     static_cast<int>(owners_), found.position));
      all.push_back(Keep(s, lowering_.Load(found.position, zero)));
      return Block(std::move(all));
    }
    const int acc = lowering_.AddRegisters("acc", s.accumulator, 1);
    const ExprPtr total = lowering_.Load(acc, zero);
    std::vector<StmtPtr> all = {Store(acc, zero, InitialValue(s.combiner, s.accumulator))};
    all.push_back(Columns(s, [&](const std::vector<ExprPtr>& at, const ExprPtr&) {
      return Store(acc, zero, Combine(s.combiner, total, LowerBody(body, at, Loads())));
    }));
    const std::int64_t width = std::min<std::int64_t>(owners_, kWarp);
    if (width > 1)
      all.push_back(CombineThreads(acc, zero, CombineOp(s.combiner), static_cast<int>(width)));
    if (owners_ > kWarp) all.push_back(AcrossWarps(s, acc));
    all.push_back(Keep(s, total));
    return Block(std::move(all));
  }

  // The warps of a block put their totals side by side, and every thread adds them up.
  StmtPtr AcrossWarps(const Stage& s, int acc) {
    const std::int64_t warps = owners_ / kWarp;
    const int totals =
        lowering_.program.AddBuffer({"totals", s.accumulator, warps, Scope::kShared, -1, ""});
    const ExprPtr zero = IntExpr(0), total = lowering_.Load(acc, zero);
    const int other = lowering_.program.AddVar("warp");
    return Block(
        {If(BinaryExpr(Op::kEqual, thread_ % IntExpr(kWarp), zero),
            Store(totals, thread_ / IntExpr(kWarp), total)),
         Barrier(), Store(acc, zero, lowering_.Load(totals, zero)),
         For(other, IntExpr(warps - 1), LoopKind::kUnrolled,
             Store(acc, zero,
                   Combine(s.combiner, total, lowering_.Load(totals, VarExpr(other) + 1))))});
  }

  // A value of the row: for later stages in a register, as the tensor would round it; an output is
  // stored by the first owner.
  StmtPtr Keep(const Stage& s, const ExprPtr& value) {
    const Tensor& t = w_.tensors[At(s.tensor)];
    const int buffer = lowering_.AddRegisters(t.name, t.type, 1);
    kept_.emplace_back(s.tensor, buffer);
    std::vector<StmtPtr> all = {Store(buffer, IntExpr(0), CastExpr(t.type, value))};
    if (t.role == Role::kOutput)
      all.push_back(If(BinaryExpr(Op::kAnd, inside_, BinaryExpr(Op::kEqual, lane_, IntExpr(0))),
                       lowering_.StoreResult(s, values_, lowering_.Load(buffer, IntExpr(0)))));
    return Block(std::move(all));
  }

  static constexpr std::int64_t kWarp = 32;

  const Workload& w_;
  std::size_t row_axes_;
  std::int64_t owners_, threads_;
  Lowering lowering_;
  ExprPtr thread_, lane_, inside_;
  std::vector<ExprPtr> values_;            // of the row axes
  std::vector<std::pair<int, int>> kept_;  // tensor, register buffer
};

class CudaRowSketch : public Sketch {
 public:
  CudaRowSketch(Workload workload, int rows) : workload_(std::move(workload)), rows_(rows) {
    for (const Stage& s : workload_.stages) {
      arg_ |= IsArg(s.combiner);
      std::int64_t columns = 1;
      for (std::size_t a = At(rows_); a < s.axes.size(); ++a)
        columns *= CapacityOf(workload_, s.axes[a].extent);
      columns_ = std::max(columns_, columns);
    }
  }

  std::string_view name() const override { return "rows"; }

  std::optional<Decision> Next(const Path& path) const override {
    if (!Find(path, "owners"))
      return Offer(
          "owners", {32, 128, 256, 512, 8, 1},
          [this](std::int64_t n) { return n <= kWarp || (!arg_ && n < 2 * columns_); }, kWarp);
    if (Value(path, "owners") <= kWarp && !Find(path, "threads"))
      return Decision{"threads", {128, 64, 256}, {}};
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    const std::int64_t owners = Value(path, "owners");
    return RowLowering(workload_, rows_, owners, Value(path, "threads", owners)).Run();
  }

 private:
  static constexpr std::int64_t kWarp = 32;

  Workload workload_;
  int rows_;
  std::int64_t columns_ = 1;
  bool arg_ = false;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaRowSketch(const Workload& workload, const Target&) {
  Workload inlined = WithoutColumnTemporaries(workload);
  const auto rows = RowAxes(inlined);
  if (!rows) return nullptr;
  return std::make_unique<CudaRowSketch>(std::move(inlined), *rows);
}

}  // namespace kindred
