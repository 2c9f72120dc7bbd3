// RotaryEmbedding, ONNX's (operator set 23) and onnxruntime's.
#include <fmt/format.h>

#include "tuner/import/ops.h"
#include "tuner/import/rotary.h"

namespace kindred {
namespace {

// x * cos -+ partner * sin, for the first and the second of a pair.
ExprPtr Turned(const ExprPtr& second, const ExprPtr& x, const ExprPtr& partner,
               const ExprPtr& cosine, const ExprPtr& sine) {
  return x * cosine + partner * SelectExpr(second, sine, UnaryExpr(Op::kNeg, sine));
}

}  // namespace

void EmitRotation(OpContext& op, const Heads& heads, bool heads_first, const Shape& shape,
                  const Rotation& rotation) {
  const DataType type = op.InValue(0).type;
  const HeadReader x(op, 0, heads, 1);
  const std::int64_t half = rotation.width / 2;
  Shape made = {heads.batch, heads_first ? heads.heads : heads.length,
                heads_first ? heads.length : heads.heads};
  op.kind = UnitKind::kPointwise;
  if (rotation.width == heads.width) {
    made.push_back(rotation.interleaved ? half : 2);
    made.push_back(rotation.interleaved ? 2 : half);
  } else {
    made.push_back(heads.width);
  }
  const int target = op.Temp("turned", type, made);
  Stage stage = MakeStage(target, made);
  const Exprs axes = AxesOf(stage);
  const ExprPtr b = axes[0], l = axes[heads_first ? 2 : 1], h = axes[heads_first ? 1 : 2];
  const auto load = [&](const ExprPtr& channel) { return x.Load(b, h, nullptr, l, channel); };
  if (rotation.width == heads.width) {
    const ExprPtr pair = axes[rotation.interleaved ? 3 : 4];
    const ExprPtr member = axes[rotation.interleaved ? 4 : 3];
    const ExprPtr other = IntExpr(1) - member;
    const auto channel = [&](const ExprPtr& of) {
      return rotation.interleaved ? pair * 2 + of : of * half + pair;
    };
    stage.body = Turned(BinaryExpr(Op::kEqual, member, IntExpr(1)), load(channel(member)),
                        load(channel(other)), rotation.cosine(b, l, pair),
                        rotation.sine(b, l, pair));
  } else {
    const ExprPtr d = axes[3];
    const auto below = [&](std::int64_t end) { return BinaryExpr(Op::kLess, d, IntExpr(end)); };
    ExprPtr turned;
    if (rotation.interleaved) {
      const ExprPtr pair = d / IntExpr(2), member = d % IntExpr(2);
      const ExprPtr partner =
          PaddedExpr(load(d + 1 - member * 2), Literal(0, type));  // never outside
      turned = Turned(BinaryExpr(Op::kEqual, member, IntExpr(1)), load(d), partner,
                      rotation.cosine(b, l, pair), rotation.sine(b, l, pair));
    } else {
      const auto part = [&](const ExprPtr& pair, const ExprPtr& partner, bool second) {
        const ExprPtr c = load(d) * rotation.cosine(b, l, pair);
        const ExprPtr s = load(partner) * rotation.sine(b, l, pair);
        return second ? c + s : c - s;
      };
      turned = SelectExpr(below(half), part(d, d + half, false),
                          part(d + (-half), d + (-half), true));
    }
    stage.body = SelectExpr(below(rotation.width), turned, load(d));
  }
  op.Emit(std::move(stage));
  op.View(0, target, shape);
}

Result<std::function<ExprPtr(const ExprPtr& batch, const ExprPtr& place)>> TableRows(
    OpContext& op, int input, std::int64_t batch, std::int64_t length, std::int64_t rows) {
  using Row = std::function<ExprPtr(const ExprPtr& batch, const ExprPtr& place)>;
  const bool one = ElementCount(op.InShape(input)) == 1;
  const int ids = op.ViewOf(op.In(input), one ? Shape{1, 1} : Shape{batch, length});
  if (const ConstantPtr known = op.Peek(input)) {
    const auto element = [&](std::int64_t b, std::int64_t l) {
      return one ? known->Integer(0) + l : known->Integer(b * length + l);
    };
    bool counts = true;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t l = 0; l < length; ++l) {
        counts = counts && element(b, l) == element(0, 0) + l;
        if (element(b, l) < 0 || element(b, l) >= rows)
          return BadInput(fmt::format("{}: {} reads row {} of a table of {}", op.model.path,
                                      op.node.Label(), element(b, l), rows));
      }
    const std::int64_t start = element(0, 0);
    if (counts) return Row([start](const ExprPtr&, const ExprPtr& place) { return place + start; });
  } else {
    op.UseAsIndex(ids, 0, one ? std::max<std::int64_t>(1, rows - length + 1) : rows);
  }
  return Row([&op, ids, one](const ExprPtr& b, const ExprPtr& place) {
    const Exprs at = one ? Exprs{IntExpr(0), IntExpr(0)} : Exprs{b, place};
    const ExprPtr row = CastExpr(DataType::kI64, op.Load(ids, at));
    return one ? row + place : row;
  });
}

namespace {

struct RotaryInputs {
  int cosines, sines, places;
};

// x is [batch, heads, length, width], or [batch, length, heads * width].
Result<void> Rotate(OpContext& op, const RotaryInputs& inputs) {
  const Shape x = op.InShape(0), table = op.InShape(inputs.cosines);
  if (x.size() != 3 && x.size() != 4) return Unsupported("an input of shape " + ShapeText(x));
  const bool heads_first = x.size() == 4;
  const std::int64_t given = op.Int("rotary_embedding_dim", 0);
  std::int64_t heads = op.Int("num_heads", 0);
  if (heads_first) heads = x[1];
  // onnxruntime: without a number of heads, a head is as wide as the table tells.
  if (heads == 0 && given == 0) heads = x[2] / std::max<std::int64_t>(1, 2 * table.back());
  if (heads < 1 || (!heads_first && x[2] % heads != 0))
    return BadInput(fmt::format("{}: {}: {} heads do not fit the input {}", op.model.path,
                                op.node.Label(), heads, ShapeText(x)));
  const std::int64_t length = heads_first ? x[2] : x[1], width = heads_first ? x[3] : x[2] / heads;
  const Heads source = WholeHeads("", heads_first, x[0], length, heads, width);
  Rotation rotation;
  rotation.interleaved = op.Int("interleaved", 0) != 0;
  rotation.width = given == 0 ? width : given;
  const bool by_row = op.Has(inputs.places);
  const Shape expected = by_row ? Shape{table[0], rotation.width / 2}
                                : Shape{x[0], length, rotation.width / 2};
  if (rotation.width % 2 != 0 || rotation.width > width || table != expected ||
      op.InShape(inputs.sines) != table)
    return BadInput(fmt::format("{}: {}: tables of cosines {} and sines {} do not fit the input {}",
                                op.model.path, op.node.Label(), ShapeText(table),
                                ShapeText(op.InShape(inputs.sines)), ShapeText(x)));
  std::function<ExprPtr(const ExprPtr&, const ExprPtr&)> row;
  if (by_row) {
    const std::int64_t count = ElementCount(op.InShape(inputs.places));
    if (count != 1 && count != x[0] * length)
      return BadInput(fmt::format("{}: {} has {} positions for {} places", op.model.path,
                                  op.node.Label(), count, x[0] * length));
    KINDRED_TRY(row, TableRows(op, inputs.places, x[0], length, table[0]));
  }
  const auto reader = [&op, row](int input) {
    const int id = op.In(input);
    return [&op, row, id](const ExprPtr& b, const ExprPtr& place, const ExprPtr& pair) {
      return op.Load(id, row ? Exprs{row(b, place), pair} : Exprs{b, place, pair});
    };
  };
  rotation.cosine = reader(inputs.cosines);
  rotation.sine = reader(inputs.sines);
  EmitRotation(op, source, heads_first, x, rotation);
  return {};
}

Result<void> OnnxRotary(OpContext& op) {
  for (const int input : {0, 1, 2})
    if (!op.Has(input)) return Unsupported("the input, its cosines or its sines are not there");
  const std::size_t rank = op.Has(3) ? 2 : 3;
  if (op.InShape(1).size() != rank)
    return Unsupported("a table of cosines of shape " + ShapeText(op.InShape(1)));
  return Rotate(op, {1, 2, 3});
}

Result<void> MicrosoftRotary(OpContext& op) {
  for (const int input : {0, 1, 2, 3})
    if (!op.Has(input)) return Unsupported("an input is not there");
  if (op.Int("is_packed_batching", 0) != 0) return Unsupported("packed batches");
  if (op.Float("scale", 1) != 1) return Unsupported("a scale");
  if (op.InShape(2).size() != 2)
    return Unsupported("a table of cosines of shape " + ShapeText(op.InShape(2)));
  return Rotate(op, {2, 3, 1});
}

}  // namespace

void AddRotaryOps(LoweringTable& table) {
  table["RotaryEmbedding"] = OnnxRotary;
  table["com.microsoft:RotaryEmbedding"] = MicrosoftRotary;
}

}  // namespace kindred
