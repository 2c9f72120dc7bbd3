#include "schedules/sketches/contraction_store.h"

#include <functional>
#include <utility>

namespace kindred {
namespace {

// Runs of results shorter than this are stored point by point.
constexpr std::int64_t kShortestVector = 8;

}  // namespace

ContractionStore::ContractionStore(ContractionContext& context)
    : c_(context),
      epilogue_(context.lowering, {context.pattern.anchor, context.pattern.before,
                                   context.pattern.after, context.pattern.after_axes}) {
  const ContractionPattern& pattern = context.pattern;
  const std::int64_t width = pattern.Extent(pattern.x);
  joined_ = epilogue_.VectorAlong(pattern.x) &&
            (pattern.y < 0 ||
             (context.columns.pitch == width && epilogue_.Joins(pattern.y, pattern.x, width)));
}

StmtPtr ContractionStore::Store(const TilePlace& place, const TileShape& shape, int acc,
                                const ExprPtr& n0, const ExprPtr& m0, std::int64_t columns) {
  if (joined_) return StoreVectors(place, shape, acc, n0, m0, columns);
  if (tile_ < 0)
    tile_ = c_.program().AddBuffer(
        {"tile", c_.accumulator, c_.plan.rows * c_.TileColumns(), Scope::kStack, -1, ""});
  return Loop(c_.program(), "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
    return Loop(c_.program(), "v", shape.vectors, LoopKind::kUnrolled, [&](const ExprPtr& v) {
      return Loop(c_.program(), "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
        const ExprPtr from = (r * shape.vectors + v) * shape.lanes + l;
        return kindred::Store(tile_, r * c_.TileColumns() + v * shape.lanes + l,
                              LoadExpr(acc, {from}, c_.accumulator));
      });
    });
  });
}

AxisValues ContractionStore::PointAt(const ExprPtr& row, const ExprPtr& y, const ExprPtr& x) {
  AxisValues axes = c_.axes;
  if (c_.pattern.m >= 0) axes[static_cast<std::size_t>(c_.pattern.m)] = row;
  if (c_.pattern.y >= 0) axes[static_cast<std::size_t>(c_.pattern.y)] = y;
  axes[static_cast<std::size_t>(c_.pattern.x)] = x;
  return axes;
}

StmtPtr ContractionStore::StoreVectors(const TilePlace& place, const TileShape& shape, int acc,
                                       const ExprPtr& n0, const ExprPtr& m0, std::int64_t columns) {
  const std::int64_t whole = columns / shape.lanes, rest = columns % shape.lanes;
  std::vector<StmtPtr> body;
  if (whole > 0)
    body.push_back(Loop(c_.program(), "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
      return Loop(c_.program(), "v", whole, LoopKind::kUnrolled, [&](const ExprPtr& v) {
        return epilogue_.Emit(PointAt(m0 + r, place.y0, n0 + v * shape.lanes), c_.pattern.x,
                              shape.lanes, [&](const ExprPtr& l) {
                                return LoadExpr(acc, {(r * shape.vectors + v) * shape.lanes + l},
                                                c_.accumulator);
                              });
      });
    }));
  if (rest > 0) {
    const int edge = c_.program().AddBuffer(
        {"edge", c_.accumulator, shape.rows * shape.lanes, Scope::kStack, -1, ""});
    body.push_back(Loop(c_.program(), "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
      return Loop(c_.program(), "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
        return kindred::Store(
            edge, r * shape.lanes + l,
            LoadExpr(acc, {(r * shape.vectors + whole) * shape.lanes + l}, c_.accumulator));
      });
    }));
    body.push_back(Loop(c_.program(), "r", shape.rows, LoopKind::kSerial, [&](const ExprPtr& r) {
      return StoreRun(PointAt(m0 + r, place.y0, n0 + whole * shape.lanes), IntExpr(rest), edge,
                      r * shape.lanes);
    }));
  }
  return Block(std::move(body));
}

StmtPtr ContractionStore::StoreRun(const AxisValues& point, const ExprPtr& count, int buffer,
                                   const ExprPtr& from) {
  const auto emit = [&](const ExprPtr& j, std::int64_t lanes) {
    AxisValues at = point;
    at[static_cast<std::size_t>(c_.pattern.x)] = at[static_cast<std::size_t>(c_.pattern.x)] + j;
    return epilogue_.Emit(at, c_.pattern.x, lanes, [&](const ExprPtr& l) {
      return LoadExpr(buffer, {from + j + l}, c_.accumulator);
    });
  };
  const auto one_by_one = [&] {
    return Loop(c_.program(), "j", count, LoopKind::kSerial,
                [&](const ExprPtr& j) { return emit(j, 1); });
  };
  if (!epilogue_.VectorAlong(c_.pattern.x)) return one_by_one();
  std::function<StmtPtr(std::int64_t)> vectors = [&](std::int64_t lanes) -> StmtPtr {
    if (lanes < kShortestVector) return one_by_one();
    if (count->op == Op::kInt && count->integer < lanes) return vectors(lanes / 2);
    std::vector<StmtPtr> parts;
    parts.push_back(Loop(c_.program(), "q", count / IntExpr(lanes), LoopKind::kSerial,
                         [&](const ExprPtr& q) { return emit(q * lanes, lanes); }));
    const StmtPtr last = emit(count - IntExpr(lanes), lanes);
    if (count->op == Op::kInt) {
      if (count->integer % lanes != 0) parts.push_back(last);
      return Block(std::move(parts));
    }
    parts.push_back(If(BinaryExpr(Op::kNotEqual, count % IntExpr(lanes), IntExpr(0)), last));
    return If(BinaryExpr(Op::kLessEqual, IntExpr(lanes), count), Block(std::move(parts)),
              vectors(lanes / 2));
  };
  return vectors(c_.plan.lanes);
}

StmtPtr ContractionStore::AfterTile(const TilePlace& place, const ExprPtr& n0, const ExprPtr& m0) {
  if (joined_) return Block({});
  const auto part = [](std::int64_t size, std::int64_t all, const ExprPtr& start) {
    return all % size == 0 ? IntExpr(size) : Minimum(IntExpr(size), IntExpr(all) - start);
  };
  std::vector<StmtPtr> body;
  const ExprPtr rows = Named(c_.program(), body, "rows_here",
                             part(c_.plan.rows, c_.pattern.Extent(c_.pattern.m), m0));
  const ExprPtr columns =
      Named(c_.program(), body, "columns_here", part(c_.TileColumns(), c_.columns.length, n0));
  // Points (row m0 + r, y, x_first ... x_first + count) from column `from` of the tile.
  const auto run = [&](const ExprPtr& y, const ExprPtr& x_first, const ExprPtr& count,
                       const ExprPtr& from) {
    return Loop(c_.program(), "r", rows, LoopKind::kSerial, [&](const ExprPtr& r) {
      return StoreRun(PointAt(m0 + r, y, x_first), count, tile_, r * c_.TileColumns() + from);
    });
  };
  if (c_.pattern.y < 0) {
    body.push_back(run(IntExpr(0), n0, columns, IntExpr(0)));
    return Block(std::move(body));
  }
  const ExprPtr pitch = IntExpr(c_.columns.pitch);
  const ExprPtr first = Named(c_.program(), body, "y_first", n0 / pitch);
  const ExprPtr last = Named(c_.program(), body, "y_last", (n0 + columns - IntExpr(1)) / pitch);
  body.push_back(
      Loop(c_.program(), "yy", last - first + 1, LoopKind::kSerial, [&](const ExprPtr& yy) {
        std::vector<StmtPtr> inside;
        const ExprPtr start =
            Named(c_.program(), inside, "row_start", (first + yy) * c_.columns.pitch - n0);
        const ExprPtr x_first =
            Named(c_.program(), inside, "x_first", Maximum(IntExpr(0) - start, IntExpr(0)));
        const ExprPtr x_end = Minimum(columns - start, IntExpr(c_.pattern.Extent(c_.pattern.x)));
        const ExprPtr count =
            Named(c_.program(), inside, "count", Maximum(x_end - x_first, IntExpr(0)));
        inside.push_back(run(place.y0 + first + yy, x_first, count, start + x_first));
        return Block(std::move(inside));
      }));
  return Block(std::move(body));
}

}  // namespace kindred
