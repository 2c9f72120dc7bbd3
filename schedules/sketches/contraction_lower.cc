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
// so that every element is packed once. A reduction in several blocks keeps its sums in a workspace in the
// tiles' own order. Tiles at the edges are narrower variants of the same code; nothing reads or writes past
// the end of a tensor.
#include "schedules/sketches/contraction_lower.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "schedules/internal/lower_common.h"
#include "schedules/sketches/contraction_box.h"
#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/contraction_epilogue.h"
#include "schedules/sketches/contraction_panel.h"
#include "schedules/sketches/contraction_tile.h"

namespace kindred {
namespace {

using Values = std::vector<ExprPtr>;

// Runs of results shorter than this are stored point by point.
constexpr std::int64_t kShortestVector = 8;

class ContractionLowering {
 public:
  ContractionLowering(const Workload& workload, const ContractionPattern& pattern,
                      const ContractionPlan& plan, const Target& target)
      : workload_(workload), pattern_(pattern), plan_(plan), target_(target), lowering_(workload),
        program_(lowering_.program),
        epilogue_(lowering_, {pattern.anchor, pattern.before, pattern.after, pattern.after_axes}),
        columns_(ColumnsOf(pattern, plan.row_blocks)),
        copy_b_(pattern.b_slides && !pattern.b.weight),
        accumulator_(pattern.accumulator) {
    n_tiles_ = CeilDiv(columns_.length, plan_.TileColumns());
    m_tiles_ = CeilDiv(pattern_.Extent(pattern_.m), plan_.rows);
    k0_blocks_ = CeilDiv(pattern_.Extent(K0()), plan_.k_block);
    axes_.assign(pattern_.extents.size(), IntExpr(0));
    vector_store_ =
        epilogue_.VectorAlong(pattern_.x) &&
        (pattern_.y < 0 || (columns_.pitch == pattern_.Extent(pattern_.x) &&
                            epilogue_.Joins(pattern_.y, pattern_.x, pattern_.Extent(pattern_.x))));
  }

  Program Lower() {
    program_.name = "contraction";
    std::vector<StmtPtr> body;
    for (const int stage : pattern_.before)
      body.push_back(internal::PlainStage(lowering_, workload_.stages[static_cast<std::size_t>(stage)]));
    std::vector<StmtPtr> prepare;
    if (plan_.a == ASource::kPrepared) prepare.push_back(PrepareA());
    if (plan_.b == BSource::kPrepared) prepare.push_back(PrepareB());
    if (!prepare.empty()) program_.prepare = Block(std::move(prepare));

    std::int64_t outer = 1;
    for (const int axis : pattern_.outer) outer *= pattern_.Extent(axis);
    parallel_outer_ = target_.threads > 1 && outer >= target_.threads;
    body.push_back(OuterLoops(0));
    program_.body = Block(std::move(body));
    program_.compiler = plan_.compiler;
    program_.flags = plan_.flags;
    return std::move(program_);
  }

 private:
  struct Scratch {  // a workspace buffer, one part for each iteration of a parallel loop around it
    int buffer = -1;
    ExprPtr base;
  };

  int K0() const { return pattern_.k.front(); }
  ExprPtr& Axis(int axis) { return axes_[static_cast<std::size_t>(axis)]; }
  std::int64_t TileColumns() const { return plan_.TileColumns(); }
  std::int64_t InnerReduction() const { return pattern_.ReductionExtent() / pattern_.Extent(K0()); }

  Scratch AddScratch(std::string name, std::int64_t elements) {
    const std::int64_t padded = RoundUp(elements, 64 / ByteSize(accumulator_));
    const int buffer = program_.AddBuffer(
        {std::move(name), accumulator_, padded * parallel_parts_, Scope::kWorkspace, -1, ""});
    return {buffer, parallel_index_ ? parallel_index_ * padded : IntExpr(0)};
  }

  // A loop that may be the parallel one.
  template <typename Body>
  StmtPtr OuterLoop(std::string name, std::int64_t extent, bool parallel, Body&& body) {
    if (!parallel || extent < 2 || parallel_index_)
      return Loop(program_, std::move(name), extent, LoopKind::kSerial, body);
    parallel_parts_ = extent;
    auto loop = Loop(program_, std::move(name), extent, LoopKind::kParallel, [&](const ExprPtr& i) {
      parallel_index_ = i;
      return body(i);
    });
    parallel_parts_ = 1;
    parallel_index_ = nullptr;
    return loop;
  }

  Values FullReduction() const {
    Values extents;
    for (const int axis : pattern_.k) extents.push_back(IntExpr(pattern_.Extent(axis)));
    return extents;
  }

  // Address of an operand's element in its own tensor.
  ExprPtr FlatIndexOf(const OperandAccess& operand, std::span<const ExprPtr> axes) const {
    Values indices;
    for (const Affine& index : operand.index) indices.push_back(SubstituteVars(FromAffine(index), axes));
    return internal::FlatIndex(workload_.tensors[static_cast<std::size_t>(operand.tensor)], indices);
  }
  ExprPtr Element(const OperandAccess& operand, std::span<const ExprPtr> axes) {
    return CastExpr(accumulator_, LoadExpr(lowering_.BufferOf(operand.tensor),
                                           {FlatIndexOf(operand, axes)}, operand.type));
  }
  // What the reduction loops add to that address.
  std::function<ExprPtr(std::span<const ExprPtr>)> StrideStep(const OperandAccess& operand) const {
    std::vector<std::int64_t> strides;
    for (const int axis : pattern_.k) strides.push_back(operand.Stride(axis));
    return [strides](std::span<const ExprPtr> k) {
      ExprPtr sum = IntExpr(0);
      for (std::size_t i = 0; i < k.size(); ++i) sum = sum + k[i] * strides[i];
      return sum;
    };
  }
  std::function<ExprPtr(std::span<const ExprPtr>)> PanelStep(std::int64_t width) const {
    const Values extents = FullReduction();  // the first one does not matter
    return [extents, width](std::span<const ExprPtr> k) { return LinearStep(k, extents) * width; };
  }
  void SetReduction(Values& axes, std::span<const ExprPtr> k, const ExprPtr& k0_start) const {
    for (std::size_t i = 0; i < k.size(); ++i)
      axes[static_cast<std::size_t>(pattern_.k[i])] = i == 0 ? k0_start + k[i] : k[i];
  }

  // ---- weights, ahead of time

  // Loops over the outer axes that `operand` depends on; body(index of that combination).
  StmtPtr EachOuter(const OperandAccess& operand, const std::function<StmtPtr(const ExprPtr&)>& body) {
    std::function<StmtPtr(std::size_t, ExprPtr)> nest = [&](std::size_t i, ExprPtr index) -> StmtPtr {
      if (i == pattern_.outer.size()) return body(index);
      const int axis = pattern_.outer[i];
      if (!operand.Uses(axis)) return nest(i + 1, index);
      return Loop(program_, "o", pattern_.Extent(axis), LoopKind::kSerial, [&](const ExprPtr& value) {
        Axis(axis) = value;
        auto inner = nest(i + 1, index * pattern_.Extent(axis) + value);
        Axis(axis) = IntExpr(0);
        return inner;
      });
    };
    return nest(0, IntExpr(0));
  }
  std::int64_t OuterCount(const OperandAccess& operand) const {
    std::int64_t count = 1;
    for (const int axis : pattern_.outer)
      if (operand.Uses(axis)) count *= pattern_.Extent(axis);
    return count;
  }
  ExprPtr OuterIndex(const OperandAccess& operand) {
    ExprPtr index = IntExpr(0);
    for (const int axis : pattern_.outer)
      if (operand.Uses(axis)) index = index * pattern_.Extent(axis) + Axis(axis);
    return index;
  }
  std::string LayoutText(const OperandAccess& operand, const std::string& tiled, std::int64_t width) const {
    const Stage& stage = workload_.stages[static_cast<std::size_t>(pattern_.anchor)];
    const auto name = [&](int axis) { return stage.axes[static_cast<std::size_t>(axis)].name; };
    std::string text = workload_.tensors[static_cast<std::size_t>(operand.tensor)].name;
    for (const int axis : pattern_.outer)
      if (operand.Uses(axis)) text += fmt::format("[{}]", name(axis));
    text += fmt::format("[{}/{}]", tiled, width);
    for (const int axis : pattern_.k) text += fmt::format("[{}]", name(axis));
    return text + fmt::format("[{}]", width);
  }

  StmtPtr PreparePanels(const OperandAccess& operand, int buffer, std::int64_t width,
                        std::int64_t extent, const std::function<void(Values&, const ExprPtr&)>& place) {
    return EachOuter(operand, [&](const ExprPtr& index) {
      const std::int64_t tiles = CeilDiv(extent, width);
      PanelSpec spec;
      spec.buffer = buffer;
      spec.type = accumulator_;
      spec.base = index * (tiles * pattern_.ReductionExtent() * width);
      spec.first_tile = IntExpr(0);
      spec.tiles = IntExpr(tiles);
      spec.width = width;
      spec.extent = extent;
      spec.steps = pattern_.ReductionExtent();
      spec.reduction = FullReduction();
      return EmitPanels(program_, spec, [&](const ExprPtr& column, std::span<const ExprPtr> k) {
        Values axes = axes_;
        SetReduction(axes, k, IntExpr(0));
        place(axes, column);
        return Element(operand, axes);
      });
    });
  }
  int AddPrepared(const OperandAccess& operand, const std::string& tiled, std::int64_t width,
                  std::int64_t extent) {
    const std::string name = workload_.tensors[static_cast<std::size_t>(operand.tensor)].name + "_packed";
    return program_.AddBuffer({name, accumulator_,
                               OuterCount(operand) * RoundUp(extent, width) * pattern_.ReductionExtent(),
                               Scope::kPrepared, -1, LayoutText(operand, tiled, width)});
  }
  std::string AxisName(int axis) const {
    const Stage& stage = workload_.stages[static_cast<std::size_t>(pattern_.anchor)];
    return axis < 0 ? "1" : stage.axes[static_cast<std::size_t>(axis)].name;
  }
  StmtPtr PrepareA() {
    a_buffer_ = AddPrepared(pattern_.a, AxisName(pattern_.m), plan_.rows, pattern_.Extent(pattern_.m));
    return PreparePanels(pattern_.a, a_buffer_, plan_.rows, pattern_.Extent(pattern_.m),
                         [&](Values& axes, const ExprPtr& row) {
                           if (pattern_.m >= 0) axes[static_cast<std::size_t>(pattern_.m)] = row;
                         });
  }
  StmtPtr PrepareB() {
    std::string name = AxisName(pattern_.x);
    if (pattern_.y >= 0) name = AxisName(pattern_.y) + "*" + name;
    b_buffer_ = AddPrepared(pattern_.b, name, TileColumns(), columns_.length);
    return PreparePanels(pattern_.b, b_buffer_, TileColumns(), columns_.length,
                         [&](Values& axes, const ExprPtr& column) { PlaceColumn(axes, column); });
  }
  // x (and y) of a column of the whole plane, for element-wise reading.
  void PlaceColumn(Values& axes, const ExprPtr& column) const {
    const ExprPtr width = IntExpr(pattern_.Extent(pattern_.x));
    axes[static_cast<std::size_t>(pattern_.x)] = pattern_.y < 0 ? column : column % width;
    if (pattern_.y >= 0) axes[static_cast<std::size_t>(pattern_.y)] = column / width;
  }

  // ---- operands, in the body

  StmtPtr OuterLoops(std::size_t level) {
    std::vector<StmtPtr> body;
    const auto whole_b = static_cast<std::size_t>(pattern_.outer_of_b);
    if (level == whole_b) body.push_back(PackWholeB());
    if (level == pattern_.outer.size()) {
      body.push_back(PackWholeA());
      body.push_back(BlockLoops());
      return Block(std::move(body));
    }
    const int axis = pattern_.outer[level];
    body.push_back(OuterLoop(AxisName(axis), pattern_.Extent(axis), parallel_outer_, [&](const ExprPtr& i) {
      Axis(axis) = i;
      auto inner = OuterLoops(level + 1);
      Axis(axis) = IntExpr(0);
      return inner;
    }));
    return Block(std::move(body));
  }

  // Fills the copied box of b: rows from y0, elements k0_start... of the outermost reduction axis.
  StmtPtr FillBox(const ExprPtr& y0, const ExprPtr& k0_start, const ExprPtr& run, std::int64_t k0_box) {
    std::vector<std::int64_t> box = pattern_.extents;
    for (const int axis : pattern_.outer) box[static_cast<std::size_t>(axis)] = 1;
    if (pattern_.m >= 0) box[static_cast<std::size_t>(pattern_.m)] = 1;
    if (pattern_.y >= 0) box[static_cast<std::size_t>(pattern_.y)] = columns_.block_rows;
    box[static_cast<std::size_t>(K0())] = k0_box;
    const bool blocked = k0_box < pattern_.Extent(K0());
    b_box_.emplace(pattern_.b, accumulator_, box, pattern_.extents, pattern_.x, pattern_.y,
                   blocked ? K0() : -1);
    b_box_scratch_ = AddScratch("rows", b_box_->elements() + TileColumns());
    Values origin = axes_;
    if (pattern_.y >= 0) origin[static_cast<std::size_t>(pattern_.y)] = y0;
    origin[static_cast<std::size_t>(K0())] = k0_start;
    return b_box_->Fill(program_, lowering_.BufferOf(pattern_.b.tensor), b_box_scratch_.buffer,
                        b_box_scratch_.base, origin, run, plan_.lanes);
  }

  // Panels of b for `tiles` tiles from `first`, of k0_box steps of the outermost reduction axis.
  StmtPtr FillPanels(const ExprPtr& first, const ExprPtr& tiles, std::int64_t max_tiles,
                     const ExprPtr& k0_start, const ExprPtr& run, std::int64_t k0_box,
                     std::int64_t width, std::int64_t extent, Scratch& scratch) {
    PanelSpec spec;
    spec.steps = k0_box * InnerReduction();
    scratch = AddScratch("panel", max_tiles * spec.steps * width);
    spec.buffer = scratch.buffer;
    spec.type = accumulator_;
    spec.base = scratch.base;
    spec.first_tile = first;
    spec.tiles = tiles;
    spec.width = width;
    spec.extent = extent;
    spec.reduction = FullReduction();
    spec.reduction[0] = run;
    spec.lanes = plan_.lanes;
    spec.neighbours = copy_b_ || (pattern_.b.Stride(pattern_.x) == 1 && pattern_.b.type == accumulator_);
    spec.readable_beyond = copy_b_;
    return EmitPanels(program_, spec, [&](const ExprPtr& column, std::span<const ExprPtr> k) -> ExprPtr {
      Values axes = axes_;
      if (copy_b_) {
        for (ExprPtr& axis : axes) axis = IntExpr(0);
        SetReduction(axes, k, IntExpr(0));
        axes[static_cast<std::size_t>(pattern_.x)] = column;
        return LoadExpr(b_box_scratch_.buffer, {b_box_scratch_.base + b_box_->Offset(axes)}, accumulator_);
      }
      SetReduction(axes, k, k0_start);
      // Columns of neighbouring rows follow each other in the tensor wherever b is not copied.
      axes[static_cast<std::size_t>(pattern_.x)] = column;
      return Element(pattern_.b, axes);
    });
  }

  StmtPtr PackWholeB() {
    std::vector<StmtPtr> body;
    const std::int64_t k0 = pattern_.Extent(K0());
    if (plan_.b == BSource::kDirect && columns_.length % TileColumns() != 0) {
      const std::int64_t tail = RoundUp(columns_.length % TileColumns(), plan_.lanes);
      // One narrow panel for the last tile: its columns start where the whole tiles end.
      const std::int64_t whole = columns_.length / TileColumns() * TileColumns();
      for (ExprPtr& axis : axes_) axis = axis ? axis : IntExpr(0);
      PanelSpec spec;
      spec.steps = k0 * InnerReduction();
      b_tail_scratch_ = AddScratch("tail", spec.steps * tail);
      spec.buffer = b_tail_scratch_.buffer;
      spec.type = accumulator_;
      spec.base = b_tail_scratch_.base;
      spec.first_tile = IntExpr(0);
      spec.tiles = IntExpr(1);
      spec.width = tail;
      spec.extent = columns_.length - whole;
      spec.reduction = FullReduction();
      spec.lanes = plan_.lanes;
      spec.neighbours = true;
      body.push_back(EmitPanels(program_, spec, [&](const ExprPtr& column, std::span<const ExprPtr> k) {
        Values axes = axes_;
        SetReduction(axes, k, IntExpr(0));
        axes[static_cast<std::size_t>(pattern_.x)] = column + whole;
        return Element(pattern_.b, axes);
      }));
    }
    if (plan_.n_outer) return Block(std::move(body));
    if (copy_b_) body.push_back(FillBox(IntExpr(0), IntExpr(0), IntExpr(k0), k0));
    if (plan_.b == BSource::kPanel)
      body.push_back(FillPanels(IntExpr(0), IntExpr(n_tiles_), n_tiles_, IntExpr(0), IntExpr(k0), k0,
                                TileColumns(), columns_.length, b_scratch_));
    return Block(std::move(body));
  }

  StmtPtr FillRowPanels(const ExprPtr& first, const ExprPtr& tiles, std::int64_t max_tiles,
                        const ExprPtr& k0_start, const ExprPtr& run, std::int64_t k0_box) {
    PanelSpec spec;
    spec.steps = k0_box * InnerReduction();
    a_scratch_ = AddScratch("row_panel", max_tiles * spec.steps * plan_.rows);
    spec.buffer = a_scratch_.buffer;
    spec.type = accumulator_;
    spec.base = a_scratch_.base;
    spec.first_tile = first;
    spec.tiles = tiles;
    spec.width = plan_.rows;
    spec.extent = pattern_.Extent(pattern_.m);
    spec.reduction = FullReduction();
    spec.reduction[0] = run;
    spec.lanes = plan_.lanes;
    spec.neighbours =
        pattern_.m >= 0 && pattern_.a.Stride(pattern_.m) == 1 && pattern_.a.type == accumulator_;
    return EmitPanels(program_, spec, [&](const ExprPtr& row, std::span<const ExprPtr> k) {
      Values axes = axes_;
      SetReduction(axes, k, k0_start);
      if (pattern_.m >= 0) axes[static_cast<std::size_t>(pattern_.m)] = row;
      return Element(pattern_.a, axes);
    });
  }

  StmtPtr PackWholeA() {
    const std::int64_t k0 = pattern_.Extent(K0());
    if (plan_.a == ASource::kPacked && plan_.n_outer)
      return FillRowPanels(IntExpr(0), IntExpr(m_tiles_), m_tiles_, IntExpr(0), IntExpr(k0), k0);
    if (plan_.a != ASource::kCopied) return Block({});
    std::vector<std::int64_t> box = pattern_.extents;
    for (const int axis : pattern_.outer) box[static_cast<std::size_t>(axis)] = 1;
    a_box_.emplace(pattern_.a, accumulator_, box, pattern_.extents, -1, -1, -1);
    a_scratch_ = AddScratch("copy", a_box_->elements());
    return a_box_->Fill(program_, lowering_.BufferOf(pattern_.a.tensor), a_scratch_.buffer,
                        a_scratch_.base, axes_, IntExpr(k0), plan_.lanes);
  }

  // ---- blocks and tiles

  struct Block_ {  // where the tile loops are
    ExprPtr y0;                    // first row of the columns' block
    ExprPtr k0_start, run;         // part of the outermost reduction axis
    ExprPtr kb;                    // which part
    ExprPtr n_first, n_tiles;      // tiles of the outer block
    ExprPtr m_first, m_tiles;
    bool b_local = false, a_local = false;  // panels hold this block only
  };

  static ExprPtr BlockLength(const ExprPtr& start, std::int64_t block, std::int64_t all) {
    if (all % block == 0) return IntExpr(block);
    return Minimum(IntExpr(block), IntExpr(all) - start);
  }

  StmtPtr BlockLoops() {
    const bool row_blocks = plan_.n_outer && copy_b_;
    const std::int64_t count = row_blocks        ? plan_.row_blocks
                               : plan_.n_outer ? CeilDiv(n_tiles_, plan_.n_block)
                                               : CeilDiv(m_tiles_, plan_.m_block);
    return OuterLoop("block", count, target_.threads > 1 && !parallel_outer_, [&](const ExprPtr& ob) {
      std::vector<StmtPtr> body;
      Block_ block;
      block.y0 = IntExpr(0);
      block.n_first = block.m_first = IntExpr(0);
      block.n_tiles = IntExpr(n_tiles_);
      block.m_tiles = IntExpr(m_tiles_);
      if (row_blocks) {
        // The last block starts early where the rows do not divide: some are computed twice.
        const std::int64_t rows = columns_.block_rows, all = pattern_.Extent(pattern_.y);
        block.y0 = Named(program_, body, "y0",
                         all % rows == 0 ? ob * rows : Minimum(ob * rows, IntExpr(all - rows)));
      } else if (plan_.n_outer) {
        block.n_first = Named(program_, body, "n_first", ob * plan_.n_block);
        block.n_tiles = Named(program_, body, "n_tiles",
                              BlockLength(block.n_first, plan_.n_block, n_tiles_));
      } else {
        block.m_first = Named(program_, body, "m_first", ob * plan_.m_block);
        block.m_tiles = Named(program_, body, "m_tiles",
                              BlockLength(block.m_first, plan_.m_block, m_tiles_));
      }
      if (k0_blocks_ > 1)
        sums_ = AddScratch("sums", (plan_.n_outer ? plan_.n_block : n_tiles_) *
                                       (plan_.n_outer ? m_tiles_ : plan_.m_block) * plan_.rows *
                                       TileColumns());
      body.push_back(Loop(program_, "kb", k0_blocks_, LoopKind::kSerial, [&](const ExprPtr& kb) {
        return ReductionBlock(block, kb);
      }));
      return Block(std::move(body));
    });
  }

  StmtPtr ReductionBlock(Block_ block, const ExprPtr& kb) {
    std::vector<StmtPtr> body;
    block.kb = kb;
    block.k0_start = Named(program_, body, "k_first", kb * plan_.k_block);
    block.run = Named(program_, body, "k_run",
                      BlockLength(block.k0_start, plan_.k_block, pattern_.Extent(K0())));
    if (plan_.n_outer) {
      if (copy_b_) body.push_back(FillBox(block.y0, block.k0_start, block.run, plan_.k_block));
      if (plan_.b == BSource::kPanel)
        body.push_back(FillPanels(block.n_first, block.n_tiles, plan_.n_block, block.k0_start,
                                  block.run, plan_.k_block, TileColumns(), columns_.length, b_scratch_));
      block.b_local = true;
    } else if (plan_.a == ASource::kPacked) {
      body.push_back(FillRowPanels(block.m_first, block.m_tiles, plan_.m_block, block.k0_start,
                                   block.run, plan_.k_block));
      block.a_local = true;
    }

    // The inner cache loop over the other side, then the tiles.
    const std::int64_t inner_all = plan_.n_outer ? m_tiles_ : n_tiles_;
    const std::int64_t inner_block = plan_.n_outer ? plan_.m_block : plan_.n_block;
    body.push_back(Loop(
        program_, "inner", CeilDiv(inner_all, inner_block), LoopKind::kSerial, [&](const ExprPtr& ib) {
          std::vector<StmtPtr> inside;
          const ExprPtr first = Named(program_, inside, "inner_first", ib * inner_block);
          const ExprPtr tiles =
              Named(program_, inside, "inner_tiles", BlockLength(first, inner_block, inner_all));
          const ExprPtr n_first = plan_.n_outer ? block.n_first : first;
          const ExprPtr n_count = plan_.n_outer ? block.n_tiles : tiles;
          const ExprPtr m_first = plan_.n_outer ? first : block.m_first;
          const ExprPtr m_count = plan_.n_outer ? tiles : block.m_tiles;
          const auto over_n = [&](const std::function<StmtPtr(const ExprPtr&)>& inner) {
            return Loop(program_, "nt", n_count, LoopKind::kSerial,
                        [&](const ExprPtr& i) { return inner(n_first + i); });
          };
          const auto over_m = [&](const std::function<StmtPtr(const ExprPtr&)>& inner) {
            return Loop(program_, "mt", m_count, LoopKind::kSerial,
                        [&](const ExprPtr& i) { return inner(m_first + i); });
          };
          if (plan_.n_tiles_outer)
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

  // All variants of one tile: whole, and cut at the edges of rows and columns.
  StmtPtr Tile(const Block_& block, const ExprPtr& nt, const ExprPtr& mt) {
    std::vector<StmtPtr> body;
    const ExprPtr n0 = Named(program_, body, "n0", nt * TileColumns());
    const ExprPtr m0 = Named(program_, body, "m0", mt * plan_.rows);
    const std::int64_t row_tail = pattern_.Extent(pattern_.m) % plan_.rows;
    const std::int64_t column_tail = columns_.length % TileColumns();
    const auto by_rows = [&](std::int64_t columns) -> StmtPtr {
      if (row_tail == 0) return Variant(block, nt, mt, n0, m0, plan_.rows, columns);
      const auto tail = Variant(block, nt, mt, n0, m0, row_tail, columns);
      if (m_tiles_ == 1) return tail;
      return If(LessThan(mt, IntExpr(m_tiles_ - 1)), Variant(block, nt, mt, n0, m0, plan_.rows, columns),
                tail);
    };
    if (column_tail == 0)
      body.push_back(by_rows(TileColumns()));
    else if (n_tiles_ == 1)
      body.push_back(by_rows(column_tail));
    else
      body.push_back(
          If(LessThan(nt, IntExpr(n_tiles_ - 1)), by_rows(TileColumns()), by_rows(column_tail)));
    return Block(std::move(body));
  }

  TileOperand OperandA(const Block_& block, const ExprPtr& mt, const ExprPtr& m0) {
    TileOperand a;
    a.type = accumulator_;
    Values axes = axes_;
    axes[static_cast<std::size_t>(K0())] = block.k0_start;
    if (pattern_.m >= 0) axes[static_cast<std::size_t>(pattern_.m)] = m0;
    switch (plan_.a) {
      case ASource::kPrepared:
        a.buffer = a_buffer_;
        a.base = ((OuterIndex(pattern_.a) * m_tiles_ + mt) * pattern_.ReductionExtent() +
                  block.k0_start * InnerReduction()) *
                 plan_.rows;
        a.step = PanelStep(plan_.rows);
        break;
      case ASource::kPacked:
        a.buffer = a_scratch_.buffer;
        a.base = a_scratch_.base +
                 (block.a_local ? (mt - block.m_first) * (plan_.k_block * InnerReduction())
                                : mt * pattern_.ReductionExtent() + block.k0_start * InnerReduction()) *
                     plan_.rows;
        a.step = PanelStep(plan_.rows);
        break;
      case ASource::kDirect:
        a.buffer = lowering_.BufferOf(pattern_.a.tensor);
        a.type = pattern_.a.type;
        a.base = FlatIndexOf(pattern_.a, axes);
        a.step = StrideStep(pattern_.a);
        a.row_stride = pattern_.m < 0 ? 1 : pattern_.a.Stride(pattern_.m);
        break;
      case ASource::kCopied: {
        Values zero(axes.size(), IntExpr(0));
        a.buffer = a_scratch_.buffer;
        a.base = a_scratch_.base + a_box_->Offset(axes);
        a.step = [this, zero](std::span<const ExprPtr> k) {
          Values at = zero;
          SetReduction(at, k, IntExpr(0));
          return a_box_->Offset(at);
        };
        if (pattern_.m >= 0) {
          zero[static_cast<std::size_t>(pattern_.m)] = IntExpr(1);
          a.row_stride = a_box_->Offset(zero)->integer;
        }
        break;
      }
    }
    return a;
  }

  TileOperand OperandB(const Block_& block, const ExprPtr& nt, const ExprPtr& n0, std::int64_t columns) {
    TileOperand b;
    b.type = accumulator_;
    switch (plan_.b) {
      case BSource::kPrepared:
        b.buffer = b_buffer_;
        b.base = ((OuterIndex(pattern_.b) * n_tiles_ + nt) * pattern_.ReductionExtent() +
                  block.k0_start * InnerReduction()) *
                 TileColumns();
        b.step = PanelStep(TileColumns());
        break;
      case BSource::kPanel:
        b.buffer = b_scratch_.buffer;
        b.base = b_scratch_.base +
                 (block.b_local ? (nt - block.n_first) * (plan_.k_block * InnerReduction())
                                : nt * pattern_.ReductionExtent() + block.k0_start * InnerReduction()) *
                     TileColumns();
        b.step = PanelStep(TileColumns());
        break;
      case BSource::kDirect: {
        if (columns < TileColumns()) {
          const std::int64_t tail = RoundUp(columns, plan_.lanes);
          b.buffer = b_tail_scratch_.buffer;
          b.base = b_tail_scratch_.base + block.k0_start * (InnerReduction() * tail);
          b.step = PanelStep(tail);
          break;
        }
        Values axes = axes_;
        axes[static_cast<std::size_t>(K0())] = block.k0_start;
        axes[static_cast<std::size_t>(pattern_.x)] = n0;
        b.buffer = lowering_.BufferOf(pattern_.b.tensor);
        b.base = FlatIndexOf(pattern_.b, axes);
        b.step = StrideStep(pattern_.b);
        break;
      }
      case BSource::kRows: {
        Values at(axes_.size(), IntExpr(0));
        if (!block.b_local) at[static_cast<std::size_t>(K0())] = block.k0_start;
        at[static_cast<std::size_t>(pattern_.x)] = n0;
        b.buffer = b_box_scratch_.buffer;
        b.base = b_box_scratch_.base + b_box_->Offset(at);
        b.step = [this](std::span<const ExprPtr> k) {
          Values zero(axes_.size(), IntExpr(0));
          SetReduction(zero, k, IntExpr(0));
          return b_box_->Offset(zero);
        };
        break;
      }
    }
    return b;
  }

  StmtPtr Variant(const Block_& block, const ExprPtr& nt, const ExprPtr& mt, const ExprPtr& n0,
                  const ExprPtr& m0, std::int64_t rows, std::int64_t columns) {
    TileShape shape;
    shape.rows = rows;
    shape.vectors = CeilDiv(columns, plan_.lanes);
    shape.lanes = plan_.lanes;
    shape.accumulator = accumulator_;
    shape.reduction = FullReduction();
    shape.reduction[0] = block.run;
    shape.unroll = plan_.unroll;
    PartialSums partial;
    if (k0_blocks_ > 1) {
      partial.buffer = sums_.buffer;
      const ExprPtr tile = plan_.n_outer ? (nt - block.n_first) * m_tiles_ + mt
                                         : (mt - block.m_first) * n_tiles_ + nt;
      partial.base = sums_.base + tile * (plan_.rows * TileColumns());
      partial.first = BinaryExpr(Op::kEqual, block.kb, IntExpr(0));
      partial.last = BinaryExpr(Op::kEqual, block.kb, IntExpr(k0_blocks_ - 1));
    }
    std::vector<StmtPtr> body;
    TileOperand a = OperandA(block, mt, m0), b = OperandB(block, nt, n0, columns);
    a.base = Named(program_, body, "a0", a.base);
    b.base = Named(program_, body, "b0", b.base);
    if (partial.base) partial.base = Named(program_, body, "sums0", partial.base);
    body.push_back(EmitTile(program_, shape, a, b, partial, [&](int acc) {
      return vector_store_ ? StoreVectors(block, shape, acc, n0, m0, columns)
                           : StoreSegments(block, shape, acc, n0, m0, columns);
    }));
    return Block(std::move(body));
  }

  // ---- storing finished sums

  Values PointAt(const ExprPtr& row, const ExprPtr& y, const ExprPtr& x) {
    Values axes = axes_;
    if (pattern_.m >= 0) axes[static_cast<std::size_t>(pattern_.m)] = row;
    if (pattern_.y >= 0) axes[static_cast<std::size_t>(pattern_.y)] = y;
    axes[static_cast<std::size_t>(pattern_.x)] = x;
    return axes;
  }

  // The tile's columns are neighbours in the outputs: whole vectors from the registers; a vector that the
  // edge cuts goes through the stack.
  StmtPtr StoreVectors(const Block_& block, const TileShape& shape, int acc, const ExprPtr& n0,
                       const ExprPtr& m0, std::int64_t columns) {
    const std::int64_t whole = columns / shape.lanes, rest = columns % shape.lanes;
    std::vector<StmtPtr> body;
    if (whole > 0)
      body.push_back(Loop(program_, "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
        return Loop(program_, "v", whole, LoopKind::kUnrolled, [&](const ExprPtr& v) {
          return epilogue_.Emit(
              PointAt(m0 + r, block.y0, n0 + v * shape.lanes), pattern_.x, shape.lanes,
              [&](const ExprPtr& l) {
                return LoadExpr(acc, {(r * shape.vectors + v) * shape.lanes + l}, accumulator_);
              });
        });
      }));
    if (rest > 0) {
      const int edge = program_.AddBuffer(
          {"edge", accumulator_, shape.rows * shape.lanes, Scope::kStack, -1, ""});
      body.push_back(Loop(program_, "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
        return Loop(program_, "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
          return Store(edge, r * shape.lanes + l,
                       LoadExpr(acc, {(r * shape.vectors + whole) * shape.lanes + l}, accumulator_));
        });
      }));
      body.push_back(Loop(program_, "r", shape.rows, LoopKind::kSerial, [&](const ExprPtr& r) {
        return StoreRun(PointAt(m0 + r, block.y0, n0 + whole * shape.lanes), IntExpr(rest), edge,
                        r * shape.lanes);
      }));
    }
    return Block(std::move(body));
  }

  // `count` neighbours along x from `point`, whose sums are buffer[from...]: vectors, the last one starting
  // early (it stores some points twice); short runs by shorter vectors, the shortest point by point.
  StmtPtr StoreRun(const Values& point, const ExprPtr& count, int buffer, const ExprPtr& from) {
    const auto emit = [&](const ExprPtr& j, std::int64_t lanes) {
      Values at = point;
      at[static_cast<std::size_t>(pattern_.x)] = at[static_cast<std::size_t>(pattern_.x)] + j;
      return epilogue_.Emit(at, pattern_.x, lanes, [&](const ExprPtr& l) {
        return LoadExpr(buffer, {from + j + l}, accumulator_);
      });
    };
    const auto one_by_one = [&] {
      return Loop(program_, "j", count, LoopKind::kSerial, [&](const ExprPtr& j) { return emit(j, 1); });
    };
    if (!epilogue_.VectorAlong(pattern_.x)) return one_by_one();
    std::function<StmtPtr(std::int64_t)> vectors = [&](std::int64_t lanes) -> StmtPtr {
      if (lanes < kShortestVector) return one_by_one();
      if (count->op == Op::kInt && count->integer < lanes) return vectors(lanes / 2);
      std::vector<StmtPtr> parts;
      parts.push_back(Loop(program_, "q", count / IntExpr(lanes), LoopKind::kSerial,
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
    return vectors(plan_.lanes);
  }

  // Columns run over several rows of the outputs, with gaps: the sums go to the stack, and from there, row
  // by row, to their places.
  StmtPtr StoreSegments(const Block_& block, const TileShape& shape, int acc, const ExprPtr& n0,
                        const ExprPtr& m0, std::int64_t columns) {
    const std::int64_t width = shape.vectors * shape.lanes;
    const int tile = program_.AddBuffer(
        {"tile", accumulator_, shape.rows * width, Scope::kStack, -1, ""});
    std::vector<StmtPtr> body;
    body.push_back(Loop(program_, "r", shape.rows, LoopKind::kUnrolled, [&](const ExprPtr& r) {
      return Loop(program_, "v", shape.vectors, LoopKind::kUnrolled, [&](const ExprPtr& v) {
        return Loop(program_, "l", shape.lanes, LoopKind::kVectorized, [&](const ExprPtr& l) {
          const ExprPtr at = (r * shape.vectors + v) * shape.lanes + l;
          return Store(tile, at, LoadExpr(acc, {at}, accumulator_));
        });
      });
    }));
    // Points (row m0 + r, y, x_first ... x_first + count) from tile[r * width + from ...].
    const auto run = [&](const ExprPtr& y, const ExprPtr& x_first, const ExprPtr& count,
                         const ExprPtr& from) {
      return Loop(program_, "r", shape.rows, LoopKind::kSerial, [&](const ExprPtr& r) {
        return StoreRun(PointAt(m0 + r, y, x_first), count, tile, r * width + from);
      });
    };
    if (pattern_.y < 0) {
      body.push_back(run(IntExpr(0), n0, IntExpr(columns), IntExpr(0)));
      return Block(std::move(body));
    }
    const ExprPtr pitch = IntExpr(columns_.pitch);
    const ExprPtr first = Named(program_, body, "y_first", n0 / pitch);
    const ExprPtr last = Named(program_, body, "y_last", (n0 + (columns - 1)) / pitch);
    body.push_back(Loop(program_, "yy", last - first + 1, LoopKind::kSerial, [&](const ExprPtr& yy) {
      std::vector<StmtPtr> inside;
      const ExprPtr start = Named(program_, inside, "row_start", (first + yy) * columns_.pitch - n0);
      const ExprPtr x_first = Named(program_, inside, "x_first", Maximum(IntExpr(0) - start, IntExpr(0)));
      const ExprPtr x_end = Minimum(IntExpr(columns) - start, IntExpr(pattern_.Extent(pattern_.x)));
      const ExprPtr count = Named(program_, inside, "count", Maximum(x_end - x_first, IntExpr(0)));
      inside.push_back(run(block.y0 + first + yy, x_first, count, start + x_first));
      return Block(std::move(inside));
    }));
    return Block(std::move(body));
  }

  const Workload& workload_;
  const ContractionPattern& pattern_;
  const ContractionPlan& plan_;
  const Target& target_;
  internal::Lowering lowering_;
  Program& program_;
  Epilogue epilogue_;
  ContractionColumns columns_;
  bool copy_b_;
  DataType accumulator_;
  bool vector_store_ = false, parallel_outer_ = false;
  std::int64_t n_tiles_ = 1, m_tiles_ = 1, k0_blocks_ = 1;
  Values axes_;  // of the anchor: loop variables of the outer axes, 0 elsewhere

  std::int64_t parallel_parts_ = 1;
  ExprPtr parallel_index_;
  int a_buffer_ = -1, b_buffer_ = -1;
  Scratch a_scratch_, b_scratch_, b_tail_scratch_, b_box_scratch_, sums_;
  std::optional<BoxCopy> a_box_, b_box_;
};

}  // namespace

Program LowerContraction(const Workload& workload, const ContractionPattern& pattern,
                         const ContractionPlan& plan, const Target& target) {
  return ContractionLowering(workload, pattern, plan, target).Lower();
}

}  // namespace kindred
