#include "schedules/sketches/contraction_operands.h"

#include <utility>

#include <fmt/format.h>

#include "schedules/sketches/contraction_panel.h"

namespace kindred {

StmtPtr ContractionOperands::Prepare() {
  std::vector<StmtPtr> prepare;
  if (c_.plan.a == ASource::kPrepared) prepare.push_back(PrepareA());
  if (c_.plan.b == BSource::kPrepared) prepare.push_back(PrepareB());
  return prepare.empty() ? nullptr : Block(std::move(prepare));
}

StmtPtr ContractionOperands::PackBlock(TilePlace& place) {
  std::vector<StmtPtr> body;
  if (c_.plan.n_outer) {
    if (c_.copy_b) body.push_back(FillBox(place.y0, place.k0_start, place.run, c_.plan.k_block));
    if (c_.plan.b == BSource::kPanel)
      body.push_back(FillPanels(place.n_first, place.n_tiles, c_.plan.n_block, place.k0_start,
                                place.run, c_.plan.k_block, c_.TileColumns(), c_.columns.length,
                                b_scratch_));
    place.b_local = true;
  } else if (c_.plan.a == ASource::kPacked) {
    body.push_back(FillRowPanels(place.m_first, place.m_tiles, c_.plan.m_block, place.k0_start,
                                 place.run, c_.plan.k_block));
    place.a_local = true;
  }
  return Block(std::move(body));
}

StmtPtr ContractionOperands::EachOuter(const OperandAccess& operand,
                                       const std::function<StmtPtr(const ExprPtr&)>& body) {
  std::function<StmtPtr(std::size_t, ExprPtr)> nest = [&](std::size_t i, ExprPtr index) -> StmtPtr {
    if (i == c_.pattern.outer.size()) return body(index);
    const int axis = c_.pattern.outer[i];
    if (!operand.Uses(axis)) return nest(i + 1, index);
    return Loop(c_.program(), "o", c_.pattern.Extent(axis), LoopKind::kSerial,
                [&](const ExprPtr& value) {
                  c_.Axis(axis) = value;
                  auto inner = nest(i + 1, index * c_.pattern.Extent(axis) + value);
                  c_.Axis(axis) = IntExpr(0);
                  return inner;
                });
  };
  return nest(0, IntExpr(0));
}

std::string ContractionOperands::LayoutText(const OperandAccess& operand, const std::string& tiled,
                                            std::int64_t width) const {
  const Stage& stage = c_.workload.stages[static_cast<std::size_t>(c_.pattern.anchor)];
  const auto name = [&](int axis) { return stage.axes[static_cast<std::size_t>(axis)].name; };
  std::string text = c_.workload.tensors[static_cast<std::size_t>(operand.tensor)].name;
  for (const int axis : c_.pattern.outer)
    if (operand.Uses(axis)) text += fmt::format("[{}]", name(axis));
  text += fmt::format("[{}/{}]", tiled, width);
  for (const int axis : c_.pattern.k) text += fmt::format("[{}]", name(axis));
  return text + fmt::format("[{}]", width);
}

StmtPtr ContractionOperands::PreparePanels(
    const OperandAccess& operand, int buffer, std::int64_t width, std::int64_t extent,
    const std::function<void(AxisValues&, const ExprPtr&)>& place) {
  return EachOuter(operand, [&](const ExprPtr& index) {
    const std::int64_t tiles = CeilDiv(extent, width);
    PanelSpec spec;
    spec.buffer = buffer;
    spec.type = c_.accumulator;
    spec.base = index * (tiles * c_.pattern.ReductionExtent() * width);
    spec.first_tile = IntExpr(0);
    spec.tiles = IntExpr(tiles);
    spec.width = width;
    spec.extent = extent;
    spec.steps = c_.pattern.ReductionExtent();
    spec.reduction = c_.FullReduction();
    return EmitPanels(c_.program(), spec, [&](const ExprPtr& column, std::span<const ExprPtr> k) {
      AxisValues axes = c_.axes;
      c_.SetReduction(axes, k, IntExpr(0));
      place(axes, column);
      return c_.Element(operand, axes);
    });
  });
}

int ContractionOperands::AddPrepared(const OperandAccess& operand, const std::string& tiled,
                                     std::int64_t width, std::int64_t extent) {
  const std::string name =
      c_.workload.tensors[static_cast<std::size_t>(operand.tensor)].name + "_packed";
  return c_.program().AddBuffer(
      {name, c_.accumulator,
       c_.OuterCount(operand) * RoundUp(extent, width) * c_.pattern.ReductionExtent(),
       Scope::kPrepared, -1, LayoutText(operand, tiled, width)});
}

StmtPtr ContractionOperands::PrepareA() {
  a_buffer_ = AddPrepared(c_.pattern.a, c_.AxisName(c_.pattern.m), c_.plan.rows,
                          c_.pattern.Extent(c_.pattern.m));
  return PreparePanels(c_.pattern.a, a_buffer_, c_.plan.rows, c_.pattern.Extent(c_.pattern.m),
                       [&](AxisValues& axes, const ExprPtr& row) {
                         if (c_.pattern.m >= 0) axes[static_cast<std::size_t>(c_.pattern.m)] = row;
                       });
}

StmtPtr ContractionOperands::PrepareB() {
  std::string name = c_.AxisName(c_.pattern.x);
  if (c_.pattern.y >= 0) name = c_.AxisName(c_.pattern.y) + "*" + name;
  b_buffer_ = AddPrepared(c_.pattern.b, name, c_.TileColumns(), c_.columns.length);
  return PreparePanels(c_.pattern.b, b_buffer_, c_.TileColumns(), c_.columns.length,
                       [&](AxisValues& axes, const ExprPtr& column) { PlaceColumn(axes, column); });
}

void ContractionOperands::PlaceColumn(AxisValues& axes, const ExprPtr& column) const {
  const ExprPtr width = IntExpr(c_.pattern.Extent(c_.pattern.x));
  axes[static_cast<std::size_t>(c_.pattern.x)] = c_.pattern.y < 0 ? column : column % width;
  if (c_.pattern.y >= 0) axes[static_cast<std::size_t>(c_.pattern.y)] = column / width;
}

StmtPtr ContractionOperands::FillBox(const ExprPtr& y0, const ExprPtr& k0_start, const ExprPtr& run,
                                     std::int64_t k0_box) {
  std::vector<std::int64_t> box = c_.pattern.extents;
  for (const int axis : c_.pattern.outer) box[static_cast<std::size_t>(axis)] = 1;
  if (c_.pattern.m >= 0) box[static_cast<std::size_t>(c_.pattern.m)] = 1;
  if (c_.pattern.y >= 0) box[static_cast<std::size_t>(c_.pattern.y)] = c_.columns.block_rows;
  box[static_cast<std::size_t>(c_.K0())] = k0_box;
  const bool blocked = k0_box < c_.pattern.Extent(c_.K0());
  b_box_.emplace(c_.pattern.b, c_.accumulator, box, c_.pattern.extents, c_.pattern.x, c_.pattern.y,
                 blocked ? c_.K0() : -1);
  b_box_scratch_ = c_.AddScratch("rows", b_box_->elements() + c_.TileColumns());
  AxisValues origin = c_.axes;
  if (c_.pattern.y >= 0) origin[static_cast<std::size_t>(c_.pattern.y)] = y0;
  origin[static_cast<std::size_t>(c_.K0())] = k0_start;
  return b_box_->Fill(c_.program(), c_.lowering.BufferOf(c_.pattern.b.tensor),
                      b_box_scratch_.buffer, b_box_scratch_.base, origin, run, c_.plan.lanes);
}

StmtPtr ContractionOperands::FillPanels(const ExprPtr& first, const ExprPtr& tiles,
                                        std::int64_t max_tiles, const ExprPtr& k0_start,
                                        const ExprPtr& run, std::int64_t k0_box, std::int64_t width,
                                        std::int64_t extent, Scratch& scratch) {
  PanelSpec spec;
  spec.steps = k0_box * c_.InnerReduction();
  scratch = c_.AddScratch("panel", max_tiles * spec.steps * width);
  spec.buffer = scratch.buffer;
  spec.type = c_.accumulator;
  spec.base = scratch.base;
  spec.first_tile = first;
  spec.tiles = tiles;
  spec.width = width;
  spec.extent = extent;
  spec.reduction = c_.FullReduction();
  spec.reduction[0] = run;
  spec.lanes = c_.plan.lanes;
  spec.neighbours = c_.copy_b || c_.pattern.b.Stride(c_.pattern.x) == 1;
  spec.readable_beyond = c_.copy_b;
  return EmitPanels(
      c_.program(), spec, [&](const ExprPtr& column, std::span<const ExprPtr> k) -> ExprPtr {
        AxisValues axes = c_.axes;
        if (c_.copy_b) {
          for (ExprPtr& axis : axes) axis = IntExpr(0);
          c_.SetReduction(axes, k, IntExpr(0));
          axes[static_cast<std::size_t>(c_.pattern.x)] = column;
          return LoadExpr(b_box_scratch_.buffer, {b_box_scratch_.base + b_box_->Offset(axes)},
                          c_.accumulator);
        }
        c_.SetReduction(axes, k, k0_start);
        // Columns of neighbouring rows follow each other in the tensor wherever b is not copied.
        axes[static_cast<std::size_t>(c_.pattern.x)] = column;
        return c_.Element(c_.pattern.b, axes);
      });
}

StmtPtr ContractionOperands::PackWholeB() {
  std::vector<StmtPtr> body;
  const std::int64_t k0 = c_.pattern.Extent(c_.K0());
  if (c_.plan.b == BSource::kDirect && c_.columns.length % c_.TileColumns() != 0) {
    const std::int64_t tail = RoundUp(c_.columns.length % c_.TileColumns(), c_.plan.lanes);
    // One narrow panel for the last tile: its columns start where the whole tiles end.
    const std::int64_t whole = c_.columns.length / c_.TileColumns() * c_.TileColumns();
    PanelSpec spec;
    spec.steps = k0 * c_.InnerReduction();
    b_tail_scratch_ = c_.AddScratch("tail", spec.steps * tail);
    spec.buffer = b_tail_scratch_.buffer;
    spec.type = c_.accumulator;
    spec.base = b_tail_scratch_.base;
    spec.first_tile = IntExpr(0);
    spec.tiles = IntExpr(1);
    spec.width = tail;
    spec.extent = c_.columns.length - whole;
    spec.reduction = c_.FullReduction();
    spec.lanes = c_.plan.lanes;
    spec.neighbours = true;
    body.push_back(
        EmitPanels(c_.program(), spec, [&](const ExprPtr& column, std::span<const ExprPtr> k) {
          AxisValues axes = c_.axes;
          c_.SetReduction(axes, k, IntExpr(0));
          axes[static_cast<std::size_t>(c_.pattern.x)] = column + whole;
          return c_.Element(c_.pattern.b, axes);
        }));
  }
  if (c_.plan.n_outer) return Block(std::move(body));
  if (c_.copy_b) body.push_back(FillBox(IntExpr(0), IntExpr(0), IntExpr(k0), k0));
  if (c_.plan.b == BSource::kPanel)
    body.push_back(FillPanels(IntExpr(0), IntExpr(c_.n_tiles), c_.n_tiles, IntExpr(0), IntExpr(k0),
                              k0, c_.TileColumns(), c_.columns.length, b_scratch_));
  return Block(std::move(body));
}

StmtPtr ContractionOperands::FillRowPanels(const ExprPtr& first, const ExprPtr& tiles,
                                           std::int64_t max_tiles, const ExprPtr& k0_start,
                                           const ExprPtr& run, std::int64_t k0_box) {
  PanelSpec spec;
  spec.steps = k0_box * c_.InnerReduction();
  a_scratch_ = c_.AddScratch("row_panel", max_tiles * spec.steps * c_.plan.rows);
  spec.buffer = a_scratch_.buffer;
  spec.type = c_.accumulator;
  spec.base = a_scratch_.base;
  spec.first_tile = first;
  spec.tiles = tiles;
  spec.width = c_.plan.rows;
  spec.extent = c_.pattern.Extent(c_.pattern.m);
  spec.reduction = c_.FullReduction();
  spec.reduction[0] = run;
  spec.lanes = c_.plan.lanes;
  spec.neighbours = c_.pattern.m >= 0 && c_.pattern.a.Stride(c_.pattern.m) == 1;
  return EmitPanels(c_.program(), spec, [&](const ExprPtr& row, std::span<const ExprPtr> k) {
    AxisValues axes = c_.axes;
    c_.SetReduction(axes, k, k0_start);
    if (c_.pattern.m >= 0) axes[static_cast<std::size_t>(c_.pattern.m)] = row;
    return c_.Element(c_.pattern.a, axes);
  });
}

StmtPtr ContractionOperands::PackWholeA() {
  const std::int64_t k0 = c_.pattern.Extent(c_.K0());
  if (c_.plan.a == ASource::kPacked && c_.plan.n_outer)
    return FillRowPanels(IntExpr(0), IntExpr(c_.m_tiles), c_.m_tiles, IntExpr(0), IntExpr(k0), k0);
  if (c_.plan.a != ASource::kCopied) return Block({});
  std::vector<std::int64_t> box = c_.pattern.extents;
  for (const int axis : c_.pattern.outer) box[static_cast<std::size_t>(axis)] = 1;
  a_box_.emplace(c_.pattern.a, c_.accumulator, box, c_.pattern.extents, -1, -1, -1);
  a_scratch_ = c_.AddScratch("copy", a_box_->elements());
  return a_box_->Fill(c_.program(), c_.lowering.BufferOf(c_.pattern.a.tensor), a_scratch_.buffer,
                      a_scratch_.base, c_.axes, IntExpr(k0), c_.plan.lanes);
}

TileOperand ContractionOperands::A(const TilePlace& place, const ExprPtr& mt, const ExprPtr& m0) {
  TileOperand a;
  a.type = c_.accumulator;
  AxisValues axes = c_.axes;
  axes[static_cast<std::size_t>(c_.K0())] = place.k0_start;
  if (c_.pattern.m >= 0) axes[static_cast<std::size_t>(c_.pattern.m)] = m0;
  switch (c_.plan.a) {
    case ASource::kPrepared:
      a.buffer = a_buffer_;
      a.base = ((c_.OuterIndex(c_.pattern.a) * c_.m_tiles + mt) * c_.pattern.ReductionExtent() +
                place.k0_start * c_.InnerReduction()) *
               c_.plan.rows;
      a.step = c_.PanelStep(c_.plan.rows);
      break;
    case ASource::kPacked:
      a.buffer = a_scratch_.buffer;
      a.base = a_scratch_.base +
               (place.a_local
                    ? (mt - place.m_first) * (c_.plan.k_block * c_.InnerReduction())
                    : mt * c_.pattern.ReductionExtent() + place.k0_start * c_.InnerReduction()) *
                   c_.plan.rows;
      a.step = c_.PanelStep(c_.plan.rows);
      break;
    case ASource::kDirect:
      a.buffer = c_.lowering.BufferOf(c_.pattern.a.tensor);
      a.type = c_.pattern.a.type;
      a.base = c_.FlatIndexOf(c_.pattern.a, axes);
      a.step = c_.StrideStep(c_.pattern.a);
      a.row_stride = c_.pattern.m < 0 ? 1 : c_.pattern.a.Stride(c_.pattern.m);
      break;
    case ASource::kCopied: {
      AxisValues zero(axes.size(), IntExpr(0));
      a.buffer = a_scratch_.buffer;
      a.base = a_scratch_.base + a_box_->Offset(axes);
      a.step = [this, zero](std::span<const ExprPtr> k) {
        AxisValues at = zero;
        c_.SetReduction(at, k, IntExpr(0));
        return a_box_->Offset(at);
      };
      if (c_.pattern.m >= 0) {
        zero[static_cast<std::size_t>(c_.pattern.m)] = IntExpr(1);
        a.row_stride = a_box_->Offset(zero)->integer;
      }
      break;
    }
  }
  return a;
}

TileOperand ContractionOperands::B(const TilePlace& place, const ExprPtr& nt, const ExprPtr& n0,
                                   std::int64_t columns) {
  TileOperand b;
  b.type = c_.accumulator;
  switch (c_.plan.b) {
    case BSource::kPrepared:
      b.buffer = b_buffer_;
      b.base = ((c_.OuterIndex(c_.pattern.b) * c_.n_tiles + nt) * c_.pattern.ReductionExtent() +
                place.k0_start * c_.InnerReduction()) *
               c_.TileColumns();
      b.step = c_.PanelStep(c_.TileColumns());
      break;
    case BSource::kPanel:
      b.buffer = b_scratch_.buffer;
      b.base = b_scratch_.base +
               (place.b_local
                    ? (nt - place.n_first) * (c_.plan.k_block * c_.InnerReduction())
                    : nt * c_.pattern.ReductionExtent() + place.k0_start * c_.InnerReduction()) *
                   c_.TileColumns();
      b.step = c_.PanelStep(c_.TileColumns());
      break;
    case BSource::kDirect: {
      if (columns < c_.TileColumns()) {
        const std::int64_t tail = RoundUp(columns, c_.plan.lanes);
        b.buffer = b_tail_scratch_.buffer;
        b.base = b_tail_scratch_.base + place.k0_start * (c_.InnerReduction() * tail);
        b.step = c_.PanelStep(tail);
        break;
      }
      AxisValues axes = c_.axes;
      axes[static_cast<std::size_t>(c_.K0())] = place.k0_start;
      axes[static_cast<std::size_t>(c_.pattern.x)] = n0;
      b.buffer = c_.lowering.BufferOf(c_.pattern.b.tensor);
      b.base = c_.FlatIndexOf(c_.pattern.b, axes);
      b.step = c_.StrideStep(c_.pattern.b);
      break;
    }
    case BSource::kRows: {
      AxisValues at(c_.axes.size(), IntExpr(0));
      if (!place.b_local) at[static_cast<std::size_t>(c_.K0())] = place.k0_start;
      at[static_cast<std::size_t>(c_.pattern.x)] = n0;
      b.buffer = b_box_scratch_.buffer;
      b.base = b_box_scratch_.base + b_box_->Offset(at);
      b.step = [this](std::span<const ExprPtr> k) {
        AxisValues zero(c_.axes.size(), IntExpr(0));
        c_.SetReduction(zero, k, IntExpr(0));
        return b_box_->Offset(zero);
      };
      break;
    }
  }
  return b;
}

}  // namespace kindred
