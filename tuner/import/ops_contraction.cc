// Sums of products: Conv, Gemm, MatMul.
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

// The type in which a sum of `type` stands before its epilogue.
DataType SumType(DataType type) { return IsFloat(type) ? DefaultAccumulator(type) : type; }

// X[n,c,...], W[o,c,...]; grouped: X[n,g,c,...], W[g,o,c,...]. `windows`: one per spatial
// dimension.
struct ConvForm {
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  // channels per group
  std::vector<Window> windows;
  bool depthwise() const { return in == 1 && out == 1 && groups > 1; }
  bool grouped() const { return groups > 1 && !depthwise(); }
};

Result<ConvForm> ReadConv(OpContext& op, const Shape& x, const Shape& w) {
  ConvForm form;
  form.groups = op.Int("group", 1);
  if (x.size() < 3 || w.size() != x.size())
    return Unsupported(
        fmt::format("an input of shape {} with a weight of shape {}", ShapeText(x), ShapeText(w)));
  if (form.groups < 1 || x[1] != w[1] * form.groups || w[0] % form.groups != 0)
    return BadInput(fmt::format("{}: {}: input {}, weight {} and group {} do not fit together",
                                op.model.path, op.node.Label(), ShapeText(x), ShapeText(w),
                                form.groups));
  form.batch = x[0];
  form.in = w[1];
  form.out = w[0] / form.groups;
  KINDRED_TRY(form.windows,
              ReadWindows(op, Shape(x.begin() + 2, x.end()), Shape(w.begin() + 2, w.end())));
  return form;
}

// The spatial axes' names and the taps'.
constexpr const char* kPlaces[] = {"x", "yx", "zyx"};
constexpr const char* kTaps[] = {"s", "rs", "qrs"};

// `type`: of the output. `pair`: what is multiplied instead of x and w.
Result<void> EmitConv(OpContext& op, int x, int w, int b, DataType type,
                      const std::optional<QuantizedPair>& pair) {
  const Shape weight = op.graph.values[static_cast<std::size_t>(w)].shape;
  KINDRED_TRY(const ConvForm form,
              ReadConv(op, op.graph.values[static_cast<std::size_t>(x)].shape, weight));
  const std::size_t rank = form.windows.size();
  if (rank > 3) return Unsupported("more than three spatial dimensions");
  Shape image, places, taps;
  bool leaves = false;
  for (const Window& window : form.windows) {
    image.push_back(window.in);
    places.push_back(window.out);
    taps.push_back(window.kernel);
    leaves |= window.Leaves();
  }
  const auto with = [](Shape head, const Shape& tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
  };
  const std::int64_t channels = form.groups * form.out;
  const int out = op.Out(0, type, with({form.batch, channels}, places));
  std::optional<IntegerProduct> product;
  if (pair) {
    std::vector<bool> reduced(weight.size(), true);
    reduced[0] = false;
    product.emplace(op, pair->a, std::vector<bool>(), pair->b, reduced, leaves);
    x = product->a();
    w = product->b();
    if (form.grouped()) product->ViewB({form.groups, form.out});
  }
  const DataType read = op.graph.values[static_cast<std::size_t>(x)].type;
  Shape shape = op.graph.values[static_cast<std::size_t>(out)].shape;
  std::string names = form.depthwise() ? "nc" : "no";
  if (form.grouped()) {
    // Groups become a dimension of their own, so that every index stays a sum; the output is a
    // view.
    shape = with({form.batch, form.groups, form.out}, places);
    names = "ngo";
    x = op.ViewOf(x, with({form.batch, form.groups, form.in}, image));
    w = op.ViewOf(w, with({form.groups, form.out, form.in}, taps));
    if (b >= 0) b = op.ViewOf(b, {form.groups, form.out});
  }
  const std::size_t head = form.grouped() ? 3 : 2;
  int target = out;
  if (form.grouped()) target = op.Temp("groups", type, shape);
  const bool epilogue = b >= 0 || (product && product->HasFinish());
  const DataType sum_type = product ? DataType::kI32 : SumType(type);
  const int sum = epilogue ? op.Temp("sum", sum_type, shape) : target;

  op.kind = UnitKind::kContraction;
  Stage stage = MakeStage(sum, shape, names + kPlaces[rank - 1]);
  if (!form.depthwise())
    AddReductionAxis(stage, "c" + std::string(form.grouped() ? "i" : ""), form.in);
  for (std::size_t d = 0; d < rank; ++d)
    AddReductionAxis(stage, std::string(1, kTaps[rank - 1][d]), taps[d]);
  const Exprs axes = AxesOf(stage);
  const std::size_t tap = axes.size() - rank;
  const ExprPtr channel = axes[head + rank];  // the reduction's, unless depthwise
  Exprs at, by;
  if (form.grouped()) {
    at = {axes[0], axes[1], channel};
    by = {axes[1], axes[2], channel};
  } else if (form.depthwise()) {
    at = {axes[0], axes[1]};
    by = {axes[1], IntExpr(0)};
  } else {
    at = {axes[0], channel};
    by = {axes[1], channel};
  }
  for (std::size_t d = 0; d < rank; ++d) {
    at.push_back(WindowIndex(form.windows[d], axes[head + d], axes[tap + d]));
    by.push_back(axes[tap + d]);
  }
  ExprPtr pixel = LoadExpr(x, std::move(at), read);
  if (leaves) pixel = PaddedExpr(std::move(pixel), product ? product->padding() : Literal(0, read));
  stage.body =
      pixel * LoadExpr(w, std::move(by), op.graph.values[static_cast<std::size_t>(w)].type);
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(read));
  op.Emit(std::move(stage));

  if (epilogue) {
    Stage finished = MakeStage(target, shape, names + kPlaces[rank - 1]);
    const Exprs places_of = AxesOf(finished);
    const Exprs output = form.grouped() ? Exprs{places_of[1], places_of[2]} : Exprs{places_of[1]};
    finished.body = op.Load(sum, places_of);
    if (product) finished.body = product->Finish(finished.body, {}, output);
    if (b >= 0) finished.body = finished.body + op.Load(b, output);
    op.Emit(std::move(finished));
  }
  if (form.grouped()) {
    op.graph.values[static_cast<std::size_t>(target)].kind = ValueKind::kComputed;
    op.View(0, target, with({form.batch, channels}, places));
  }
  return {};
}

constexpr std::size_t kNoAxis = static_cast<std::size_t>(-1);

}  // namespace

Result<void> LowerConv(OpContext& op, int x, int w, int b) {
  const Shape& weight = op.graph.values[static_cast<std::size_t>(w)].shape;
  const std::int64_t depth = ElementCount(weight) / std::max<std::int64_t>(1, weight[0]);
  const DataType type = op.graph.values[static_cast<std::size_t>(x)].type;
  return EmitConv(op, x, w, b, type, FindQuantizedPair(op.graph, x, kNoAxis, w, 0, depth));
}

Result<void> LowerIntegerConv(OpContext& op, const QuantizedPair& pair) {
  return EmitConv(op, pair.a.value, pair.b.value, -1, DataType::kI32, pair);
}

namespace {

Result<void> Conv(OpContext& op) {
  if (op.InShape(1).empty()) return Unsupported("a weight without dimensions");
  KINDRED_CHECK(CheckShape(op, 2, {op.InShape(1)[0]}));
  return LowerConv(op, op.In(0), op.In(1), op.Has(2) ? op.In(2) : -1);
}

}  // namespace

Result<void> LowerGemm(OpContext& op, int left, int right, int c, double beta) {
  const bool turn_a = op.Int("transA", 0) != 0, turn_b = op.Int("transB", 0) != 0;
  const double alpha = op.Float("alpha", 1);
  const auto value = [&](int id) { return op.graph.values[static_cast<std::size_t>(id)]; };
  const Shape a = value(left).shape, b = value(right).shape;
  if (a.size() != 2 || b.size() != 2) return Unsupported("its operands are no matrices");
  const DataType type = value(left).type;
  const std::int64_t rows = a[turn_a ? 1 : 0], depth = a[turn_a ? 0 : 1],
                     columns = b[turn_b ? 0 : 1];
  if (b[turn_b ? 1 : 0] != depth)
    return BadInput(fmt::format("{}: {} multiplies {} and {}, whose inner extents differ",
                                op.model.path, op.node.Label(), ShapeText(a), ShapeText(b)));
  const bool has_c = c >= 0 && beta != 0;
  const Shape shape = {rows, columns};
  const int out = op.Out(0, type, shape);
  std::optional<IntegerProduct> product;
  if (const auto pair =
          FindQuantizedPair(op.graph, left, turn_a ? 1 : 0, right, turn_b ? 0 : 1, depth)) {
    product.emplace(op, pair->a, std::vector<bool>{turn_a, !turn_a}, pair->b,
                    std::vector<bool>{!turn_b, turn_b}, false);
    left = product->a();
    right = product->b();
  }
  const bool epilogue = has_c || alpha != 1 || product;
  const DataType sum_type = product ? DataType::kI32 : SumType(type);
  const int sum = epilogue ? op.Temp("sum", sum_type, shape) : out;
  op.kind = UnitKind::kContraction;
  Stage stage = MakeStage(sum, shape, "mn");
  AddReductionAxis(stage, "k", depth);
  const Exprs x = AxesOf(stage);
  stage.body = LoadExpr(left, turn_a ? Exprs{x[2], x[0]} : Exprs{x[0], x[2]}, value(left).type) *
               LoadExpr(right, turn_b ? Exprs{x[1], x[2]} : Exprs{x[2], x[1]}, value(right).type);
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(sum_type));
  op.Emit(std::move(stage));
  if (!epilogue) return {};
  Stage finish = MakeStage(out, shape, "mn");
  const Exprs axes = AxesOf(finish);
  ExprPtr y = op.Load(sum, axes);
  if (product) y = product->Finish(y, {axes[0]}, {axes[1]});
  y = y * Literal(alpha, y->type);
  if (has_c) {
    y = y + op.Broadcast(c, finish) * Literal(beta, y->type);
  }
  finish.body = std::move(y);
  op.Emit(std::move(finish));
  return {};
}

Result<void> LowerMatMul(OpContext& op, DataType type, const std::optional<QuantizedPair>& pair) {
  Shape a = op.InShape(0), b = op.InShape(1);
  if (a.empty() || b.empty()) return Unsupported("a scalar operand");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const std::int64_t depth = a.back();
  if (b[b.size() - 2] != depth)
    return BadInput(fmt::format("{}: {} multiplies {} and {}, whose inner extents differ",
                                op.model.path, op.node.Label(), ShapeText(a), ShapeText(b)));
  KINDRED_TRY(const Shape batch,
              BroadcastShapes(op, {Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)}));
  Shape shape = batch;
  std::string names;
  for (std::size_t d = 0; d < batch.size(); ++d) names += "bhgpqtuv"[d % 8];
  if (!row) {
    shape.push_back(a[a.size() - 2]);
    names += 'm';
  }
  if (!column) {
    shape.push_back(b.back());
    names += 'n';
  }
  const int out = op.Out(0, type, shape);
  int left = op.In(0), right = op.In(1);
  std::optional<IntegerProduct> product;
  if (pair) {
    std::vector<bool> a_reduced(op.InShape(0).size()), b_reduced(op.InShape(1).size());
    a_reduced.back() = true;
    b_reduced[column ? 0 : b_reduced.size() - 2] = true;
    product.emplace(op, pair->a, a_reduced, pair->b, b_reduced, false);
    left = product->a();
    right = product->b();
  }
  const bool epilogue = product && product->HasFinish();
  const DataType sum_type = product ? DataType::kI32 : type;
  op.kind = UnitKind::kContraction;
  Stage stage = MakeStage(epilogue ? op.Temp("sum", sum_type, shape) : out, shape, names);
  AddReductionAxis(stage, "k", depth);
  const Exprs axes = AxesOf(stage);
  // An operand's index in its batch dimensions, then in `rest`, of which null ones are not there.
  const auto index = [&](const Shape& matrix, const Exprs& rest) {
    Exprs at;
    const std::size_t own = matrix.size() - 2;
    for (std::size_t d = 0; d < own; ++d)
      at.push_back(matrix[d] == 1 && batch[batch.size() - own + d] != 1
                       ? IntExpr(0)
                       : axes[batch.size() - own + d]);
    for (const ExprPtr& one : rest)
      if (one) at.push_back(one);
    return at;
  };
  const auto load = [&](int id, Exprs at) {
    return LoadExpr(id, std::move(at), op.graph.values[static_cast<std::size_t>(id)].type);
  };
  const ExprPtr k = axes.back();
  const ExprPtr m = row ? nullptr : axes[batch.size()];
  const ExprPtr n = column ? nullptr : axes[batch.size() + (row ? 0 : 1)];
  stage.body = load(left, index(a, {m, k})) * load(right, index(b, {k, n}));
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(sum_type));
  const int sum = stage.tensor;
  op.Emit(std::move(stage));
  if (!epilogue) return {};
  Stage finish = MakeStage(out, shape, names);
  finish.body = product->Finish(op.Load(sum, AxesOf(finish)), index(a, {m}), index(b, {n}));
  op.Emit(std::move(finish));
  return {};
}

namespace {

Result<void> Gemm(OpContext& op) {
  const Shape a = op.InShape(0), b = op.InShape(1);
  if (a.size() != 2 || b.size() != 2) return Unsupported("its operands are no matrices");
  KINDRED_CHECK(CheckBroadcasts(
      op, 2, {a[op.Int("transA", 0) != 0 ? 1 : 0], b[op.Int("transB", 0) != 0 ? 0 : 1]}));
  return LowerGemm(op, op.In(0), op.In(1), op.Has(2) ? op.In(2) : -1, op.Float("beta", 1));
}

Result<void> MatMul(OpContext& op) {
  const Shape a = op.InShape(0), b = op.InShape(1);
  const std::int64_t depth = a.empty() ? 1 : a.back();
  const std::size_t a_axis = a.size() < 2 ? kNoAxis : a.size() - 2;
  const std::size_t b_axis = b.size() < 2 ? kNoAxis : b.size() - 1;
  return LowerMatMul(op, op.InValue(0).type,
                     FindQuantizedPair(op.graph, op.In(0), a_axis, op.In(1), b_axis, depth));
}

}  // namespace

void AddContractionOps(LoweringTable& table) {
  table["Conv"] = Conv;
  table["Gemm"] = Gemm;
  table["MatMul"] = MatMul;
}

}  // namespace kindred
