// The operands of a contraction as its register tiles read them: weights laid out ahead of time,
// copies and panels made in the body, or the tensors themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedules/sketches/contraction_box.h"
#include "schedules/sketches/contraction_context.h"
#include "schedules/sketches/contraction_tile.h"

namespace kindred {

class ContractionOperands {
 public:
  // `context` outlives the operands.
  explicit ContractionOperands(ContractionContext& context) : c_(context) {}

  // The program's `prepare`; nullptr: nothing to do.
  StmtPtr Prepare();
  // What is done once for each combination of the outer axes around it, before the block loops.
  StmtPtr PackWholeB();
  StmtPtr PackWholeA();
  // What is done for each block of the reduction inside each outer block; marks in `place` what it
  // packed.
  StmtPtr PackBlock(TilePlace& place);

  TileOperand A(const TilePlace& place, const ExprPtr& mt, const ExprPtr& m0);
  // `columns`: of this tile.
  TileOperand B(const TilePlace& place, const ExprPtr& nt, const ExprPtr& n0, std::int64_t columns);

 private:
  // Loops over the outer axes that `operand` depends on; body(index of that combination).
  StmtPtr EachOuter(const OperandAccess& operand,
                    const std::function<StmtPtr(const ExprPtr&)>& body);
  std::string LayoutText(const OperandAccess& operand, const std::string& tiled,
                         std::int64_t width) const;
  StmtPtr PreparePanels(const OperandAccess& operand, int buffer, std::int64_t width,
                        std::int64_t extent,
                        const std::function<void(AxisValues&, const ExprPtr&)>& place);
  int AddPrepared(const OperandAccess& operand, const std::string& tiled, std::int64_t width,
                  std::int64_t extent);
  StmtPtr PrepareA();
  StmtPtr PrepareB();
  // x (and y) of a column of the whole plane, for element-wise reading.
  void PlaceColumn(AxisValues& axes, const ExprPtr& column) const;
  // Fills the copied box of b: rows from y0, elements k0_start... of the outermost reduction axis.
  StmtPtr FillBox(const ExprPtr& y0, const ExprPtr& k0_start, const ExprPtr& run,
                  std::int64_t k0_box);
  // Panels of b for `tiles` tiles from `first`, of k0_box steps of the outermost reduction axis.
  StmtPtr FillPanels(const ExprPtr& first, const ExprPtr& tiles, std::int64_t max_tiles,
                     const ExprPtr& k0_start, const ExprPtr& run, std::int64_t k0_box,
                     std::int64_t width, std::int64_t extent, Scratch& scratch);
  StmtPtr FillRowPanels(const ExprPtr& first, const ExprPtr& tiles, std::int64_t max_tiles,
                        const ExprPtr& k0_start, const ExprPtr& run, std::int64_t k0_box);
  ContractionContext& c_;
  int a_buffer_ = -1, b_buffer_ = -1;  // prepared
  Scratch a_scratch_, b_scratch_, b_tail_scratch_, b_box_scratch_;
  std::optional<BoxCopy> a_box_, b_box_;
};

}  // namespace kindred
