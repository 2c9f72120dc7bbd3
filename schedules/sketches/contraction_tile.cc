#include "schedules/sketches/contraction_tile.h"

#include "schedules/sketches/contraction_build.h"

namespace kindred {
namespace {

// body(index of the first element of each vector of the tile's register buffer, lane).
template <typename Body>
StmtPtr EachVector(Program& program, const TileShape& shape, Body&& body) {
  return Loop(program, "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
    return Loop(program, "v", shape.vectors, LoopKind::kUnrolled, [&](const ExprPtr& v) {
      return Loop(program, "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
        return body((r * shape.vectors + v) * shape.lanes + l);
      });
    });
  });
}

}  // namespace

StmtPtr EmitTile(Program& program, const TileShape& shape, const TileOperand& a,
                 const TileOperand& b, const PartialSums& partial,
                 const std::function<StmtPtr(int)>& finish) {
  const DataType type = shape.accumulator;
  const std::int64_t columns = shape.vectors * shape.lanes;
  const int acc = program.AddBuffer({"acc", type, shape.rows * columns, Scope::kRegister, -1, ""});
  const int row_of_b = program.AddBuffer({"bv", type, columns, Scope::kRegister, -1, ""});
  const auto sum = [&](const ExprPtr& index) { return LoadExpr(acc, {index}, type); };

  std::vector<StmtPtr> statements;
  const auto clear = EachVector(
      program, shape, [&](const ExprPtr& index) { return Store(acc, index, Constant(0, type)); });
  if (partial.buffer < 0) {
    statements.push_back(clear);
  } else {
    const auto resume = EachVector(program, shape, [&](const ExprPtr& index) {
      return Store(acc, index, LoadExpr(partial.buffer, {partial.base + index}, type));
    });
    statements.push_back(If(partial.first, clear, resume));
  }

  std::vector<ExprPtr> k(shape.reduction.size());
  const auto step = [&]() -> StmtPtr {
    std::vector<StmtPtr> body;
    const ExprPtr from_a = Named(program, body, "ka", a.base + a.step(k));
    const ExprPtr from_b = Named(program, body, "kb", b.base + b.step(k));
    body.push_back(Loop(program, "v", shape.vectors, LoopKind::kUnrolled, [&](const ExprPtr& v) {
      return Loop(program, "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
        return Store(row_of_b, v * shape.lanes + l,
                     CastExpr(type, LoadExpr(b.buffer, {from_b + v * shape.lanes + l}, b.type)));
      });
    }));
    body.push_back(Loop(program, "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
      std::vector<StmtPtr> row;
      const ExprPtr av =
          Named(program, row, "av",
                CastExpr(type, LoadExpr(a.buffer, {from_a + r * a.row_stride}, a.type)), type);
      row.push_back(Loop(program, "v", shape.vectors, LoopKind::kUnrolled, [&](const ExprPtr& v) {
        return Loop(program, "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
          const ExprPtr index = (r * shape.vectors + v) * shape.lanes + l;
          return Store(acc, index,
                       sum(index) + av * LoadExpr(row_of_b, {v * shape.lanes + l}, type));
        });
      }));
      return Block(std::move(row));
    }));
    return Block(std::move(body));
  };
  std::function<StmtPtr(std::size_t)> nest = [&](std::size_t level) -> StmtPtr {
    if (level == k.size()) return step();
    const bool innermost = level + 1 == k.size();
    const bool written_out =
        innermost && shape.unroll == 0 && shape.reduction[level]->op == Op::kInt;
    return Loop(
        program, "k", shape.reduction[level], written_out ? LoopKind::kUnrolled : LoopKind::kSerial,
        [&](const ExprPtr& value) {
          k[level] = value;
          return nest(level + 1);
        },
        innermost ? static_cast<int>(std::max<std::int64_t>(shape.unroll, 1)) : 1);
  };
  statements.push_back(nest(0));

  if (partial.buffer < 0) {
    statements.push_back(finish(acc));
  } else {
    const auto keep = EachVector(program, shape, [&](const ExprPtr& index) {
      return Store(partial.buffer, partial.base + index, sum(index));
    });
    statements.push_back(If(partial.last, finish(acc), keep));
  }
  return Block(std::move(statements));
}

}  // namespace kindred
