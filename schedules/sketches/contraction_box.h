// A box of a tensor, copied into scratch memory so that a kernel reads it by plain addresses:
// padding is filled in, narrow types are widened, and where the vector axis (or the row axis) steps
// by s > 1 the box is split into s phases, so that neighbouring outputs always read neighbouring
// elements.
//
// Layout, row-major: the tensor's dimensions without those of y and x, then phase of y, phase of x,
// row, column. An output at (y, x) reads row y + wy/sy and column x + wx/sx of phases wy%sy and
// wx%sx, where wy and wx are what the reduction axes add to its index. Rows are `pitch` long;
// y*pitch + x is one long axis, and reading it past a row's end runs into the next row (results
// there are thrown away).
//
// Axis values given to Offset are relative to the box: its first y, its first element of the
// blocked axis.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/program.h"
#include "schedules/sketches/contraction_pattern.h"

namespace kindred {

class BoxCopy {
 public:
  // box[axis]: how far each anchor axis runs within the box (1: fixed by the loops around it).
  // full[axis]: the axis' extent. x and y may be -1. `blocked`: the axis whose run may be shorter
  // than box[blocked] in the last block, -1: none; it must pass CanBlock.
  BoxCopy(const OperandAccess& operand, DataType type, std::vector<std::int64_t> box,
          std::vector<std::int64_t> full, int x, int y, int blocked);

  // Whether `axis` alone makes up a dimension of the operand with step 1, so that a box may hold a
  // part.
  static bool CanBlock(const OperandAccess& operand, int axis, int spatial);

  std::int64_t elements() const { return elements_; }
  std::int64_t pitch() const { return pitch_; }
  DataType type() const { return type_; }

  ExprPtr Offset(std::span<const ExprPtr> axes) const;

  // Fills the box at `buffer`[base...] from `source`. origin[axis]: value of each axis at the box's
  // corner. `run`: how far the blocked axis runs, where there is one. `lanes`: of a vector copy.
  StmtPtr Fill(Program& program, int source, int buffer, const ExprPtr& base,
               std::span<const ExprPtr> origin, const ExprPtr& run, std::int64_t lanes) const;

 private:
  struct Dimension {
    std::int64_t step = 0;    // of the x or y axis; 0 for the others
    std::int64_t phases = 1;  // of x or y
    std::int64_t size = 1;    // rows, columns, or elements
    std::int64_t stride = 0;  // in the box
    std::int64_t phase_stride = 0;
    bool check = false;  // an element of the box may lie outside the tensor
  };

  ExprPtr Reduction(std::size_t dimension, std::span<const ExprPtr> axes) const;
  StmtPtr Row(Program& program, int source, int buffer, const ExprPtr& to, const ExprPtr& from,
              const ExprPtr& first, const ExprPtr& row_inside, std::int64_t lanes) const;
  StmtPtr FillRun(Program& program, int buffer, const ExprPtr& to, const ExprPtr& count) const;
  StmtPtr CopyRun(Program& program, int source, int buffer, const ExprPtr& to, const ExprPtr& from,
                  std::int64_t step, const ExprPtr& count, std::int64_t lanes) const;

  OperandAccess operand_;
  DataType type_;
  std::vector<std::int64_t> box_, full_;
  int x_, y_, blocked_;
  int x_dimension_ = -1, y_dimension_ = -1;
  std::vector<Dimension> dimensions_;
  std::vector<std::int64_t> tensor_strides_;
  std::int64_t elements_ = 0, pitch_ = 0;
};

// Copies `count` elements (a constant) in vectors of at most `lanes`, the last one overlapping;
// reads source[from...] and writes buffer[to...]. `value` makes the element at an offset from
// `from`.
StmtPtr CopyConstantRun(Program& program, int buffer, const ExprPtr& to, std::int64_t count,
                        std::int64_t lanes, const std::function<ExprPtr(const ExprPtr&)>& value);

}  // namespace kindred
