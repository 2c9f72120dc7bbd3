#include "schedules/sketches/cuda_contraction_tile.h"

#include <algorithm>
#include <utility>

#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/cuda_common.h"

namespace kindred::internal {

void Spread(Lowering& lowering, const CudaContraction& contraction, const ExprPtr& flat,
            const std::vector<int>& axes, std::vector<ExprPtr>& values,
            std::vector<StmtPtr>& lets) {
  const Stage& anchor =
      contraction.workload->stages[static_cast<std::size_t>(contraction.pattern.anchor)];
  std::vector<ExprPtr> extents;
  std::vector<std::string> names;
  for (const int axis : axes) {
    extents.push_back(IntExpr(contraction.pattern.Extent(axis)));
    names.push_back(anchor.axes[static_cast<std::size_t>(axis)].name);
  }
  const auto at = Decompose(lowering, flat, extents, names, lets);
  for (std::size_t i = 0; i < axes.size(); ++i) values[static_cast<std::size_t>(axes[i])] = at[i];
}

OperandTile::OperandTile(Lowering& lowering, const CudaContraction& contraction,
                         const CudaContractionPlan& plan, bool of_b)
    : lowering_(lowering),
      contraction_(contraction),
      plan_(plan),
      operand_(of_b ? contraction.B(plan) : contraction.A(plan)),
      tile_(of_b ? plan.block_columns : plan.block_rows),
      line_(operand_.Line(tile_, contraction.AccumulatorBytes())),
      width_(operand_.Width(tile_, plan.k_step, plan.Threads())),
      strip_(std::min(16 / contraction.AccumulatorBytes(),
                      of_b ? plan.register_columns : plan.register_rows)) {
  const std::string name = of_b ? "b" : "a";
  shared_ =
      lowering_.program.AddBuffer({name + "_tile", contraction.pattern.accumulator,
                                   plan.stages * plan.k_step * line_, Scope::kShared, -1, ""});
  if (plan.Async()) return;
  const std::int64_t accesses = kindred::CeilDiv(tile_ * plan.k_step / width_, plan.Threads());
  fetched_ = lowering_.AddRegisters(name + "_next", operand_.type, accesses * width_);
}

void OperandTile::Place(const std::vector<ExprPtr>& axes, const ExprPtr& origin,
                        const ExprPtr& thread) {
  axes_ = axes;
  origin_ = origin;
  thread_ = thread;
}

ExprPtr OperandTile::SharedIndex(const ExprPtr& stage, const ExprPtr& k,
                                 const ExprPtr& side) const {
  return (stage * plan_.k_step + k) * line_ + side;
}

StmtPtr OperandTile::Accesses(std::int64_t width,
                              const std::function<StmtPtr(const Access&)>& make) {
  const std::int64_t accesses = tile_ * plan_.k_step / width, threads = plan_.Threads();
  const std::int64_t along = (operand_.k_is_fast ? plan_.k_step : tile_) / width;
  return Unrolled(lowering_, "i", kindred::CeilDiv(accesses, threads), [&](const ExprPtr& i) {
    std::vector<StmtPtr> all;
    const ExprPtr index = Bound(lowering_, "index", i * threads + thread_, all);
    const ExprPtr fast = index % IntExpr(along) * width, slow = index / IntExpr(along);
    const ExprPtr k = Bound(lowering_, "k_in", operand_.k_is_fast ? fast : slow, all);
    const ExprPtr side = Bound(lowering_, "side_in", operand_.k_is_fast ? slow : fast, all);
    StmtPtr work = make({i, k, side});
    if (accesses % threads != 0)
      work = If(BinaryExpr(Op::kLess, index, IntExpr(accesses)), std::move(work));
    all.push_back(std::move(work));
    return Block(std::move(all));
  });
}

OperandTile::Point OperandTile::PointOf(const Access& at, const ExprPtr& step,
                                        std::vector<StmtPtr>& lets) {
  const std::int64_t depth = contraction_.pattern.ReductionExtent();
  Point point;
  point.k = Bound(lowering_, "k", step * plan_.k_step + at.k, lets);
  point.side = Bound(lowering_, "at", origin_ + at.side, lets);
  if (depth % plan_.k_step != 0) point.inside = BinaryExpr(Op::kLess, point.k, IntExpr(depth));
  if (operand_.all % tile_ != 0) {
    const ExprPtr own = BinaryExpr(Op::kLess, point.side, IntExpr(operand_.all));
    point.inside = point.inside ? BinaryExpr(Op::kAnd, point.inside, own) : own;
  }
  return point;
}

void OperandTile::SpreadPoint(const Point& point, std::vector<ExprPtr>& values,
                              std::vector<StmtPtr>& lets) {
  Spread(lowering_, contraction_, point.k, contraction_.groups.reduction, values, lets);
  Spread(lowering_, contraction_, point.side, operand_.axes, values, lets);
}

StmtPtr OperandTile::Fetch(const ExprPtr& step) {
  return Accesses(width_, [&](const Access& at) {
    std::vector<StmtPtr> all, inner;
    const Point point = PointOf(at, step, all);
    std::vector<ExprPtr> values = axes_;
    SpreadPoint(point, values, inner);
    const int var = lowering_.program.AddVar("v");
    const ExprPtr lane = width_ > 1 ? VarExpr(var) : IntExpr(0);
    if (width_ > 1) {
      const int fast =
          operand_.k_is_fast ? contraction_.groups.reduction.back() : operand_.axes.back();
      ExprPtr& value = values[static_cast<std::size_t>(fast)];
      value = value + lane;
    }
    inner.push_back(VectorStatement(
        var, width_,
        CastExpr(operand_.type, LowerBody(operand_.value, values, lowering_.RowMajor())),
        [&](const ExprPtr& value) { return Store(fetched_, at.i * width_ + lane, value); }));
    StmtPtr work = Block(std::move(inner));
    if (point.inside)
      work =
          If(point.inside, std::move(work), Unrolled(lowering_, "e", width_, [&](const ExprPtr& e) {
               return Store(fetched_, at.i * width_ + e, Constant(0, operand_.type));
             }));
    all.push_back(std::move(work));
    return Block(std::move(all));
  });
}

StmtPtr OperandTile::Commit(const ExprPtr& stage) {
  const DataType type = contraction_.pattern.accumulator;
  return Accesses(width_, [&](const Access& at) {
    const auto value = [&](const ExprPtr& e) {
      return CastExpr(type, lowering_.Load(fetched_, at.i * width_ + e));
    };
    if (operand_.k_is_fast || width_ == 1)
      return Unrolled(lowering_, "e", width_, [&](const ExprPtr& e) {
        return Store(shared_, SharedIndex(stage, at.k + e, at.side), value(e));
      });
    const int var = lowering_.program.AddVar("v");
    const ExprPtr lane = VarExpr(var);
    return VectorStatement(var, width_, value(lane), [&](const ExprPtr& settled) {
      return Store(shared_, SharedIndex(stage, at.k, at.side) + lane, settled);
    });
  });
}

StmtPtr OperandTile::Copy(const ExprPtr& step, const ExprPtr& stage) {
  // A transposing copy moves one element at a time.
  const std::int64_t width = operand_.k_is_fast ? 1 : width_;
  return Accesses(width, [&](const Access& at) {
    std::vector<StmtPtr> all;
    const Point point = PointOf(at, step, all);
    std::vector<ExprPtr> values = axes_;
    SpreadPoint(point, values, all);
    const ExprPtr value = LowerBody(operand_.value, values, lowering_.RowMajor());
    ExprPtr inside = point.inside, load = value;
    if (value->op == Op::kSelect) {
      inside = inside ? BinaryExpr(Op::kAnd, inside, value->args[0]) : value->args[0];
      load = value->args[1];
    }
    all.push_back(CopyAsync(shared_, SharedIndex(stage, at.k, at.side), load, inside,
                            static_cast<int>(width)));
    return Block(std::move(all));
  });
}

StmtPtr OperandTile::Read(int into, const ExprPtr& slot, const ExprPtr& stage, const ExprPtr& k,
                          const ExprPtr& side, std::int64_t count) {
  const int var = lowering_.program.AddVar("v");
  const ExprPtr lane = count > 1 ? VarExpr(var) : IntExpr(0);
  return VectorStatement(var, count, lowering_.Load(shared_, SharedIndex(stage, k, side) + lane),
                         [&](const ExprPtr& value) { return Store(into, slot + lane, value); });
}

}  // namespace kindred::internal
