// onnxruntime's Attention and MultiHeadAttention as products and Softmax (attention.h).
#include <cmath>

#include <fmt/format.h>

#include "tuner/import/attention.h"

namespace kindred {
namespace {

// Where a mask hides a key, `filter` is added to the score.
ScoreTerm Filtered(std::vector<std::string> inputs, double filter,
                   std::function<ExprPtr(OpContext& op, int first, const ScorePlace& at)> seen) {
  return {std::move(inputs),
          [=](OpContext& op, int first, const ScorePlace& at, const ExprPtr& score) {
            return SelectExpr(seen(op, first, at), score, score + Literal(filter, score->type));
          }};
}

// An integer mask [batch], its keys' number; [2 * batch], their ends, then their beginnings; [batch,
// keys] or [batch, queries, keys], not 0 where seen; [batch, 1, most, most] of which it reads the
// rows behind `past`.
Result<ScoreTerm> KeyMask(Expander& e, int input, double filter, const Shape& scores,
                          std::int64_t past) {
  const std::string name = e.In(input);
  const Shape mask = e.ShapeOf(name);
  const std::int64_t batch = scores[0], queries = scores[3], keys = scores[4];
  const auto below = [](const ExprPtr& a, const ExprPtr& b) {
    return BinaryExpr(Op::kLess, a, b);
  };
  const auto number = [](OpContext& op, int id, const ExprPtr& at) {
    return CastExpr(DataType::kI64, op.Load(op.In(id), {at}));
  };
  if (mask == Shape{batch} || mask == Shape{2 * batch}) {
    const bool begins = mask[0] == 2 * batch && batch > 0;
    return Filtered({name}, filter, [=](OpContext& op, int first, const ScorePlace& at) {
      op.UseAsIndex(op.In(first), begins ? 0 : 1, keys + 1);
      const ExprPtr seen = below(at.key, number(op, first, at.batch));
      if (!begins) return seen;
      const ExprPtr begin = number(op, first, at.batch + batch);
      return BinaryExpr(Op::kAnd, seen, BinaryExpr(Op::kLessEqual, begin, at.key));
    });
  }
  const bool rows = mask == Shape{batch, queries, keys};
  const bool square = mask.size() == 4 && mask[0] == batch && mask[1] == 1 && mask[2] == mask[3] &&
                      mask[3] >= keys && past + queries <= mask[2];
  if (!rows && !square && mask != Shape{batch, keys})
    return Unsupported("a mask of shape " + ShapeText(mask));
  return Filtered({name}, filter, [=](OpContext& op, int first, const ScorePlace& at) {
    Exprs index = {at.batch};
    if (square) index.push_back(IntExpr(0));
    if (rows) index.push_back(at.query);
    if (square) index.push_back(at.query + past);
    index.push_back(at.key);
    const ExprPtr x = op.Load(op.In(first), index);
    return below(Literal(0, x->type), x);
  });
}

Result<void> Misfit(const Expander& e, const std::string& what) {
  return BadInput(
      fmt::format("{}: {}: {} do not fit together", e.op.model.path, e.op.node.Label(), what));
}

Result<void> CheckBias(const Expander& e, int input, const Shape& scores) {
  if (!e.op.Has(input)) return {};
  const Shape bias = e.op.InShape(input), whole = {scores[0], scores[1] * scores[2], scores[3],
                                                   scores[4]};
  bool fits = bias.size() == 4 && bias[3] == whole[3];
  for (std::size_t d = 0; fits && d < 3; ++d) fits = bias[d] == 1 || bias[d] == whole[d];
  if (fits) return {};
  return Misfit(e, fmt::format("the scores {} and their bias {}", ShapeText(whole),
                               ShapeText(bias)));
}

// Attributes that both operators have, and what they add to the scores.
struct Options {
  std::int64_t heads = 0;
  bool causal = false;
  double filter = -10000, scale = 0;
};

Result<Options> ReadOptions(Expander& e) {
  Options options;
  options.heads = e.op.Int("num_heads", 0);
  options.causal = e.op.Int("unidirectional", 0) != 0;
  options.filter = e.op.Float("mask_filter_value", -10000);
  options.scale = e.op.Float("scale", 0);
  if (options.heads < 1) return BadInput(fmt::format("{}: {} has no number of heads",
                                                     e.op.model.path, e.op.node.Label()));
  return options;
}

// `scores_output`: of the node, for the scores after all terms; -1: none.
Result<void> Attend(Expander& e, const Options& options, const Heads& q, const Heads& k,
                    const Heads& v, int mask, int bias, int scores_output) {
  AttentionWriter writer(e, q, k, v);
  const Shape shape = writer.ScoreShape();
  const std::int64_t past = k.length - q.length;
  std::vector<ScoreTerm> terms;
  if (e.op.Has(mask)) {
    KINDRED_TRY(auto term, KeyMask(e, mask, options.filter, shape, past));
    terms.push_back(std::move(term));
  }
  if (options.causal) terms.push_back(Causal(past));
  KINDRED_CHECK(CheckBias(e, bias, shape));
  if (e.op.Has(bias)) terms.push_back(Mask(e, e.In(bias), shape));
  const double scale =
      options.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.width)) : options.scale;
  const DataType type = e.ValueOf(q.name).type;
  KINDRED_TRY(const std::string scores,
              writer.Scores(scale, type, terms, scores_output, terms.size()));
  AttentionWriter::Rest rest;
  rest.guarded = options.causal && past < 0;
  KINDRED_TRY(const std::string weights, writer.Softmax(scores, rest));
  return writer.Weigh(weights, false, 0);
}

// [2, batch, heads, length, width]: the past of keys and values, and theirs behind it.
Result<void> JoinPast(Expander& e, int past, const Heads& k, const Heads& v, std::int64_t before,
                      const std::string& present) {
  const Shape shape = {2, k.batch, k.heads, before + k.length, k.width};
  std::vector<std::string> inputs = {k.name, v.name};
  if (e.op.Has(past)) inputs.push_back(e.In(past));
  return e.Lower("Concat", inputs, {present}, [&](OpContext& op) -> Result<void> {
    const HeadReader keys(op, 0, k, 1), values(op, 1, v, 1);
    op.kind = UnitKind::kMovement;
    Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
    const Exprs x = AxesOf(stage);
    const ExprPtr place = x[3] + (-before);
    stage.body = SelectExpr(BinaryExpr(Op::kLess, x[0], IntExpr(1)),
                            keys.Load(x[1], x[2], nullptr, place, x[4]),
                            values.Load(x[1], x[2], nullptr, place, x[4]));
    if (before > 0)
      stage.body = SelectExpr(BinaryExpr(Op::kLess, x[3], IntExpr(before)), op.Load(op.In(2), x),
                              stage.body);
    op.Emit(std::move(stage));
    return {};
  });
}

Result<void> MicrosoftAttention(Expander& e) {
  enum Inputs { kInput, kWeights, kBias, kMask, kPast, kScoreBias, kPastLength };
  OpContext& op = e.op;
  KINDRED_TRY(const Options options, ReadOptions(e));
  if (op.Int("do_rotary", 0) != 0) return Unsupported("rotary positions inside of Attention");
  if (op.Int("past_present_share_buffer", 0) != 0 || op.Has(kPastLength))
    return Unsupported("past and present in one buffer");
  op.Ignore("rotary_embedding_dim");
  if (!op.Has(kInput) || !op.Has(kWeights)) return Unsupported("its input or weights are not there");
  const Shape x = op.InShape(kInput), w = op.InShape(kWeights);
  const auto sizes = op.Ints("qkv_hidden_sizes");
  if (x.size() != 3 || w.size() != 2 || w[0] != x[2] || (sizes && sizes->size() != 3) ||
      (!sizes && w[1] % 3 != 0))
    return Misfit(e, fmt::format("input {} and weights {}", ShapeText(x), ShapeText(w)));
  const std::int64_t third = w[1] / 3, heads = options.heads;
  const Shape widths = sizes ? *sizes : Shape{third, third, third};
  for (const std::int64_t width : widths)
    if (width < 1 || width % heads != 0) return Misfit(e, fmt::format("{} heads and weights {}",
                                                                      heads, ShapeText(w)));
  if (widths[0] != widths[1] || widths[0] + widths[1] + widths[2] != w[1])
    return Misfit(e, "qkv_hidden_sizes " + ShapeText(widths));

  KINDRED_TRY(std::string all, e.Add("MatMul", {e.In(kInput), e.In(kWeights)}));
  if (op.Has(kBias)) {
    KINDRED_TRY(all, e.Add("Add", {all, e.In(kBias)}));
  }
  const auto part = [&](std::int64_t which) {
    Heads one = WholeHeads(all, false, x[0], x[1], heads, third / heads);
    one.all_heads = 3 * heads;
    one.first_head = which * heads;
    return one;
  };
  Heads q = part(0), k = part(1), v = part(2);
  if (widths[0] != widths[2]) {
    KINDRED_TRY(const auto names, e.AddMany("Split", {all, e.Ints(widths)}, 3,
                                            {{"axis", IntAttribute(2)}}));
    for (auto [which, one] : {std::pair(0U, &q), std::pair(1U, &k), std::pair(2U, &v)})
      *one = WholeHeads(names[which], false, x[0], x[1], heads, widths[which] / heads);
  }
  std::int64_t before = 0;
  if (op.Has(kPast)) {
    const Shape past = op.InShape(kPast);
    if (past.size() != 5 || past != Shape{2, x[0], heads, past[3], k.width} || k.width != v.width)
      return Misfit(e, fmt::format("input {} and past {}", ShapeText(x), ShapeText(past)));
    before = past[3];
  }
  if (before > 0 || e.Wants(1)) {
    if (k.width != v.width) return Unsupported("a present whose keys and values differ in width");
    const std::string present = e.Wants(1) ? e.Out(1) : e.Fresh();
    KINDRED_CHECK(JoinPast(e, kPast, k, v, before, present));
    for (auto [which, one] : {std::pair(0, &k), std::pair(1, &v)}) {
      *one = WholeHeads(present, true, x[0], before + x[1], heads, one->width);
      one->all_batches = 2 * x[0];
      one->first_batch = which * x[0];
    }
  }
  return Attend(e, options, q, k, v, kMask, kScoreBias, -1);
}

class MultiHead {
 public:
  explicit MultiHead(Expander& e) : e_(e) {}

  Result<void> Run() {
    OpContext& op = e_.op;
    KINDRED_TRY(options_, ReadOptions(e_));
    if (op.Has(kPastLength) || op.Has(kIndirection))
      return Unsupported("past and present in one buffer");
    if (!op.Has(kQuery)) return Unsupported("its query is not there");
    Heads q, k, v;
    KINDRED_CHECK(ReadOperands(q, k, v));
    if (e_.op.Has(kBias)) KINDRED_CHECK(AddBias(q, k, v));
    KINDRED_TRY(k, BehindPast(e_, k, kPastKey, 1));
    KINDRED_TRY(v, BehindPast(e_, v, kPastValue, 2));
    if (k.length != v.length) return Misfit(e_, "the lengths of keys and values");
    return Attend(e_, options_, q, k, v, kMask, kScoreBias, e_.Wants(3) ? 3 : -1);
  }

 private:
  enum Inputs {
    kQuery,
    kKey,
    kValue,
    kBias,
    kMask,
    kScoreBias,
    kPastKey,
    kPastValue,
    kPastLength,
    kIndirection
  };

  // Head h of part `which` among `parts` that lie side by side in each head.
  Heads Packed(int input, int which, int parts) const {
    const Shape shape = e_.op.InShape(input);
    Heads one = WholeHeads(e_.In(input), false, shape[0], shape[1], shape[2], shape[4]);
    one.all_heads = shape[2] * parts;
    one.first_head = which;
    one.head_step = parts;
    return one;
  }

  Result<Heads> Plain(int input) const {
    const Shape shape = e_.op.InShape(input);
    const std::int64_t heads = options_.heads;
    if (shape.size() == 4 && shape[1] == heads)
      return WholeHeads(e_.In(input), true, shape[0], shape[2], heads, shape[3]);
    if (shape.size() != 3 || shape[2] % heads != 0)
      return Unsupported(fmt::format("an operand of shape {}", ShapeText(shape)));
    return WholeHeads(e_.In(input), false, shape[0], shape[1], heads, shape[2] / heads);
  }

  Result<void> ReadOperands(Heads& q, Heads& k, Heads& v) {
    OpContext& op = e_.op;
    const auto packed = [&](int input, std::int64_t parts) {
      const Shape shape = op.InShape(input);
      return shape.size() == 5 && shape[2] == options_.heads && shape[3] == parts;
    };
    if (!op.Has(kKey)) {
      if (!packed(kQuery, 3)) return Unsupported("it has no key");
      q = Packed(kQuery, 0, 3);
      k = Packed(kQuery, 1, 3);
      v = Packed(kQuery, 2, 3);
      return {};
    }
    KINDRED_TRY(q, Plain(kQuery));
    if (!op.Has(kValue)) {
      if (!packed(kKey, 2)) return Unsupported("it has no value");
      k = Packed(kKey, 0, 2);
      v = Packed(kKey, 1, 2);
    } else {
      KINDRED_TRY(k, Plain(kKey));
      KINDRED_TRY(v, Plain(kValue));
    }
    if (q.batch != k.batch || q.batch != v.batch || q.width != k.width)
      return Misfit(e_, fmt::format("query {}, key {}", ShapeText(op.InShape(kQuery)),
                                    ShapeText(op.InShape(kKey))));
    return {};
  }

  // [hidden + hidden + value hidden], each part beside its operand; operands that already stand by
  // heads have no part of it added.
  Result<void> AddBias(Heads& q, Heads& k, Heads& v) {
    const std::int64_t sizes[] = {q.heads * q.width, k.heads * k.width, v.heads * v.width};
    if (e_.op.InShape(kBias) != Shape{sizes[0] + sizes[1] + sizes[2]})
      return Misfit(e_, "its operands and their bias " + ShapeText(e_.op.InShape(kBias)));
    std::int64_t first = 0;
    Heads* all[] = {&q, &k, &v};
    for (int which = 0; which < 3; ++which) {
      Heads& one = *all[which];
      const std::int64_t offset = first;
      first += sizes[which];
      if (one.heads_first) continue;
      const Shape shape = {one.batch, one.length, one.heads, one.width};
      std::string sum = e_.Fresh();
      KINDRED_CHECK(e_.Lower("Add", {one.name, e_.In(kBias)}, {sum},
                             [&](OpContext& op) -> Result<void> {
                               const HeadReader reader(op, 0, one, 1);
                               Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
                               const Exprs x = AxesOf(stage);
                               stage.body = reader.Load(x[0], x[2], nullptr, x[1], x[3]) +
                                            op.Load(op.In(1), {x[2] * one.width + x[3] + offset});
                               op.Emit(std::move(stage));
                               return {};
                             }));
      one = WholeHeads(sum, false, one.batch, one.length, one.heads, one.width);
    }
    return {};
  }

  Expander& e_;
  Options options_;
};

}  // namespace

void AddMicrosoftAttentionExpansions(ExpansionTable& table) {
  table["com.microsoft:Attention"] = MicrosoftAttention;
  table["com.microsoft:MultiHeadAttention"] = [](Expander& e) { return MultiHead(e).Run(); };
}

}  // namespace kindred
