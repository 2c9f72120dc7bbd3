#include "schedules/sketches/contraction_box.h"

#include <algorithm>
#include <utility>

#include "schedules/sketches/contraction_build.h"

namespace kindred {
namespace {

std::int64_t Coefficient(const Affine& affine, int axis) {
  return axis < 0 ? 0 : affine.coefficients[static_cast<std::size_t>(axis)];
}

// Iterations of a serial loop over vectors beyond which it is not written out.
constexpr std::int64_t kMaxWrittenOut = 4;

}  // namespace

StmtPtr CopyConstantRun(Program& program, int buffer, const ExprPtr& to, std::int64_t count,
                        std::int64_t lanes, const std::function<ExprPtr(const ExprPtr&)>& value) {
  std::vector<StmtPtr> statements;
  if (count <= 0) return Block({});
  while (lanes > count) lanes /= 2;
  const auto vector_at = [&](const ExprPtr& at) {
    return Loop(program, "l", lanes, LoopKind::kVectorized,
                [&](const ExprPtr& l) { return Store(buffer, to + at + l, value(at + l)); });
  };
  const std::int64_t whole = count / lanes;
  if (whole <= kMaxWrittenOut) {
    for (std::int64_t i = 0; i < whole; ++i) statements.push_back(vector_at(IntExpr(i * lanes)));
  } else {
    statements.push_back(Loop(program, "q", whole, LoopKind::kSerial,
                              [&](const ExprPtr& q) { return vector_at(q * lanes); }));
  }
  if (count % lanes != 0) statements.push_back(vector_at(IntExpr(count - lanes)));
  return Block(std::move(statements));
}

BoxCopy::BoxCopy(const OperandAccess& operand, DataType type, std::vector<std::int64_t> box,
                 std::vector<std::int64_t> full, int x, int y, int blocked)
    : operand_(operand),
      type_(type),
      box_(std::move(box)),
      full_(std::move(full)),
      x_(x),
      y_(y),
      blocked_(blocked) {
  const std::size_t rank = operand_.index.size();
  dimensions_.resize(rank);
  tensor_strides_.resize(rank);
  for (std::size_t d = rank, size = 1; d-- > 0; size *= static_cast<std::size_t>(operand_.shape[d]))
    tensor_strides_[d] = static_cast<std::int64_t>(size);
  if (x_ >= 0) x_dimension_ = operand_.DimensionsOf(x_).front();
  if (y_ >= 0) y_dimension_ = operand_.DimensionsOf(y_).front();

  for (std::size_t d = 0; d < rank; ++d) {
    Dimension& dimension = dimensions_[d];
    const Affine& index = operand_.index[d];
    const int own = static_cast<int>(d) == x_dimension_   ? x_
                    : static_cast<int>(d) == y_dimension_ ? y_
                                                          : -1;
    std::int64_t reach = 0;   // of the other axes within the box
    std::int64_t origin = 0;  // largest value at the box's corner, without the constant
    for (int axis = 0; axis < static_cast<int>(full_.size()); ++axis) {
      const std::size_t at = static_cast<std::size_t>(axis);
      const std::int64_t run = std::min(box_[at], full_[at]);
      if (axis != own) reach += Coefficient(index, axis) * (run - 1);
      origin += Coefficient(index, axis) * (full_[at] - run);
    }
    std::int64_t last = reach;  // of the index within the box
    if (own >= 0) {
      dimension.step = Coefficient(index, own);
      dimension.phases = std::min(dimension.step, reach + 1);
      dimension.size = box_[static_cast<std::size_t>(own)] + reach / dimension.step;
      last = dimension.step * (dimension.size - 1) + dimension.phases - 1;
    } else {
      dimension.size = reach + 1;
    }
    dimension.check = index.constant < 0 || index.constant + origin + last >= operand_.shape[d];
  }
  // Strides, from the columns outwards.
  std::int64_t size = 1;
  if (x_dimension_ >= 0) {
    Dimension& columns = dimensions_[static_cast<std::size_t>(x_dimension_)];
    columns.stride = 1;
    pitch_ = size = columns.size;
  }
  if (y_dimension_ >= 0) {
    Dimension& rows = dimensions_[static_cast<std::size_t>(y_dimension_)];
    rows.stride = size;
    size *= rows.size;
  }
  for (const int d : {x_dimension_, y_dimension_}) {
    if (d < 0) continue;
    dimensions_[static_cast<std::size_t>(d)].phase_stride = size;
    size *= dimensions_[static_cast<std::size_t>(d)].phases;
  }
  for (std::size_t d = rank; d-- > 0;) {
    if (dimensions_[d].step != 0) continue;
    dimensions_[d].stride = size;
    size *= dimensions_[d].size;
  }
  elements_ = size;
}

bool BoxCopy::CanBlock(const OperandAccess& operand, int axis, int spatial) {
  const auto dimensions = operand.DimensionsOf(axis);
  if (dimensions.size() != 1) return false;
  const Affine& index = operand.index[static_cast<std::size_t>(dimensions.front())];
  for (int other = 0; other < static_cast<int>(index.coefficients.size()); ++other)
    if (other != axis && Coefficient(index, other) != 0 && other >= 0) return false;
  return Coefficient(index, axis) == 1 && axis >= spatial;
}

// What the axes other than x and y add to the index of a dimension.
ExprPtr BoxCopy::Reduction(std::size_t dimension, std::span<const ExprPtr> axes) const {
  ExprPtr sum = IntExpr(0);
  const Affine& index = operand_.index[dimension];
  for (int axis = 0; axis < static_cast<int>(full_.size()); ++axis) {
    if (axis == x_ || axis == y_ || box_[static_cast<std::size_t>(axis)] == 1) continue;
    if (const std::int64_t c = Coefficient(index, axis); c != 0)
      sum = sum + axes[static_cast<std::size_t>(axis)] * c;
  }
  return sum;
}

ExprPtr BoxCopy::Offset(std::span<const ExprPtr> axes) const {
  ExprPtr offset = IntExpr(0);
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    const ExprPtr reach = Reduction(d, axes);
    if (dimension.step == 0) {
      offset = offset + reach * dimension.stride;
      continue;
    }
    const ExprPtr& own =
        axes[static_cast<std::size_t>(static_cast<int>(d) == x_dimension_ ? x_ : y_)];
    if (dimension.phases > 1)
      offset = offset + (reach % IntExpr(dimension.step)) * dimension.phase_stride;
    offset = offset + (own + reach / IntExpr(dimension.step)) * dimension.stride;
  }
  return offset;
}

StmtPtr BoxCopy::FillRun(Program& program, int buffer, const ExprPtr& to,
                         const ExprPtr& count) const {
  const ExprPtr value =
      operand_.pad_value ? CastExpr(type_, operand_.pad_value) : Constant(0, type_);
  if (count->op == Op::kInt)
    return CopyConstantRun(program, buffer, to, count->integer, 64 / ByteSize(type_),
                           [&](const ExprPtr&) { return value; });
  return Loop(program, "j", count, LoopKind::kSerial,
              [&](const ExprPtr& j) { return Store(buffer, to + j, value); });
}

StmtPtr BoxCopy::CopyRun(Program& program, int source, int buffer, const ExprPtr& to,
                         const ExprPtr& from, std::int64_t step, const ExprPtr& count,
                         std::int64_t lanes) const {
  const auto value = [&](const ExprPtr& j) {
    return CastExpr(type_, LoadExpr(source, {from + j * step}, operand_.type));
  };
  if (count->op == Op::kInt && step == 1 && operand_.type == type_)
    return CopyConstantRun(program, buffer, to, count->integer, lanes, value);
  return Loop(program, "j", count, LoopKind::kSerial,
              [&](const ExprPtr& j) { return Store(buffer, to + j, value(j)); });
}

// One row of the box at buffer[to...]; `from` is the address of its column 0 in the source, and
// `first` that column's index in the tensor. `row_inside`: condition that the row lies in the
// tensor, nullptr: it does.
StmtPtr BoxCopy::Row(Program& program, int source, int buffer, const ExprPtr& to,
                     const ExprPtr& from, const ExprPtr& first, const ExprPtr& row_inside,
                     std::int64_t lanes) const {
  const bool has_x = x_dimension_ >= 0;
  const Dimension columns =
      has_x ? dimensions_[static_cast<std::size_t>(x_dimension_)] : Dimension{};
  const std::int64_t step = has_x ? columns.step : 1;
  const std::int64_t source_step =
      has_x ? step * tensor_strides_[static_cast<std::size_t>(x_dimension_)] : 1;
  StmtPtr copy;
  if (!columns.check) {
    copy = CopyRun(program, source, buffer, to, from, source_step, IntExpr(columns.size), lanes);
  } else {
    const std::int64_t width = operand_.shape[static_cast<std::size_t>(x_dimension_)];
    std::vector<StmtPtr> parts;
    // Columns left of the tensor, inside, and right of it.
    const ExprPtr size = IntExpr(columns.size), zero = IntExpr(0);
    const ExprPtr left =
        Named(program, parts, "left",
              Minimum(Maximum((IntExpr(step - 1) - first) / IntExpr(step), zero), size));
    const ExprPtr right =
        Named(program, parts, "right",
              Minimum(Maximum((IntExpr(width + step - 1) - first) / IntExpr(step), left), size));
    parts.push_back(FillRun(program, buffer, to, left));
    parts.push_back(CopyRun(program, source, buffer, to + left, from + left * source_step,
                            source_step, right - left, lanes));
    parts.push_back(FillRun(program, buffer, to + right, size - right));
    copy = Block(std::move(parts));
  }
  if (!row_inside) return copy;
  return If(row_inside, copy, FillRun(program, buffer, to, IntExpr(columns.size)));
}

StmtPtr BoxCopy::Fill(Program& program, int source, int buffer, const ExprPtr& base,
                      std::span<const ExprPtr> origin, const ExprPtr& run,
                      std::int64_t lanes) const {
  // Dimensions from outside: the plain ones, rows, phases of y, phases of x, columns (in Row).
  std::vector<std::size_t> plain;
  for (std::size_t d = 0; d < dimensions_.size(); ++d)
    if (dimensions_[d].step == 0) plain.push_back(d);
  const auto corner = [&](std::size_t d) {
    ExprPtr sum = IntExpr(operand_.index[d].constant);
    for (int axis = 0; axis < static_cast<int>(full_.size()); ++axis)
      if (const std::int64_t c = Coefficient(operand_.index[d], axis); c != 0)
        sum = sum + origin[static_cast<std::size_t>(axis)] * c;
    return sum;
  };

  // Recursion over the plain dimensions; `to` and `from` grow, `inside` collects conditions.
  struct Place {
    ExprPtr to, from, inside;
  };
  const auto and_inside = [](const ExprPtr& inside, const ExprPtr& index, std::int64_t size) {
    const ExprPtr condition = BinaryExpr(Op::kAnd, BinaryExpr(Op::kLessEqual, IntExpr(0), index),
                                         LessThan(index, IntExpr(size)));
    return inside ? BinaryExpr(Op::kAnd, inside, condition) : condition;
  };
  const auto rows = [&](const Place& place) -> StmtPtr {
    const auto columns = [&](const Place& at) -> StmtPtr {
      if (x_dimension_ < 0) {
        return Row(program, source, buffer, at.to, at.from, IntExpr(0), at.inside, lanes);
      }
      const std::size_t d = static_cast<std::size_t>(x_dimension_);
      const Dimension& dimension = dimensions_[d];
      return Loop(program, "px", dimension.phases, LoopKind::kUnrolled, [&](const ExprPtr& px) {
        std::vector<StmtPtr> body;
        const ExprPtr first = Named(program, body, "first", corner(d) + px);
        const ExprPtr to = Named(program, body, "to", at.to + px * dimension.phase_stride);
        const ExprPtr from = Named(program, body, "from", at.from + first * tensor_strides_[d]);
        body.push_back(Row(program, source, buffer, to, from, first, at.inside, lanes));
        return Block(std::move(body));
      });
    };
    if (y_dimension_ < 0) return columns(place);
    const std::size_t d = static_cast<std::size_t>(y_dimension_);
    const Dimension& dimension = dimensions_[d];
    return Loop(program, "row", dimension.size, LoopKind::kSerial, [&](const ExprPtr& row) {
      return Loop(program, "py", dimension.phases, LoopKind::kSerial, [&](const ExprPtr& py) {
        std::vector<StmtPtr> body;
        const ExprPtr index = Named(program, body, "iy", corner(d) + row * dimension.step + py);
        Place next;
        next.to = place.to + row * dimension.stride + py * dimension.phase_stride;
        next.from = place.from + index * tensor_strides_[d];
        next.inside =
            dimension.check ? and_inside(place.inside, index, operand_.shape[d]) : place.inside;
        body.push_back(columns(next));
        return Block(std::move(body));
      });
    });
  };
  std::function<StmtPtr(std::size_t, const Place&)> nest = [&](std::size_t level,
                                                               const Place& place) -> StmtPtr {
    if (level == plain.size()) return rows(place);
    const std::size_t d = plain[level];
    const Dimension& dimension = dimensions_[d];
    ExprPtr extent = IntExpr(dimension.size);
    if (blocked_ >= 0 && Coefficient(operand_.index[d], blocked_) != 0) extent = run;
    return Loop(program, "i", extent, LoopKind::kSerial, [&](const ExprPtr& i) {
      std::vector<StmtPtr> body;
      const ExprPtr index = Named(program, body, "at", corner(d) + i);
      Place next;
      next.to = place.to + i * dimension.stride;
      next.from = place.from + index * tensor_strides_[d];
      next.inside =
          dimension.check ? and_inside(place.inside, index, operand_.shape[d]) : place.inside;
      body.push_back(nest(level + 1, next));
      return Block(std::move(body));
    });
  };
  return nest(0, {base, IntExpr(0), nullptr});
}

}  // namespace kindred
