// Sliding windows: their geometry, and the pools.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {

bool Window::Leaves() const {
  const std::int64_t last = (out - 1) * stride + (kernel - 1) * dilation - before;
  return before > 0 || last >= in;
}

ExprPtr WindowIndex(const Window& window, const ExprPtr& position, const ExprPtr& tap) {
  return position * window.stride + tap * window.dilation + (-window.before);
}

Result<std::vector<Window>> ReadWindows(OpContext& op, const Shape& spatial, Shape kernel) {
  const std::size_t rank = spatial.size();
  const auto given = op.Ints("kernel_shape");
  if (kernel.empty() && given) kernel = *given;
  if (given && *given != kernel)
    return BadInput(fmt::format("{}: {}: kernel_shape {} differs from the weight's {}",
                                op.model.path, op.node.Label(), ShapeText(*given),
                                ShapeText(kernel)));
  const auto strides = op.Ints("strides").value_or(Shape(rank, 1));
  const auto dilations = op.Ints("dilations").value_or(Shape(rank, 1));
  const auto pads = op.Ints("pads").value_or(Shape(2 * rank, 0));
  const std::string automatic = op.Text("auto_pad", "NOTSET");
  const bool ceil_mode = op.Int("ceil_mode", 0) != 0;
  bool fits = kernel.size() == rank && strides.size() == rank && dilations.size() == rank &&
              pads.size() == 2 * rank;
  for (std::size_t d = 0; fits && d < rank; ++d) {
    for (const std::int64_t number : {kernel[d], strides[d], dilations[d]})
      fits = fits && number > 0 && number < 1 << 30;
    for (const std::int64_t pad : {pads[d], pads[rank + d]})
      fits = fits && pad >= 0 && pad < 1 << 30;
  }
  if (!fits)
    return BadInput(
        fmt::format("{}: {}: kernel, strides, dilations or pads do not fit {} spatial dimensions",
                    op.model.path, op.node.Label(), rank));
  std::vector<Window> windows;
  for (std::size_t d = 0; d < rank; ++d) {
    Window window{spatial[d],   1,       kernel[d],      strides[d],
                  dilations[d], pads[d], pads[rank + d], false};
    const std::int64_t reach = (window.kernel - 1) * window.dilation + 1;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      window.out = (window.in + window.stride - 1) / window.stride;
      const std::int64_t total =
          std::max<std::int64_t>(0, (window.out - 1) * window.stride + reach - window.in);
      window.before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.after = total - window.before;
    } else {
      if (automatic == "VALID") window.before = window.after = 0;
      const std::int64_t room = window.in + window.before + window.after - reach;
      if (room < 0)
        return BadInput(fmt::format("{}: {}: a window of {} does not fit an input of {}",
                                    op.model.path, op.node.Label(), reach, window.in));
      window.out = room / window.stride + 1;
      // A further, partial window, unless it would start in the padding behind the input.
      if (ceil_mode && room % window.stride != 0 &&
          window.out * window.stride < window.in + window.before) {
        ++window.out;
        window.overhangs = true;
      }
    }
    windows.push_back(window);
  }
  return windows;
}

namespace {

constexpr const char* kPlaces[] = {"x", "yx", "zyx"};
constexpr const char* kTaps[] = {"s", "rs", "qrs"};

// The stage over all windows of input 0, without its body; `at` receives the index of the element
// read.
Stage WindowStage(OpContext& op, int tensor, const Shape& shape, const std::vector<Window>& windows,
                  Exprs& at) {
  const std::size_t rank = windows.size();
  Stage stage = MakeStage(tensor, shape, "nc" + std::string(kPlaces[rank - 1]));
  for (std::size_t d = 0; d < rank; ++d)
    AddReductionAxis(stage, std::string(1, kTaps[rank - 1][d]), windows[d].kernel);
  const Exprs axes = AxesOf(stage);
  at = {axes[0], axes[1]};
  for (std::size_t d = 0; d < rank; ++d)
    at.push_back(WindowIndex(windows[d], axes[2 + d], axes[2 + rank + d]));
  op.kind = UnitKind::kWindow;
  return stage;
}

Result<Shape> PoolShape(const OpContext& op, const std::vector<Window>& windows) {
  if (windows.empty() || windows.size() > 3)
    return Unsupported("more than three spatial dimensions");
  Shape shape = {op.InShape(0)[0], op.InShape(0)[1]};
  for (const Window& window : windows) shape.push_back(window.out);
  return shape;
}

bool AnyLeaves(const std::vector<Window>& windows) {
  return std::any_of(windows.begin(), windows.end(), [](const Window& w) { return w.Leaves(); });
}

Result<std::vector<Window>> PoolWindows(OpContext& op) {
  const Shape x = op.InShape(0);
  if (x.size() < 3) return Unsupported("an input of shape " + ShapeText(x));
  return ReadWindows(op, Shape(x.begin() + 2, x.end()), {});
}

ExprPtr LowestValue(DataType type) {
  if (IsFloat(type)) return FloatExpr(-std::numeric_limits<double>::infinity(), type);
  return IntExpr(type == DataType::kI8 ? -128 : 0, type);
}

Result<void> MaxPool(OpContext& op) {
  op.Ignore("storage_order");
  if (op.Wants(1)) return Unsupported("its second output, the indices of the maxima, is used");
  KINDRED_TRY(const auto windows, PoolWindows(op));
  KINDRED_TRY(const Shape shape, PoolShape(op, windows));
  const DataType type = op.InValue(0).type;
  Exprs at;
  Stage stage = WindowStage(op, op.Out(0, type, shape), shape, windows, at);
  stage.body = LoadExpr(op.In(0), std::move(at), type);
  if (AnyLeaves(windows)) stage.body = PaddedExpr(stage.body, LowestValue(type));
  SetReduction(stage, Combiner::kMax, type);
  op.Emit(std::move(stage));
  return {};
}

// How many elements the window at `position` averages along one dimension.
ExprPtr Counted(const Window& window, const ExprPtr& position, bool include_padding) {
  const std::int64_t low = include_padding ? -window.before : 0;
  const std::int64_t high = window.in + (include_padding ? window.after : 0);
  const ExprPtr start = position * window.stride + (-window.before);
  return BinaryExpr(Op::kMin, start + window.kernel, IntExpr(high)) -
         BinaryExpr(Op::kMax, start, IntExpr(low));
}

Result<void> AveragePool(OpContext& op) {
  const bool include_padding = op.Int("count_include_pad", 0) != 0;
  KINDRED_TRY(const auto windows, PoolWindows(op));
  KINDRED_TRY(const Shape shape, PoolShape(op, windows));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  bool varies = false, dilated = false;
  std::int64_t size = 1;
  for (const Window& window : windows) {
    varies |= window.overhangs || (!include_padding && window.Leaves());
    dilated |= window.dilation != 1;
    size *= window.kernel;
  }
  if (varies && dilated) return Unsupported("dilated windows whose element count varies");
  const int sum = op.Temp("sum", wide, shape);
  Exprs at;
  Stage stage = WindowStage(op, sum, shape, windows, at);
  stage.body = LoadExpr(op.In(0), std::move(at), type);
  if (AnyLeaves(windows)) stage.body = PaddedExpr(stage.body, Literal(0, type));
  SetReduction(stage, Combiner::kSum, wide);
  op.Emit(std::move(stage));

  Stage mean =
      MakeStage(op.Out(0, type, shape), shape, "nc" + std::string(kPlaces[windows.size() - 1]));
  const Exprs axes = AxesOf(mean);
  ExprPtr count = Literal(static_cast<double>(size), wide);
  if (varies) {
    ExprPtr product = IntExpr(1);
    for (std::size_t d = 0; d < windows.size(); ++d)
      product = product * Counted(windows[d], axes[2 + d], include_padding);
    count = CastExpr(wide, product);
  }
  mean.body = op.Load(sum, axes) / count;
  op.Emit(std::move(mean));
  return {};
}

template <Combiner kCombiner>
Result<void> GlobalPool(OpContext& op) {
  const Shape x = op.InShape(0);
  if (x.size() < 3) return Unsupported("an input of shape " + ShapeText(x));
  const DataType type = op.InValue(0).type;
  const bool mean = kCombiner == Combiner::kSum;
  const DataType wide = mean ? DefaultAccumulator(type) : type;
  const Shape rows = {x[0], x[1]};
  Shape shape(x.size(), 1);
  shape[0] = x[0];
  shape[1] = x[1];
  const int sum = op.Temp("rows", wide, rows);
  Stage stage = MakeStage(sum, rows, "nc");
  std::int64_t size = 1;
  for (std::size_t d = 2; d < x.size(); ++d) {
    AddReductionAxis(stage, d - 2 < 3 ? std::string(1, "yxz"[d - 2]) : "s" + std::to_string(d),
                     x[d]);
    size *= x[d];
  }
  stage.body = LoadExpr(op.In(0), AxesOf(stage), type);
  SetReduction(stage, kCombiner, wide);
  op.kind = UnitKind::kRow;
  op.Emit(std::move(stage));
  if (!mean) {
    op.View(0, sum, shape);
    return {};
  }
  const int divided = op.Temp("mean", type, rows);
  Stage finish = MakeStage(divided, rows, "nc");
  finish.body = op.Load(sum, AxesOf(finish)) / Literal(static_cast<double>(size), wide);
  op.Emit(std::move(finish));
  op.View(0, divided, shape);
  return {};
}

}  // namespace

void AddPoolingOps(LoweringTable& table) {
  table["MaxPool"] = MaxPool;
  table["AveragePool"] = AveragePool;
  table["GlobalAveragePool"] = GlobalPool<Combiner::kSum>;
  table["GlobalMaxPool"] = GlobalPool<Combiner::kMax>;
}

}  // namespace kindred
