// Sliding windows: their geometry, and the pools.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "tuner/import/ops.h"
#include "tuner/import/rows.h"

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

// The taps of all dimensions as one axis, for which the language has argmax: tap t along dimension
// d.
Exprs SplitTaps(const std::vector<Window>& windows, const ExprPtr& t) {
  Exprs taps(windows.size());
  ExprPtr left = t;
  for (std::size_t d = windows.size(); d-- > 0;) {
    taps[d] = d == 0 ? left : left % IntExpr(windows[d].kernel);
    left = left / IntExpr(windows[d].kernel);
  }
  return taps;
}

// Flat indices of the maxima in the input, row-major over its dimensions, or over the spatial ones
// in the order of their memory (`columns_first`).
void EmitMaxPlaces(OpContext& op, const Shape& shape, const std::vector<Window>& windows,
                   bool columns_first) {
  const std::size_t rank = windows.size();
  const DataType type = op.InValue(0).type;
  const std::string names = "nc" + std::string(kPlaces[rank - 1]);
  std::int64_t taps = 1;
  for (const Window& window : windows) taps *= window.kernel;
  const int tap = op.Temp("tap", DataType::kI64, shape);
  Stage find = MakeStage(tap, shape, names);
  AddReductionAxis(find, "t", taps);
  const Exprs axes = AxesOf(find);
  Exprs at = {axes[0], axes[1]};
  const Exprs split = SplitTaps(windows, axes.back());
  for (std::size_t d = 0; d < rank; ++d)
    at.push_back(WindowIndex(windows[d], axes[2 + d], split[d]));
  find.body = LoadExpr(op.In(0), std::move(at), type);
  if (AnyLeaves(windows)) find.body = PaddedExpr(find.body, LowestValue(type));
  SetReduction(find, Combiner::kArgMax, type);
  op.NewUnit();
  op.kind = UnitKind::kWindow;
  op.Emit(std::move(find));
  Stage place = MakeStage(op.Out(1, DataType::kI64, shape), shape, names);
  const Exprs own = AxesOf(place);
  const Exprs offsets = SplitTaps(windows, op.Load(tap, own));
  ExprPtr flat = own[0] * op.InShape(0)[1] + own[1], inside = IntExpr(0);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = columns_first ? rank - 1 - i : i;
    inside = inside * windows[d].in + WindowIndex(windows[d], own[2 + d], offsets[d]);
    flat = flat * windows[d].in;
  }
  place.body = flat + inside;
  op.Emit(std::move(place));
}

Result<void> MaxPool(OpContext& op) {
  const bool columns_first = op.Int("storage_order", 0) != 0;
  KINDRED_TRY(const auto windows, PoolWindows(op));
  KINDRED_TRY(const Shape shape, PoolShape(op, windows));
  const DataType type = op.InValue(0).type;
  if (op.Wants(1)) EmitMaxPlaces(op, shape, windows, columns_first);
  if (!op.Wants(0)) return {};
  op.NewUnit();
  Exprs at;
  Stage stage = WindowStage(op, op.Out(0, type, shape), shape, windows, at);
  stage.body = LoadExpr(op.In(0), std::move(at), type);
  if (AnyLeaves(windows)) stage.body = PaddedExpr(stage.body, LowestValue(type));
  SetReduction(stage, Combiner::kMax, type);
  op.Emit(std::move(stage));
  return {};
}

// How many elements the window at `position` averages along one dimension: taps t from the first
// with low <= start + t * dilation to the last below `high`.
ExprPtr Counted(const Window& window, const ExprPtr& position, bool include_padding) {
  const std::int64_t low = include_padding ? -window.before : 0;
  const std::int64_t high = window.in + (include_padding ? window.after : 0);
  const std::int64_t dilation = window.dilation;
  const ExprPtr start = position * window.stride + (-window.before);
  if (dilation == 1)
    return BinaryExpr(Op::kMin, start + window.kernel, IntExpr(high)) -
           BinaryExpr(Op::kMax, start, IntExpr(low));
  const auto steps = [&](const ExprPtr& distance) {
    return (distance + (dilation - 1)) / IntExpr(dilation);
  };
  const ExprPtr first = BinaryExpr(Op::kMax, steps(IntExpr(low) - start), IntExpr(0));
  return BinaryExpr(Op::kMin, steps(IntExpr(high) - start), IntExpr(window.kernel)) - first;
}

Result<void> AveragePool(OpContext& op) {
  const bool include_padding = op.Int("count_include_pad", 0) != 0;
  KINDRED_TRY(const auto windows, PoolWindows(op));
  KINDRED_TRY(const Shape shape, PoolShape(op, windows));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  bool varies = false;
  std::int64_t size = 1;
  for (const Window& window : windows) {
    varies |= window.overhangs || (!include_padding && window.Leaves());
    size *= window.kernel;
  }
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

// |x|^p, and its inverse for x >= 0.
ExprPtr NormTerm(const ExprPtr& x, std::int64_t p) {
  const ExprPtr wide = CastExpr(DefaultAccumulator(x->type), x);
  if (p == 2) return wide * wide;
  const ExprPtr size = UnaryExpr(Op::kAbs, wide);
  return p == 1 ? size : BinaryExpr(Op::kPow, size, Literal(static_cast<double>(p), size->type));
}

ExprPtr NormRoot(const ExprPtr& x, std::int64_t p) {
  if (p == 1) return x;
  return p == 2 ? UnaryExpr(Op::kSqrt, x)
                : BinaryExpr(Op::kPow, x, Literal(1.0 / static_cast<double>(p), x->type));
}

Result<void> LpPool(OpContext& op) {
  const std::int64_t p = op.Int("p", 2);
  if (p < 1) return Unsupported("a norm of order " + std::to_string(p));
  KINDRED_TRY(const auto windows, PoolWindows(op));
  KINDRED_TRY(const Shape shape, PoolShape(op, windows));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const int sum = op.Temp("sum", wide, shape);
  Exprs at;
  Stage stage = WindowStage(op, sum, shape, windows, at);
  ExprPtr x = LoadExpr(op.In(0), std::move(at), type);
  if (AnyLeaves(windows)) x = PaddedExpr(x, Literal(0, type));
  stage.body = NormTerm(x, p);
  SetReduction(stage, Combiner::kSum, wide);
  op.Emit(std::move(stage));
  Stage root =
      MakeStage(op.Out(0, type, shape), shape, "nc" + std::string(kPlaces[windows.size() - 1]));
  root.body = NormRoot(op.Load(sum, AxesOf(root)), p);
  op.Emit(std::move(root));
  return {};
}

Result<Rows> GlobalRows(OpContext& op) {
  const Shape x = op.InShape(0);
  if (x.size() < 3) return Unsupported("an input of shape " + ShapeText(x));
  std::vector<std::int64_t> axes(x.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return MakeRows(op, op.In(0), axes);
}

Result<void> GlobalAveragePool(OpContext& op) {
  KINDRED_TRY(const Rows rows, GlobalRows(op));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const int sum = op.Temp("rows", wide, rows.out), mean = op.Temp("mean", type, rows.out);
  EmitReduction(op, rows, sum, Combiner::kSum, wide,
                [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
  EmitRows(op, rows, mean, [&](const Exprs& at) {
    return op.Load(sum, at) / Literal(static_cast<double>(rows.size), wide);
  });
  op.View(0, mean, rows.Kept());
  return {};
}

Result<void> GlobalMaxPool(OpContext& op) {
  KINDRED_TRY(const Rows rows, GlobalRows(op));
  const DataType type = op.InValue(0).type;
  const int most = op.Temp("rows", type, rows.out);
  EmitReduction(op, rows, most, Combiner::kMax, type,
                [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
  op.View(0, most, rows.Kept());
  return {};
}

Result<void> GlobalLpPool(OpContext& op) {
  const std::int64_t p = op.Int("p", 2);
  if (p < 1) return Unsupported("a norm of order " + std::to_string(p));
  KINDRED_TRY(const Rows rows, GlobalRows(op));
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  const int sum = op.Temp("sum", wide, rows.out), root = op.Temp("rows", type, rows.out);
  EmitReduction(op, rows, sum, Combiner::kSum, wide, [&](const Exprs& at, const Exprs&) {
    return NormTerm(LoadExpr(op.In(0), at, type), p);
  });
  EmitRows(op, rows, root, [&](const Exprs& at) { return NormRoot(op.Load(sum, at), p); });
  op.View(0, root, rows.Kept());
  return {};
}

}  // namespace

void AddPoolingOps(LoweringTable& table) {
  table["MaxPool"] = MaxPool;
  table["AveragePool"] = AveragePool;
  table["LpPool"] = LpPool;
  table["GlobalLpPool"] = GlobalLpPool;
  table["GlobalAveragePool"] = GlobalAveragePool;
  table["GlobalMaxPool"] = GlobalMaxPool;
}

}  // namespace kindred
