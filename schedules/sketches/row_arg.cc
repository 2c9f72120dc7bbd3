#include "schedules/sketches/row_arg.h"

#include <vector>

namespace kindred::internal {
namespace {

ExprPtr Less(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kLess, a, b); }
ExprPtr Equal(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kEqual, a, b); }

}  // namespace

StmtPtr JoinLanes(Lowering& lowering, Combiner combiner, const ArgRegisters& wide,
                  const ArgRegisters& found, std::int64_t vectors, std::int64_t lanes) {
  const auto load = [&](int buffer, const ExprPtr& slot) { return lowering.Load(buffer, slot); };
  const bool max = combiner == Combiner::kArgMax;
  const ExprPtr zero = IntExpr(0);
  std::vector<StmtPtr> parts;
  // All vectors into the first.
  if (vectors > 1)
    parts.push_back(EachVector(
        lowering.program, vectors - 1, lanes, [&](const ExprPtr& u, const ExprPtr& other) {
          const ExprPtr slot = other - u * lanes, from = other + lanes;
          const ExprPtr a = load(wide.best, slot), b = load(wide.best, from);
          const ExprPtr at_a = load(wide.position, slot), at_b = load(wide.position, from);
          const ExprPtr take = BinaryExpr(Op::kOr, max ? Less(a, b) : Less(b, a),
                                          BinaryExpr(Op::kAnd, Equal(a, b), Less(at_b, at_a)));
          return Block({Store(wide.position, slot, SelectExpr(take, at_b, at_a)),
                        Store(wide.best, slot, SelectExpr(take, b, a))});
        }));
  const auto over_lanes = [&](Op op, int into, int from) {
    const int l = lowering.program.AddVar("l");
    return For(l, IntExpr(lanes), LoopKind::kUnrolled,
               Store(into, zero, BinaryExpr(op, load(into, zero), load(from, VarExpr(l)))));
  };
  parts.push_back(over_lanes(max ? Op::kMax : Op::kMin, found.best, wide.best));
  // Of the lanes that hold the best value, the one with the first column.
  const DataType type = load(found.position, zero)->type;
  const ExprPtr none = IntExpr(IntegerHighest(type), type);
  const int columns = lowering.AddRegisters("columns", type, lanes);
  const int v = lowering.program.AddVar("v");
  const ExprPtr lane = VarExpr(v);
  const ExprPtr column = load(wide.position, lane) * lanes + CastExpr(type, lane);
  parts.push_back(
      For(v, IntExpr(lanes), LoopKind::kVectorized,
          Store(columns, lane,
                SelectExpr(Equal(load(wide.best, lane), load(found.best, zero)), column, none))));
  parts.push_back(Store(found.position, zero, none));
  parts.push_back(over_lanes(Op::kMin, found.position, columns));
  return Block(std::move(parts));
}

}  // namespace kindred::internal
