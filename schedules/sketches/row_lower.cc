#include "schedules/sketches/row_lower.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/tiles.h"
#include "schedules/sketches/row_arg.h"

namespace kindred::internal {
namespace {

constexpr std::int64_t kStackBytes = 64 << 10;

std::size_t At(int i) { return static_cast<std::size_t>(i); }

class RowLowering {
 public:
  RowLowering(const Workload& w, const RowPlan& plan, const RowChoices& choices,
              const Target& target)
      : w_(w), plan_(plan), choices_(choices), target_(target), lowering_(w) {
    for (const Stage& s : w.stages) bodies_.push_back(GuardPadding(w, s));
  }

  Program Run() {
    MakeRowBuffers(choices_.rows);
    row_values_.resize(At(plan_.row_axes));
    lowering_.program.body = RowLoops(0);
    return std::move(lowering_.program);
  }

 private:
  // Temporaries hold the rows in work: one value each in registers, else an array each.
  void MakeRowBuffers(std::int64_t rows) {
    for (const Stage& s : w_.stages) {
      const Tensor& t = w_.tensors[At(s.tensor)];
      if (t.role != Role::kTemporary) continue;
      int& buffer = lowering_.buffer_of_tensor[At(s.tensor)];
      if (s.spatial == plan_.row_axes) {
        buffer = lowering_.AddRegisters(t.name, t.type, rows);
        continue;
      }
      std::int64_t elements = rows;
      for (int a = plan_.row_axes; a < s.spatial; ++a)
        elements *= CapacityOf(w_, s.axes[At(a)].extent);
      const bool small = elements * ByteSize(t.type) <= kStackBytes / 2;
      in_workspace_ |= !small;
      buffer = lowering_.program.AddBuffer(
          {t.name, t.type, elements, small ? Scope::kStack : Scope::kWorkspace, -1, ""});
    }
  }

  bool IsRowLocal(int tensor) const {
    return w_.tensors[At(tensor)].role == Role::kTemporary && w_.ProducerOf(tensor) != nullptr;
  }

  // Element of a row-local temporary at `indices` (all dimensions), in row `row_` of those in work.
  ExprPtr RowIndex(int tensor, std::span<const ExprPtr> indices) const {
    const Tensor& t = w_.tensors[At(tensor)];
    ExprPtr flat = IntExpr(0), stride = IntExpr(1);
    for (std::size_t d = indices.size(); d-- > At(plan_.row_axes);) {
      flat = indices[d] * stride + flat;
      stride = stride * ExtentValue(t.shape[d]);
    }
    return row_ * stride + flat;
  }

  LoadRule Loads() {
    return [this](int tensor, std::span<const ExprPtr> indices, DataType type) {
      const ExprPtr index = IsRowLocal(tensor) ? RowIndex(tensor, indices)
                                               : FlatIndex(w_.tensors[At(tensor)], indices);
      return LoadExpr(lowering_.BufferOf(tensor), {index}, type);
    };
  }

  StmtPtr StoreTo(const Stage& s, std::span<const ExprPtr> indices, ExprPtr value) {
    const Tensor& t = w_.tensors[At(s.tensor)];
    const ExprPtr index =
        IsRowLocal(s.tensor) ? RowIndex(s.tensor, indices) : FlatIndex(t, indices);
    return Store(lowering_.BufferOf(s.tensor), index, CastExpr(t.type, std::move(value)));
  }

  StmtPtr RowLoops(int axis) {
    if (axis == plan_.row_axes) return Rows(1);
    const Axis& a = w_.stages[0].axes[At(axis)];
    const LoopKind kind = axis == 0 && target_.threads > 1 && !in_workspace_ ? LoopKind::kParallel
                                                                             : LoopKind::kSerial;
    if (axis + 1 < plan_.row_axes) {
      const int var = lowering_.program.AddVar(a.name);
      row_values_[At(axis)] = VarExpr(var);
      return For(var, ExtentValue(a.extent), kind, RowLoops(axis + 1));
    }
    std::vector<std::int64_t> sizes = {choices_.rows};
    if (choices_.rows > 1) sizes.push_back(1);
    return SplitLoop(lowering_, a.name, ExtentValue(a.extent), sizes, kind,
                     [&](const ExprPtr& base, std::int64_t rows) {
                       row_values_[At(axis)] = base;
                       return Rows(rows);
                     });
  }

  // All passes for `rows` rows side by side.
  StmtPtr Rows(std::int64_t rows) {
    std::vector<StmtPtr> passes;
    for (const RowPass& pass : plan_.passes) passes.push_back(Pass(pass, rows));
    return Block(std::move(passes));
  }

  // `make` sees row_ and the row axes' values of each row; the loop over rows is unrolled.
  StmtPtr ForRows(std::int64_t rows, const std::function<StmtPtr(std::vector<ExprPtr>)>& make) {
    std::vector<ExprPtr> values = row_values_;
    if (rows == 1) {
      row_ = IntExpr(0);
      return make(std::move(values));
    }
    const int var = lowering_.program.AddVar("row");
    row_ = VarExpr(var);
    values.back() = values.back() + row_;
    return For(var, IntExpr(rows), LoopKind::kUnrolled, make(std::move(values)));
  }

  StmtPtr Pass(const RowPass& pass, std::int64_t rows) {
    const int s = pass.stages[0];
    const Stage& stage = w_.stages[At(s)];
    const auto store = [&](std::span<const ExprPtr> indices, ExprPtr value) {
      return StoreTo(stage, indices, std::move(value));
    };
    switch (pass.kind) {
      case PassKind::kScalar:
        return ForRows(rows, [&](const std::vector<ExprPtr>& values) {
          return store(values, LowerBody(bodies_[At(s)], values, Loads()));
        });
      case PassKind::kTile:
        return ForRows(rows, [&](const std::vector<ExprPtr>& values) {
          StageTile tile;
          tile.vectors = choices_.vectors;
          tile.lanes = LanesFor(target_, stage, w_.tensors[At(stage.tensor)].type);
          return TiledStage(lowering_, stage, tile, values, Loads(), store);
        });
      case PassKind::kArg:
        return ForRows(rows, [&](const std::vector<ExprPtr>& values) { return Arg(s, values); });
      case PassKind::kColumns: return Columns(pass, rows);
    }
    return Block({});
  }

  // Every lane finds its own best and the block of columns it stood in; then the first of the best
  // lanes is taken, and the columns left over are compared one by one.
  StmtPtr Arg(int s, std::vector<ExprPtr> values) {
    const Stage& stage = w_.stages[At(s)];
    const Axis& columns = stage.axes[At(stage.spatial)];
    std::vector<LoopSpec> outer;
    for (int a = plan_.row_axes; a < stage.spatial; ++a) {
      const int var = lowering_.program.AddVar(stage.axes[At(a)].name);
      outer.push_back({var, ExtentValue(stage.axes[At(a)].extent)});
      values.push_back(VarExpr(var));
    }
    const std::vector<ExprPtr> point = values;
    values.emplace_back();
    const ExprPtr zero = IntExpr(0), extent = ExtentValue(columns.extent);
    const ArgRegisters found = AddArgRegisters(lowering_, stage, 1);
    const auto step = [&](const ArgRegisters& into, const ExprPtr& slot, const ExprPtr& column,
                          const ExprPtr& position) {
      values.back() = column;
      return ArgStep(lowering_, into, stage.combiner, slot,
                     LowerBody(bodies_[At(s)], values, Loads()), position);
    };
    std::vector<StmtPtr> all = {ArgStart(lowering_, found, stage.combiner, zero)};
    const std::int64_t lanes = LanesFor(target_, stage, w_.tensors[At(stage.tensor)].type);
    const bool known = columns.extent.symbol < 0;
    ExprPtr whole = zero;
    if (lanes > 1 && !(known && columns.extent.value < lanes)) {
      std::int64_t vectors = choices_.vectors;
      while (known && vectors > 1 && vectors * lanes > columns.extent.value) vectors /= 2;
      const ArgRegisters wide = AddArgRegisters(lowering_, stage, vectors * lanes);
      all.push_back(
          EachVector(lowering_.program, vectors, lanes, [&](const ExprPtr&, const ExprPtr& slot) {
            return ArgStart(lowering_, wide, stage.combiner, slot);
          }));
      whole = extent / IntExpr(lanes) * lanes;
      const std::int64_t sizes[] = {vectors * lanes, lanes};
      all.push_back(SplitLoop(lowering_, columns.name, whole, sizes, LoopKind::kSerial,
                              [&](const ExprPtr& base, std::int64_t size) {
                                return EachVector(lowering_.program, size / lanes, lanes,
                                                  [&](const ExprPtr& u, const ExprPtr& slot) {
                                                    return step(wide, slot, base + slot,
                                                                base / IntExpr(lanes) + u);
                                                  });
                              }));
      all.push_back(JoinLanes(lowering_, stage.combiner, wide, found, vectors, lanes));
    }
    const std::int64_t one[] = {1};
    all.push_back(SplitLoop(lowering_, columns.name, extent - whole, one, LoopKind::kSerial,
                            [&](const ExprPtr& base, std::int64_t) {
                              return step(found, zero, whole + base, whole + base);
                            }));
    all.push_back(StoreTo(stage, point, lowering_.Load(found.position, zero)));
    return Nest(outer, Block(std::move(all)));
  }

  struct Accumulators {
    int stage = -1;
    int vector = -1;  // registers [rows][vectors][lanes]; -1: the columns never fill a vector
    int scalar = -1;  // [rows]: tails, then the total
  };

  StmtPtr Columns(const RowPass& pass, std::int64_t rows) {
    const Stage& first = w_.stages[At(pass.stages[0])];
    const Axis& vector_axis = first.axes[At(pass.vector_axis)];
    std::int64_t lanes = target_.vector_bytes;
    for (const int s : pass.stages)
      lanes = std::min<std::int64_t>(
          lanes, LanesFor(target_, w_.stages[At(s)], w_.tensors[At(w_.stages[At(s)].tensor)].type));
    const bool known = vector_axis.extent.symbol < 0;
    while (known && lanes > 1 && lanes > vector_axis.extent.value) lanes /= 2;
    std::int64_t vectors = choices_.vectors;
    while (known && vectors > 1 && vectors * lanes > vector_axis.extent.value) vectors /= 2;

    std::vector<Accumulators> accumulators;
    std::vector<StmtPtr> before, after;
    for (const int s : pass.stages) {
      const Stage& stage = w_.stages[At(s)];
      if (stage.combiner == Combiner::kNone) continue;
      Accumulators acc{s, -1, lowering_.AddRegisters("total", stage.accumulator, rows)};
      if (lanes > 1)
        acc.vector = lowering_.AddRegisters("acc", stage.accumulator, rows * vectors * lanes);
      accumulators.push_back(acc);
      before.push_back(Initialise(stage, acc, rows, vectors, lanes));
      after.push_back(Finish(stage, acc, rows, vectors, lanes));
    }

    // Values of the pass's axes; the row axes come from ForRows inside.
    std::vector<ExprPtr> values(first.axes.size());
    std::vector<LoopSpec> outer, loops;
    const auto loop = [&](int axis, std::vector<LoopSpec>& into) {
      const int var = lowering_.program.AddVar(first.axes[At(axis)].name);
      values[At(axis)] = VarExpr(var);
      into.push_back({var, ExtentValue(first.axes[At(axis)].extent)});
    };
    for (const int axis : pass.outer) loop(axis, outer);
    for (const int axis : pass.columns)
      if (axis != pass.vector_axis) loop(axis, loops);
    outer_values_ = values;
    // Finish needs the outer axes' values: made after the loops are known.
    for (std::size_t i = 0; i < accumulators.size(); ++i)
      after.push_back(StoreTotal(accumulators[i], rows));

    const auto tiles = VectorTiles(vectors, lanes);
    const StmtPtr body = SplitLoop(lowering_, vector_axis.name, ExtentValue(vector_axis.extent),
                                   accumulators.empty() ? WithNarrowTails(tiles) : tiles,
                                   LoopKind::kSerial, [&](const ExprPtr& base, std::int64_t size) {
                                     const std::int64_t width = std::min(size, lanes);
                                     return Step(pass, accumulators, values, base, rows,
                                                 size / width, width, vectors);
                                   });
    std::vector<StmtPtr> all = std::move(before);
    all.push_back(Nest(loops, body));
    all.insert(all.end(), after.begin(), after.end());
    return Nest(outer, Block(std::move(all)));
  }

  // rows x count x width points of every stage of the pass.
  StmtPtr Step(const RowPass& pass, const std::vector<Accumulators>& accumulators,
               std::vector<ExprPtr> values, const ExprPtr& base, std::int64_t rows,
               std::int64_t count, std::int64_t width, std::int64_t vectors) {
    return ForRows(rows, [&](const std::vector<ExprPtr>& row_values) {
      std::copy(row_values.begin(), row_values.end(), values.begin());
      std::vector<LoopSpec> inside;
      ExprPtr column = base, slot = row_ * (vectors * width);
      if (count > 1) {
        const int u = lowering_.program.AddVar("u");
        inside.push_back({u, IntExpr(count), LoopKind::kUnrolled});
        column = column + VarExpr(u) * width;
        slot = slot + VarExpr(u) * width;
      }
      if (width > 1) {
        const int v = lowering_.program.AddVar("v");
        inside.push_back({v, IntExpr(width), LoopKind::kVectorized});
        column = column + VarExpr(v);
        slot = slot + VarExpr(v);
      }
      values[At(pass.vector_axis)] = column;
      std::vector<StmtPtr> stores;
      for (const int s : pass.stages) {
        const Stage& stage = w_.stages[At(s)];
        const std::vector<ExprPtr> at(
            values.begin(), values.begin() + static_cast<std::ptrdiff_t>(stage.axes.size()));
        const ExprPtr body = LowerBody(bodies_[At(s)], at, Loads());
        if (stage.combiner == Combiner::kNone) {
          stores.push_back(StoreTo(stage, at, body));
          continue;
        }
        const auto acc = std::find_if(accumulators.begin(), accumulators.end(),
                                      [s](const Accumulators& a) { return a.stage == s; });
        const int buffer = width > 1 ? acc->vector : acc->scalar;
        const ExprPtr index = width > 1 ? slot : row_;
        stores.push_back(
            Store(buffer, index, Combine(stage.combiner, lowering_.Load(buffer, index), body)));
      }
      return Nest(inside, stores.size() == 1 ? stores[0] : Block(std::move(stores)));
    });
  }

  StmtPtr Initialise(const Stage& stage, const Accumulators& acc, std::int64_t rows,
                     std::int64_t vectors, std::int64_t lanes) {
    const ExprPtr neutral = InitialValue(stage.combiner, stage.accumulator);
    const int r = lowering_.program.AddVar("r");
    std::vector<StmtPtr> parts = {
        For(r, IntExpr(rows), LoopKind::kUnrolled, Store(acc.scalar, VarExpr(r), neutral))};
    if (acc.vector >= 0) {
      const int u = lowering_.program.AddVar("u"), v = lowering_.program.AddVar("v");
      parts.push_back(For(u, IntExpr(rows * vectors), LoopKind::kUnrolled,
                          For(v, IntExpr(lanes), LoopKind::kVectorized,
                              Store(acc.vector, VarExpr(u) * lanes + VarExpr(v), neutral))));
    }
    return Block(std::move(parts));
  }

  // Adds up the vectors of each row, then their lanes.
  StmtPtr Finish(const Stage& stage, const Accumulators& acc, std::int64_t rows,
                 std::int64_t vectors, std::int64_t lanes) {
    if (acc.vector < 0) return Block({});
    const int r = lowering_.program.AddVar("r"), l = lowering_.program.AddVar("l");
    const ExprPtr first = VarExpr(r) * (vectors * lanes);
    std::vector<StmtPtr> parts;
    if (vectors > 1) {
      const int u = lowering_.program.AddVar("u"), v = lowering_.program.AddVar("v");
      const ExprPtr into = first + VarExpr(v);
      const ExprPtr from = first + (VarExpr(u) + 1) * lanes + VarExpr(v);
      parts.push_back(For(u, IntExpr(vectors - 1), LoopKind::kUnrolled,
                          For(v, IntExpr(lanes), LoopKind::kVectorized,
                              Store(acc.vector, into,
                                    Combine(stage.combiner, lowering_.Load(acc.vector, into),
                                            lowering_.Load(acc.vector, from))))));
    }
    parts.push_back(For(l, IntExpr(lanes), LoopKind::kUnrolled,
                        Store(acc.scalar, VarExpr(r),
                              Combine(stage.combiner, lowering_.Load(acc.scalar, VarExpr(r)),
                                      lowering_.Load(acc.vector, first + VarExpr(l))))));
    return For(r, IntExpr(rows), LoopKind::kUnrolled, Block(std::move(parts)));
  }

  StmtPtr StoreTotal(const Accumulators& acc, std::int64_t rows) {
    const Stage& stage = w_.stages[At(acc.stage)];
    return ForRows(rows, [&](std::vector<ExprPtr> values) {
      for (int a = plan_.row_axes; a < stage.spatial; ++a) values.push_back(outer_values_[At(a)]);
      return StoreTo(stage, values, lowering_.Load(acc.scalar, row_));
    });
  }

  const Workload& w_;
  const RowPlan& plan_;
  const RowChoices& choices_;
  const Target& target_;
  Lowering lowering_;
  std::vector<ExprPtr> bodies_;
  std::vector<ExprPtr> row_values_;    // of the row axes: the first row in work
  std::vector<ExprPtr> outer_values_;  // of the pass in work
  ExprPtr row_;                        // which of the rows in work
  bool in_workspace_ = false;
};

}  // namespace

Program LowerRows(const Workload& workload, const RowPlan& plan, const RowChoices& choices,
                  const Target& target) {
  return RowLowering(workload, plan, choices, target).Run();
}

}  // namespace kindred::internal
