// The loop nest of a window:
//
//   for each outer point                (batch, and channels where x is a row of an image)
//     for each block of rows
//       [copy the block's input, padded, split into phases where x steps by more than 1]
//       for each tile of rows and x: sums in registers
//
// A tile written out in full loads every input vector once and adds it to all sums that it belongs
// to: the (row, window point) pairs are grouped by the input they read. Overlapping tiles at the
// edges compute some points twice, with the same result, so there are no partial vectors.
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "schedules/internal/lower_common.h"
#include "schedules/sketches/contraction_box.h"
#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/contraction_epilogue.h"
#include "schedules/sketches/window.h"

namespace kindred {
namespace {

using Values = std::vector<ExprPtr>;

// Weights of at most this many window points are named once per outer point.
constexpr std::int64_t kMaxNamedWeights = 25;

class WindowLowering {
 public:
  WindowLowering(const Workload& workload, const WindowPattern& pattern, const WindowPlan& plan,
                 const Target& target)
      : workload_(workload),
        pattern_(pattern),
        plan_(plan),
        target_(target),
        lowering_(workload),
        program_(lowering_.program),
        epilogue_(lowering_, pattern.chain) {
    axes_.assign(pattern_.extents.size(), IntExpr(0));
    columns_ = plan_.vectors * plan_.lanes;
    // The last vector of a tile that spans the whole row starts early.
    for (std::int64_t v = 0; v < plan_.vectors; ++v)
      vector_at_.push_back(std::min(v * plan_.lanes, pattern_.Extent(pattern_.x) - plan_.lanes));
    columns_ = vector_at_.back() + plan_.lanes;
    block_axis_ = BlockAxis(pattern_);
    block_length_ = CeilDiv(pattern_.Extent(block_axis_), plan_.blocks);
    if (plan_.copied) {
      std::vector<std::int64_t> box = pattern_.extents;
      for (const int axis : pattern_.outer) box[static_cast<std::size_t>(axis)] = 1;
      if (block_axis_ >= 0) box[static_cast<std::size_t>(block_axis_)] = block_length_;
      box_.emplace(pattern_.data, pattern_.accumulator, box, pattern_.extents, pattern_.x, -1, -1);
    }
  }

  Program Lower() {
    program_.name = "window";
    std::vector<StmtPtr> body;
    for (const int stage : pattern_.chain.before)
      body.push_back(
          internal::PlainStage(lowering_, workload_.stages[static_cast<std::size_t>(stage)]));
    body.push_back(Outer(0));
    program_.body = Block(std::move(body));
    program_.compiler = plan_.compiler;
    program_.flags = plan_.flags;
    return std::move(program_);
  }

 private:
  ExprPtr& Axis(int axis) { return axes_[static_cast<std::size_t>(axis)]; }
  std::string AxisName(int axis) const {
    return workload_.stages[static_cast<std::size_t>(pattern_.chain.anchor)]
        .axes[static_cast<std::size_t>(axis)]
        .name;
  }

  StmtPtr Outer(std::size_t level) {
    if (level == pattern_.outer.size()) return Blocks();
    const int axis = pattern_.outer[level];
    const std::int64_t extent = pattern_.Extent(axis);
    const bool parallel = target_.threads > 1 && !parallel_index_ && extent > 1;
    return Loop(program_, AxisName(axis), extent,
                parallel ? LoopKind::kParallel : LoopKind::kSerial, [&](const ExprPtr& i) {
                  if (parallel) {
                    parallel_index_ = i;
                    parallel_parts_ = extent;
                  }
                  Axis(axis) = i;
                  return Outer(level + 1);
                });
  }

  StmtPtr Blocks() {
    std::vector<StmtPtr> body;
    NameWeights(body);
    body.push_back(
        Loop(program_, "block", plan_.blocks, LoopKind::kSerial, [&](const ExprPtr& block) {
          std::vector<StmtPtr> inside;
          block_start_ = IntExpr(0);
          if (plan_.blocks > 1)
            block_start_ = Named(program_, inside, "block_start",
                                 Minimum(block * block_length_,
                                         IntExpr(pattern_.Extent(block_axis_) - block_length_)));
          if (plan_.copied) {
            const std::int64_t elements = RoundUp(box_->elements(), 64);
            copy_ = program_.AddBuffer({"copy", pattern_.accumulator, elements * parallel_parts_,
                                        Scope::kWorkspace, -1, ""});
            copy_base_ = parallel_index_ ? parallel_index_ * elements : IntExpr(0);
            Values origin = axes_;
            if (block_axis_ >= 0) origin[static_cast<std::size_t>(block_axis_)] = block_start_;
            inside.push_back(box_->Fill(program_, lowering_.BufferOf(pattern_.data.tensor), copy_,
                                        copy_base_, origin, nullptr, plan_.lanes));
          }
          inside.push_back(Inner(0));
          return Block(std::move(inside));
        }));
    return Block(std::move(body));
  }

  // How far the axis runs within a block, and its value in the workload for the i-th of the block.
  std::int64_t Length(int axis) const {
    return axis == block_axis_ ? block_length_ : pattern_.Extent(axis);
  }

  StmtPtr Inner(std::size_t level) {
    if (level < pattern_.inner.size()) {
      const int axis = pattern_.inner[level];
      return Loop(program_, AxisName(axis), Length(axis), LoopKind::kSerial, [&](const ExprPtr& i) {
        Axis(axis) = i;
        auto body = Inner(level + 1);
        Axis(axis) = IntExpr(0);
        return body;
      });
    }
    const auto over_rows = [&](const std::function<StmtPtr()>& body) {
      return Tiles("row", pattern_.row, Length(pattern_.row), plan_.rows, body);
    };
    const auto over_columns = [&](const std::function<StmtPtr()>& body) {
      return Tiles("column", pattern_.x, pattern_.Extent(pattern_.x), columns_, body);
    };
    if (plan_.rows_inner) return over_columns([&] { return over_rows([&] { return Tile(); }); });
    return over_rows([&] { return over_columns([&] { return Tile(); }); });
  }

  StmtPtr Tiles(const std::string& name, int axis, std::int64_t all, std::int64_t size,
                const std::function<StmtPtr()>& body) {
    if (axis < 0) return body();
    return Loop(program_, name, CeilDiv(all, size), LoopKind::kSerial, [&](const ExprPtr& tile) {
      std::vector<StmtPtr> inside;
      Axis(axis) = Named(program_, inside, name + "0",
                         all % size == 0 ? tile * size : Minimum(tile * size, IntExpr(all - size)));
      inside.push_back(body());
      return Block(std::move(inside));
    });
  }

  // ---- the window's points

  void SetPoint(Values& axes, std::span<const ExprPtr> k) const {
    for (std::size_t i = 0; i < k.size(); ++i) axes[static_cast<std::size_t>(pattern_.k[i])] = k[i];
  }
  static Values Constants(const std::vector<std::int64_t>& point) {
    Values values;
    for (const std::int64_t v : point) values.push_back(IntExpr(v));
    return values;
  }

  ExprPtr FlatIndexOf(const OperandAccess& operand, const Values& axes) const {
    Values indices;
    for (const Affine& index : operand.index)
      indices.push_back(SubstituteVars(FromAffine(index), axes));
    return internal::FlatIndex(workload_.tensors[static_cast<std::size_t>(operand.tensor)],
                               indices);
  }
  // Anchor axis values in the workload, of values within the block.
  Values Global(Values axes) const {
    if (block_axis_ >= 0) {
      auto& at = axes[static_cast<std::size_t>(block_axis_)];
      at = block_start_ + at;
    }
    return axes;
  }
  // Where the data of a tile's point is read: buffer index at these axis values (within the block).
  ExprPtr DataIndex(const Values& axes) const {
    return plan_.copied ? copy_base_ + box_->Offset(axes)
                        : FlatIndexOf(pattern_.data, Global(axes));
  }
  ExprPtr LoadData(const ExprPtr& index) {
    if (plan_.copied) return LoadExpr(copy_, {index}, pattern_.accumulator);
    return CastExpr(pattern_.accumulator, LoadExpr(lowering_.BufferOf(pattern_.data.tensor),
                                                   {index}, pattern_.data.type));
  }
  ExprPtr LoadWeight(const Values& axes, const ExprPtr& column) {
    Values at = Global(axes);
    if (pattern_.weight->Uses(pattern_.x))
      at[static_cast<std::size_t>(pattern_.x)] = at[static_cast<std::size_t>(pattern_.x)] + column;
    return CastExpr(pattern_.accumulator,
                    LoadExpr(lowering_.BufferOf(pattern_.weight->tensor),
                             {FlatIndexOf(*pattern_.weight, at)}, pattern_.weight->type));
  }

  // Weights that only outer axes choose are read once, before the tiles.
  void NameWeights(std::vector<StmtPtr>& body) {
    named_weights_.clear();
    if (!pattern_.weight || !plan_.written_out || pattern_.Window() > kMaxNamedWeights) return;
    if (pattern_.weight->Uses(pattern_.x)) return;
    for (const int axis : pattern_.inner)
      if (pattern_.weight->Uses(axis)) return;
    block_start_ = IntExpr(0);
    for (const auto& point : pattern_.Points()) {
      Values axes = axes_;
      SetPoint(axes, Constants(point));
      named_weights_.push_back(
          Named(program_, body, "w", LoadWeight(axes, IntExpr(0)), pattern_.accumulator));
    }
  }

  ExprPtr Term(const ExprPtr& data, const ExprPtr& weight) const {
    if (pattern_.squared) return data * data;
    return weight ? data * weight : data;
  }

  StmtPtr Vectors(const std::function<StmtPtr(std::int64_t, const ExprPtr&)>& body) {
    std::vector<StmtPtr> statements;
    for (std::int64_t v = 0; v < plan_.vectors; ++v)
      statements.push_back(Loop(program_, "l", plan_.lanes, LoopKind::kVectorized,
                                [&](const ExprPtr& l) { return body(v, l); }));
    return Block(std::move(statements));
  }

  StmtPtr Tile() {
    const DataType type = pattern_.accumulator;
    const std::int64_t width = plan_.vectors * plan_.lanes;
    if (acc_ < 0) {
      acc_ = program_.AddBuffer({"acc", type, plan_.rows * width, Scope::kRegister, -1, ""});
      in_ = program_.AddBuffer({"in", type, width, Scope::kRegister, -1, ""});
      if (pattern_.weight && pattern_.weight->Uses(pattern_.x))
        weights_ = program_.AddBuffer({"wv", type, width, Scope::kRegister, -1, ""});
    }
    const auto at = [&](std::int64_t row, std::int64_t v, const ExprPtr& l) {
      return l + (row * plan_.vectors + v) * plan_.lanes;
    };
    const auto sum = [&](const ExprPtr& index) { return LoadExpr(acc_, {index}, type); };
    std::vector<StmtPtr> body;
    for (std::int64_t row = 0; row < plan_.rows; ++row)
      body.push_back(Vectors([&](std::int64_t v, const ExprPtr& l) {
        return Store(acc_, at(row, v, l), internal::InitialValue(pattern_.combiner, type));
      }));
    const auto add = [&](std::int64_t row, const ExprPtr& weight) {
      return Vectors([&](std::int64_t v, const ExprPtr& l) {
        const ExprPtr data = LoadExpr(in_, {l + v * plan_.lanes}, type);
        const ExprPtr w = weights_ >= 0 ? LoadExpr(weights_, {l + v * plan_.lanes}, type) : weight;
        return Store(acc_, at(row, v, l),
                     internal::Combine(pattern_.combiner, sum(at(row, v, l)), Term(data, w)));
      });
    };
    const auto load = [&](const ExprPtr& base) {
      return Vectors([&](std::int64_t v, const ExprPtr& l) {
        return Store(in_, l + v * plan_.lanes,
                     LoadData(base + vector_at_[static_cast<std::size_t>(v)] + l));
      });
    };
    const auto load_weights = [&](const Values& axes) {
      return Vectors([&](std::int64_t v, const ExprPtr& l) {
        return Store(weights_, l + v * plan_.lanes,
                     LoadWeight(axes, l + vector_at_[static_cast<std::size_t>(v)]));
      });
    };
    if (plan_.written_out)
      WrittenOut(body, load, load_weights, add);
    else
      body.push_back(InLoops(load, load_weights, add));

    for (std::int64_t row = 0; row < plan_.rows; ++row)
      for (std::int64_t v = 0; v < plan_.vectors; ++v) {
        Values axes = axes_;
        if (pattern_.row >= 0)
          axes[static_cast<std::size_t>(pattern_.row)] = Axis(pattern_.row) + row;
        axes = Global(axes);
        axes[static_cast<std::size_t>(pattern_.x)] =
            Axis(pattern_.x) + vector_at_[static_cast<std::size_t>(v)];
        body.push_back(epilogue_.Emit(axes, pattern_.x, plan_.lanes,
                                      [&](const ExprPtr& l) { return sum(at(row, v, l)); }));
      }
    return Block(std::move(body));
  }

  using LoadVectors = std::function<StmtPtr(const ExprPtr&)>;
  using LoadWeights = std::function<StmtPtr(const Values&)>;
  using Add = std::function<StmtPtr(std::int64_t, const ExprPtr&)>;

  void WrittenOut(std::vector<StmtPtr>& body, const LoadVectors& load,
                  const LoadWeights& load_weights, const Add& add) {
    const auto points = pattern_.Points();
    const ExprPtr origin = Named(program_, body, "at", DataIndex(axes_));
    const ExprPtr start = DataIndex(Values(axes_.size(), IntExpr(0)));
    // Offset from the tile's origin -> the (row, point) pairs that read there.
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::size_t>>> groups;
    for (std::int64_t row = 0; row < plan_.rows; ++row)
      for (std::size_t p = 0; p < points.size(); ++p) {
        Values axes(axes_.size(), IntExpr(0));
        if (pattern_.row >= 0) axes[static_cast<std::size_t>(pattern_.row)] = IntExpr(row);
        SetPoint(axes, Constants(points[p]));
        groups[OffsetBetween(start, axes)].push_back({row, p});
      }
    const auto weight_of = [&](std::size_t p, std::vector<StmtPtr>& statements) -> ExprPtr {
      if (!pattern_.weight || weights_ >= 0) return nullptr;
      if (!named_weights_.empty()) return named_weights_[p];
      Values axes = axes_;
      SetPoint(axes, Constants(points[p]));
      return Named(program_, statements, "w", LoadWeight(axes, IntExpr(0)), pattern_.accumulator);
    };
    if (weights_ >= 0) {
      // Weights are vectors: each is loaded once, the data again for every point.
      for (std::size_t p = 0; p < points.size(); ++p) {
        Values axes = axes_;
        SetPoint(axes, Constants(points[p]));
        body.push_back(load_weights(axes));
        for (const auto& [offset, users] : groups)
          for (const auto& [row, point] : users)
            if (point == p) {
              body.push_back(load(origin + offset));
              body.push_back(add(row, nullptr));
            }
      }
      return;
    }
    for (const auto& [offset, users] : groups) {
      std::vector<StmtPtr> group;
      group.push_back(load(origin + offset));
      for (const auto& [row, point] : users) {
        const ExprPtr weight = weight_of(point, group);
        group.push_back(add(row, weight));
      }
      body.push_back(Block(std::move(group)));
    }
  }

  // Difference of the data's addresses, a constant.
  std::int64_t OffsetBetween(const ExprPtr& start, const Values& axes) const {
    const std::vector<ExprPtr> zeros(program_.variables.size(), IntExpr(0));
    return SubstituteVars(DataIndex(axes), zeros)->integer - SubstituteVars(start, zeros)->integer;
  }

  StmtPtr InLoops(const LoadVectors& load, const LoadWeights& load_weights, const Add& add) {
    Values k(pattern_.k.size());
    std::function<StmtPtr(std::size_t)> nest = [&](std::size_t level) -> StmtPtr {
      if (level < k.size())
        return Loop(program_, "k", pattern_.Extent(pattern_.k[level]), LoopKind::kSerial,
                    [&](const ExprPtr& value) {
                      k[level] = value;
                      return nest(level + 1);
                    });
      std::vector<StmtPtr> body;
      Values axes = axes_;
      SetPoint(axes, k);
      ExprPtr weight;
      if (weights_ >= 0)
        body.push_back(load_weights(axes));
      else if (pattern_.weight)
        weight = Named(program_, body, "w", LoadWeight(axes, IntExpr(0)), pattern_.accumulator);
      for (std::int64_t row = 0; row < plan_.rows; ++row) {
        Values at = axes;
        if (pattern_.row >= 0)
          at[static_cast<std::size_t>(pattern_.row)] = Axis(pattern_.row) + row;
        body.push_back(load(Named(program_, body, "at", DataIndex(at))));
        body.push_back(add(row, weight));
      }
      return Block(std::move(body));
    };
    return nest(0);
  }

  const Workload& workload_;
  const WindowPattern& pattern_;
  const WindowPlan& plan_;
  const Target& target_;
  internal::Lowering lowering_;
  Program& program_;
  Epilogue epilogue_;
  std::optional<BoxCopy> box_;
  Values axes_;                          // of the anchor: loop variables, within the block
  std::vector<std::int64_t> vector_at_;  // first column of each vector of a tile
  std::int64_t columns_ = 1, block_length_ = 1, parallel_parts_ = 1;
  int block_axis_ = -1, copy_ = -1, acc_ = -1, in_ = -1, weights_ = -1;
  ExprPtr parallel_index_, copy_base_ = IntExpr(0), block_start_ = IntExpr(0);
  Values named_weights_;
};

}  // namespace

Program LowerWindow(const Workload& workload, const WindowPattern& pattern, const WindowPlan& plan,
                    const Target& target) {
  return WindowLowering(workload, pattern, plan, target).Lower();
}

}  // namespace kindred
