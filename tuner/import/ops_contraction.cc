// Sums of products: Conv, Gemm, MatMul, Einsum.
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

}  // namespace

Result<void> LowerConv(OpContext& op, int x, int w, int b) {
  const Value input = op.graph.values[static_cast<std::size_t>(x)];
  const Shape weight = op.graph.values[static_cast<std::size_t>(w)].shape;
  KINDRED_TRY(const ConvForm form, ReadConv(op, input.shape, weight));
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
  const int out = op.Out(0, input.type, with({form.batch, channels}, places));
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
  if (form.grouped()) target = op.Temp("groups", input.type, shape);
  const int sum = b >= 0 ? op.Temp("sum", SumType(input.type), shape) : target;

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
  ExprPtr pixel = LoadExpr(x, std::move(at), input.type);
  if (leaves) pixel = PaddedExpr(std::move(pixel), Literal(0, input.type));
  stage.body = pixel * LoadExpr(w, std::move(by), input.type);
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(input.type));
  op.Emit(std::move(stage));

  if (b >= 0) {
    Stage biased = MakeStage(target, shape, names + kPlaces[rank - 1]);
    const Exprs places_of = AxesOf(biased);
    const Exprs bias_at = form.grouped() ? Exprs{places_of[1], places_of[2]} : Exprs{places_of[1]};
    biased.body = op.Load(sum, places_of) + op.Load(b, bias_at);
    op.Emit(std::move(biased));
  }
  if (form.grouped()) {
    op.graph.values[static_cast<std::size_t>(target)].kind = ValueKind::kComputed;
    op.View(0, target, with({form.batch, channels}, places));
  }
  return {};
}

namespace {

Result<void> Conv(OpContext& op) {
  if (op.InShape(1).empty()) return Unsupported("a weight without dimensions");
  KINDRED_CHECK(CheckShape(op, 2, {op.InShape(1)[0]}));
  return LowerConv(op, op.In(0), op.In(1), op.Has(2) ? op.In(2) : -1);
}

Result<void> Gemm(OpContext& op) {
  const bool turn_a = op.Int("transA", 0) != 0, turn_b = op.Int("transB", 0) != 0;
  const double alpha = op.Float("alpha", 1), beta = op.Float("beta", 1);
  const Shape a = op.InShape(0), b = op.InShape(1);
  if (a.size() != 2 || b.size() != 2) return Unsupported("its operands are no matrices");
  const DataType type = op.InValue(0).type;
  const std::int64_t rows = a[turn_a ? 1 : 0], depth = a[turn_a ? 0 : 1],
                     columns = b[turn_b ? 0 : 1];
  if (b[turn_b ? 1 : 0] != depth)
    return BadInput(fmt::format("{}: {} multiplies {} and {}, whose inner extents differ",
                                op.model.path, op.node.Label(), ShapeText(a), ShapeText(b)));
  KINDRED_CHECK(CheckBroadcasts(op, 2, {rows, columns}));
  const bool has_c = op.Has(2) && beta != 0;
  const bool epilogue = has_c || alpha != 1;
  const Shape shape = {rows, columns};
  const int out = op.Out(0, type, shape);
  const int sum = epilogue ? op.Temp("sum", SumType(type), shape) : out;
  op.kind = UnitKind::kContraction;
  Stage stage = MakeStage(sum, shape, "mn");
  AddReductionAxis(stage, "k", depth);
  const Exprs x = AxesOf(stage);
  stage.body = LoadExpr(op.In(0), turn_a ? Exprs{x[2], x[0]} : Exprs{x[0], x[2]}, type) *
               LoadExpr(op.In(1), turn_b ? Exprs{x[1], x[2]} : Exprs{x[2], x[1]}, type);
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(type));
  op.Emit(std::move(stage));
  if (!epilogue) return {};
  Stage finish = MakeStage(out, shape, "mn");
  const Exprs axes = AxesOf(finish);
  ExprPtr y = op.Load(sum, axes);
  y = y * Literal(alpha, y->type);
  if (has_c) {
    const ExprPtr c = op.Broadcast(op.In(2), finish);
    y = y + c * Literal(beta, y->type);
  }
  finish.body = std::move(y);
  op.Emit(std::move(finish));
  return {};
}

Result<void> MatMul(OpContext& op) {
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
  const DataType type = op.InValue(0).type;
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
  op.kind = UnitKind::kContraction;
  Stage stage = MakeStage(op.Out(0, type, shape), shape, names);
  AddReductionAxis(stage, "k", depth);
  const Exprs axes = AxesOf(stage);
  const auto operand = [&](int id, const Shape& matrix, const ExprPtr& first,
                           const ExprPtr& second) {
    Exprs at;
    const std::size_t own = matrix.size() - 2;
    for (std::size_t d = 0; d < own; ++d)
      at.push_back(matrix[d] == 1 && batch[batch.size() - own + d] != 1
                       ? IntExpr(0)
                       : axes[batch.size() - own + d]);
    if (first) at.push_back(first);
    if (second) at.push_back(second);
    return LoadExpr(id, std::move(at), type);
  };
  const ExprPtr k = axes.back();
  const ExprPtr m = row ? nullptr : axes[batch.size()];
  const ExprPtr n = column ? nullptr : axes[batch.size() + (row ? 0 : 1)];
  stage.body = operand(op.In(0), a, m, k) * operand(op.In(1), b, k, n);
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(type));
  op.Emit(std::move(stage));
  return {};
}

Result<void> Einsum(OpContext& op) {
  std::string text = op.Text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos)
    return Unsupported("an equation without '->' or with '...': " + text);
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  const std::string result = text.substr(arrow + 2);
  std::string all = result;
  std::map<char, std::int64_t> extents;
  if (static_cast<int>(terms.size()) != op.inputs())
    return Unsupported("an equation that does not name every input");
  for (int i = 0; i < op.inputs(); ++i) {
    const std::string& term = terms[static_cast<std::size_t>(i)];
    if (term.size() != op.InShape(i).size())
      return Unsupported("an equation that does not fit its inputs");
    for (std::size_t d = 0; d < term.size(); ++d) {
      if (all.find(term[d]) == std::string::npos) all += term[d];
      std::int64_t& extent = extents.emplace(term[d], 1).first->second;
      if (extent != 1 && op.InShape(i)[d] != extent)
        return Unsupported("an equation that broadcasts");
      extent = op.InShape(i)[d];
    }
  }
  const DataType type = op.InValue(0).type;
  Shape shape;
  for (const char c : result) {
    if (!extents.contains(c)) return Unsupported("an equation whose result names a new axis");
    shape.push_back(extents[c]);
  }
  Stage stage = MakeStage(op.Out(0, type, shape), shape, result);
  for (const char c : all.substr(result.size()))
    AddReductionAxis(stage, std::string(1, c), extents[c]);
  const Exprs axes = AxesOf(stage);
  for (int i = 0; i < op.inputs(); ++i) {
    Exprs at;
    for (const char c : terms[static_cast<std::size_t>(i)]) at.push_back(axes[all.find(c)]);
    const ExprPtr factor = LoadExpr(op.In(i), std::move(at), type);
    stage.body = stage.body ? stage.body * factor : factor;
  }
  SetReduction(stage, Combiner::kSum, DefaultAccumulator(type));
  op.kind = stage.reduction() > 0 ? UnitKind::kContraction : UnitKind::kMovement;
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddContractionOps(LoweringTable& table) {
  table["Conv"] = Conv;
  table["Gemm"] = Gemm;
  table["MatMul"] = MatMul;
  table["Einsum"] = Einsum;
}

}  // namespace kindred
