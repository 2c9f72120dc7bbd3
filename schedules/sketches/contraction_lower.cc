// The loop nest around the register tile:
//
//   for each batch                         outer axes that b depends on
//     [copy or pack b whole]               where rows are the outer cache loop
//     for each outer axis of a alone
//       [pack a whole]                     where columns are the outer cache loop
//       for each outer block               of columns (or of image rows), or of rows
//         for each block of the reduction
//           [pack this block's operand]
//           for each inner block, for each tile: EmitTile
//
// so that every element is packed once. A reduction in several blocks keeps its sums in a workspace
// in the tiles' own order. Tiles at the edges are narrower variants of the same code; nothing reads
// or writes past the end of a tensor.
#include "schedules/sketches/contraction_lower.h"

#include <utility>

#include "schedules/sketches/contraction_context.h"
#include "schedules/sketches/contraction_operands.h"
#include "schedules/sketches/contraction_store.h"

namespace kindred {
namespace {

class ContractionLowering {
 public:
  ContractionLowering(const Workload& workload, const ContractionPattern& pattern,
                      const ContractionPlan& plan, const Target& target)
      : c_(workload, pattern, plan, target), operands_(c_), store_(c_) {}

  Program Lower() {
    c_.program().name = "contraction";
    std::vector<StmtPtr> body;
    for (const int stage : c_.pattern.before)
      body.push_back(
          internal::PlainStage(c_.lowering, c_.workload.stages[static_cast<std::size_t>(stage)]));
    c_.program().prepare = operands_.Prepare();

    std::int64_t outer = 1;
    for (const int axis : c_.pattern.outer) outer *= c_.pattern.Extent(axis);
    parallel_outer_ = c_.target.threads > 1 && outer >= c_.target.threads;
    body.push_back(OuterLoops(0));
    c_.program().body = Block(std::move(body));
    c_.program().compiler = c_.plan.compiler;
    c_.program().flags = c_.plan.flags;
    return std::move(c_.program());
  }

 private:
  StmtPtr OuterLoops(std::size_t level) {
    std::vector<StmtPtr> body;
    const auto whole_b = static_cast<std::size_t>(c_.pattern.outer_of_b);
    if (level == whole_b) body.push_back(operands_.PackWholeB());
    if (level == c_.pattern.outer.size()) {
      body.push_back(operands_.PackWholeA());
      body.push_back(BlockLoops());
      return Block(std::move(body));
    }
    const int axis = c_.pattern.outer[level];
    body.push_back(c_.OuterLoop(c_.AxisName(axis), c_.pattern.Extent(axis), parallel_outer_,
                                [&](const ExprPtr& i) {
                                  c_.Axis(axis) = i;
                                  auto inner = OuterLoops(level + 1);
                                  c_.Axis(axis) = IntExpr(0);
                                  return inner;
                                }));
    return Block(std::move(body));
  }

  static ExprPtr BlockLength(const ExprPtr& start, std::int64_t block, std::int64_t all) {
    if (all % block == 0) return IntExpr(block);
    return Minimum(IntExpr(block), IntExpr(all) - start);
  }

  StmtPtr BlockLoops() {
    const bool row_blocks = c_.plan.n_outer && c_.copy_b;
    const std::int64_t count = row_blocks        ? c_.plan.row_blocks
                               : c_.plan.n_outer ? CeilDiv(c_.n_tiles, c_.plan.n_block)
                                                 : CeilDiv(c_.m_tiles, c_.plan.m_block);
    return c_.OuterLoop(
        "block", count, c_.target.threads > 1 && !parallel_outer_, [&](const ExprPtr& ob) {
          std::vector<StmtPtr> body;
          TilePlace block;
          block.y0 = IntExpr(0);
          block.n_first = block.m_first = IntExpr(0);
          block.n_tiles = IntExpr(c_.n_tiles);
          block.m_tiles = IntExpr(c_.m_tiles);
          if (row_blocks) {
            // The last block starts early where the rows do not divide: some are computed twice.
            const std::int64_t rows = c_.columns.block_rows, all = c_.pattern.Extent(c_.pattern.y);
            block.y0 = Named(c_.program(), body, "y0",
                             all % rows == 0 ? ob * rows : Minimum(ob * rows, IntExpr(all - rows)));
          } else if (c_.plan.n_outer) {
            block.n_first = Named(c_.program(), body, "n_first", ob * c_.plan.n_block);
            block.n_tiles = Named(c_.program(), body, "n_tiles",
                                  BlockLength(block.n_first, c_.plan.n_block, c_.n_tiles));
          } else {
            block.m_first = Named(c_.program(), body, "m_first", ob * c_.plan.m_block);
            block.m_tiles = Named(c_.program(), body, "m_tiles",
                                  BlockLength(block.m_first, c_.plan.m_block, c_.m_tiles));
          }
          if (c_.k0_blocks > 1)
            sums_ = c_.AddScratch("sums", (c_.plan.n_outer ? c_.plan.n_block : c_.n_tiles) *
                                              (c_.plan.n_outer ? c_.m_tiles : c_.plan.m_block) *
                                              c_.plan.rows * c_.TileColumns());
          body.push_back(Loop(c_.program(), "kb", c_.k0_blocks, LoopKind::kSerial,
                              [&](const ExprPtr& kb) { return ReductionBlock(block, kb); }));
          return Block(std::move(body));
        });
  }

  StmtPtr ReductionBlock(TilePlace block, const ExprPtr& kb) {
    std::vector<StmtPtr> body;
    block.kb = kb;
    block.k0_start = Named(c_.program(), body, "k_first", kb * c_.plan.k_block);
    block.run = Named(c_.program(), body, "k_run",
                      BlockLength(block.k0_start, c_.plan.k_block, c_.pattern.Extent(c_.K0())));
    body.push_back(operands_.PackBlock(block));

    // The inner cache loop over the other side, then the tiles.
    const std::int64_t inner_all = c_.plan.n_outer ? c_.m_tiles : c_.n_tiles;
    const std::int64_t inner_block = c_.plan.n_outer ? c_.plan.m_block : c_.plan.n_block;
    body.push_back(
        Loop(c_.program(), "inner", CeilDiv(inner_all, inner_block), LoopKind::kSerial,
             [&](const ExprPtr& ib) {
               std::vector<StmtPtr> inside;
               const ExprPtr first = Named(c_.program(), inside, "inner_first", ib * inner_block);
               const ExprPtr tiles = Named(c_.program(), inside, "inner_tiles",
                                           BlockLength(first, inner_block, inner_all));
               const ExprPtr n_first = c_.plan.n_outer ? block.n_first : first;
               const ExprPtr n_count = c_.plan.n_outer ? block.n_tiles : tiles;
               const ExprPtr m_first = c_.plan.n_outer ? first : block.m_first;
               const ExprPtr m_count = c_.plan.n_outer ? tiles : block.m_tiles;
               const auto over_n = [&](const std::function<StmtPtr(const ExprPtr&)>& inner) {
                 return Loop(c_.program(), "nt", n_count, LoopKind::kSerial,
                             [&](const ExprPtr& i) { return inner(n_first + i); });
               };
               const auto over_m = [&](const std::function<StmtPtr(const ExprPtr&)>& inner) {
                 return Loop(c_.program(), "mt", m_count, LoopKind::kSerial,
                             [&](const ExprPtr& i) { return inner(m_first + i); });
               };
               if (c_.plan.n_tiles_outer)
                 inside.push_back(over_n([&](const ExprPtr& nt) {
                   return over_m([&](const ExprPtr& mt) { return Tile(block, nt, mt); });
                 }));
               else
                 inside.push_back(over_m([&](const ExprPtr& mt) {
                   return over_n([&](const ExprPtr& nt) { return Tile(block, nt, mt); });
                 }));
               return Block(std::move(inside));
             }));
    return Block(std::move(body));
  }

  ExprPtr IsLast(const TilePlace& block) const {
    return BinaryExpr(Op::kEqual, block.kb, IntExpr(c_.k0_blocks - 1));
  }

  // All variants of one tile: whole, and cut at the edges of rows and columns.
  StmtPtr Tile(const TilePlace& block, const ExprPtr& nt, const ExprPtr& mt) {
    std::vector<StmtPtr> body;
    const ExprPtr n0 = Named(c_.program(), body, "n0", nt * c_.TileColumns());
    const ExprPtr m0 = Named(c_.program(), body, "m0", mt * c_.plan.rows);
    const std::int64_t row_tail = c_.pattern.Extent(c_.pattern.m) % c_.plan.rows;
    const std::int64_t column_tail = c_.columns.length % c_.TileColumns();
    const auto by_rows = [&](std::int64_t columns) -> StmtPtr {
      if (row_tail == 0) return Variant(block, nt, mt, n0, m0, c_.plan.rows, columns);
      const auto tail = Variant(block, nt, mt, n0, m0, row_tail, columns);
      if (c_.m_tiles == 1) return tail;
      return If(LessThan(mt, IntExpr(c_.m_tiles - 1)),
                Variant(block, nt, mt, n0, m0, c_.plan.rows, columns), tail);
    };
    if (column_tail == 0)
      body.push_back(by_rows(c_.TileColumns()));
    else if (c_.n_tiles == 1)
      body.push_back(by_rows(column_tail));
    else
      body.push_back(If(LessThan(nt, IntExpr(c_.n_tiles - 1)), by_rows(c_.TileColumns()),
                        by_rows(column_tail)));
    const StmtPtr after = store_.AfterTile(block, n0, m0);
    body.push_back(c_.k0_blocks == 1 || after->children.empty() ? after : If(IsLast(block), after));
    return Block(std::move(body));
  }

  StmtPtr Variant(const TilePlace& block, const ExprPtr& nt, const ExprPtr& mt, const ExprPtr& n0,
                  const ExprPtr& m0, std::int64_t rows, std::int64_t columns) {
    TileShape shape;
    shape.rows = rows;
    shape.vectors = CeilDiv(columns, c_.plan.lanes);
    shape.lanes = c_.plan.lanes;
    shape.accumulator = c_.accumulator;
    shape.reduction = c_.FullReduction();
    shape.reduction[0] = block.run;
    shape.unroll = c_.plan.unroll;
    PartialSums partial;
    if (c_.k0_blocks > 1) {
      partial.buffer = sums_.buffer;
      const ExprPtr tile = c_.plan.n_outer ? (nt - block.n_first) * c_.m_tiles + mt
                                           : (mt - block.m_first) * c_.n_tiles + nt;
      partial.base = sums_.base + tile * (c_.plan.rows * c_.TileColumns());
      partial.first = BinaryExpr(Op::kEqual, block.kb, IntExpr(0));
      partial.last = IsLast(block);
    }
    std::vector<StmtPtr> body;
    TileOperand a = operands_.A(block, mt, m0), b = operands_.B(block, nt, n0, columns);
    a.base = Named(c_.program(), body, "a0", a.base);
    b.base = Named(c_.program(), body, "b0", b.base);
    if (partial.base) partial.base = Named(c_.program(), body, "sums0", partial.base);
    body.push_back(EmitTile(c_.program(), shape, a, b, partial, [&](int acc) {
      return store_.Store(block, shape, acc, n0, m0, columns);
    }));
    return Block(std::move(body));
  }

  ContractionContext c_;
  ContractionOperands operands_;
  ContractionStore store_;
  Scratch sums_;  // of a reduction in several blocks
  bool parallel_outer_ = false;
};

}  // namespace

Program LowerContraction(const Workload& workload, const ContractionPattern& pattern,
                         const ContractionPlan& plan, const Target& target) {
  return ContractionLowering(workload, pattern, plan, target).Lower();
}

}  // namespace kindred
