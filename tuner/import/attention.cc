#include "tuner/import/attention.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tuner/import/rows.h"

namespace kindred {

Heads WholeHeads(std::string name, bool heads_first, std::int64_t batch, std::int64_t length,
                 std::int64_t heads, std::int64_t width) {
  Heads whole;
  whole.name = std::move(name);
  whole.heads_first = heads_first;
  whole.batch = whole.all_batches = batch;
  whole.length = whole.all_places = length;
  whole.heads = whole.all_heads = heads;
  whole.width = width;
  return whole;
}

Result<Heads> BehindPast(Expander& e, const Heads& own, int past, int output) {
  std::int64_t before = 0;
  if (e.op.Has(past)) {
    const Shape shape = e.op.InShape(past);
    if (shape.size() != 4 || shape != Shape{own.batch, own.heads, shape[2], own.width})
      return BadInput(fmt::format("{}: {}: a past of shape {} does not fit to {} heads of {}",
                                  e.op.model.path, e.op.node.Label(), ShapeText(shape), own.heads,
                                  own.width));
    before = shape[2];
  }
  const bool shown = e.Wants(output);
  if (before == 0 && !shown) return own;
  std::string present = shown ? e.Out(output) : e.Fresh();
  const std::int64_t length = before + own.length;
  const Shape shape = {own.batch, own.heads, length, own.width};
  const auto lower = [&](OpContext& op) -> Result<void> {
    const HeadReader reader(op, 0, own, 1);
    op.kind = UnitKind::kMovement;
    Stage stage = MakeStage(op.Out(0, op.InValue(0).type, shape), shape);
    const Exprs x = AxesOf(stage);
    stage.body = reader.Load(x[0], x[1], nullptr, x[2] + (-before), x[3]);
    if (before > 0)
      stage.body = SelectExpr(BinaryExpr(Op::kLess, x[2], IntExpr(before)), op.Load(op.In(1), x),
                              stage.body);
    op.Emit(std::move(stage));
    return {};
  };
  if (before == 0 && own.heads_first) {
    KINDRED_CHECK(e.AddOut(output, "Identity", {own.name}));
  } else {
    KINDRED_CHECK(e.Lower("Concat", {own.name, before > 0 ? e.In(past) : ""}, {present}, lower));
  }
  return WholeHeads(std::move(present), true, own.batch, length, own.heads, own.width);
}

HeadReader::HeadReader(OpContext& op, int input, const Heads& heads, std::int64_t members)
    : op_(op),
      heads_(heads),
      members_(members),
      split_(members > 1 && heads.head_step == 1 && heads.first_head % members == 0 &&
             heads.all_heads % members == 0) {
  Shape rows = {heads.all_heads};
  if (split_) rows = {heads.all_heads / members, members};
  Shape shape = {heads.all_batches};
  if (!heads.heads_first) shape.push_back(heads.all_places);
  shape.insert(shape.end(), rows.begin(), rows.end());
  if (heads.heads_first) shape.push_back(heads.all_places);
  shape.push_back(heads.width);
  view_ = op.ViewOf(op.In(input), std::move(shape));
}

ExprPtr HeadReader::Load(const ExprPtr& batch, const ExprPtr& head, const ExprPtr& member,
                         const ExprPtr& place, const ExprPtr& channel) const {
  Exprs rows;
  if (split_) {
    rows = {head + heads_.first_head / members_, member};
  } else {
    const ExprPtr among = members_ > 1 ? head * members_ + member : head;
    rows = {among * heads_.head_step + heads_.first_head};
  }
  Exprs at = {batch + heads_.first_batch};
  if (!heads_.heads_first) at.push_back(place);
  at.insert(at.end(), rows.begin(), rows.end());
  if (heads_.heads_first) at.push_back(place);
  at.push_back(channel);
  return op_.Load(view_, std::move(at));
}

AttentionWriter::AttentionWriter(Expander& e, Heads q, Heads k, Heads v)
    : e_(e), q_(std::move(q)), k_(std::move(k)), v_(std::move(v)) {}

Shape AttentionWriter::ScoreShape() const {
  return {q_.batch, k_.heads, members(), q_.length, k_.length};
}

Result<std::string> AttentionWriter::Scores(double scale, DataType type,
                                            const std::vector<ScoreTerm>& terms, int output,
                                            std::size_t tapped) {
  std::vector<std::string> inputs = {q_.name, k_.name}, outputs = {e_.Fresh()};
  for (const ScoreTerm& term : terms)
    inputs.insert(inputs.end(), term.inputs.begin(), term.inputs.end());
  if (output >= 0) outputs.push_back(e_.Out(output));
  const Shape shape = ScoreShape();
  KINDRED_CHECK(e_.Lower("MatMul", inputs, outputs, [&](OpContext& op) -> Result<void> {
    const DataType wide = DefaultAccumulator(op.InValue(0).type), own = op.InValue(0).type;
    const HeadReader q(op, 0, q_, members()), k(op, 1, k_, 1);
    const int sum = op.Temp("sum", wide, shape);
    op.kind = UnitKind::kContraction;
    Stage product = MakeStage(sum, shape, "bhgmn");
    AddReductionAxis(product, "k", q_.width);
    const Exprs x = AxesOf(product);
    product.body = q.Load(x[0], x[1], x[2], x[3], x[5]) * k.Load(x[0], x[1], x[2], x[4], x[5]);
    SetReduction(product, Combiner::kSum, wide);
    op.Emit(std::move(product));

    int from = sum, first = 2;
    const Exprs at = AxesOf(MakeStage(sum, shape));
    const ScorePlace place = {at[0], at[1], at[2], at[3], at[4]};
    ExprPtr score = op.Load(sum, at) * Literal(scale, wide);
    const auto store = [&](int target) {
      Stage stage = MakeStage(target, shape, "bhgmn");
      stage.body = score;
      op.Emit(std::move(stage));
      from = target;
      score = op.Load(target, at);
    };
    for (std::size_t t = 0; t <= terms.size(); ++t) {
      if (output >= 0 && t == tapped) {
        store(op.Temp("scores", own, shape));
        op.View(1, from, {shape[0], q_.heads, shape[3], shape[4]});
      }
      if (t == terms.size()) break;
      score = terms[t].apply(op, first, place, score);
      first += static_cast<int>(terms[t].inputs.size());
    }
    if (output >= 0 && tapped == terms.size() && own == type) {
      op.View(0, from, shape);
    } else {
      store(op.Out(0, type, shape));
    }
    return {};
  }));
  return outputs.front();
}

Result<std::string> AttentionWriter::Softmax(const std::string& scores, const Rest& rest) {
  if (!rest.guarded && rest.sink.empty())
    return e_.Add("Softmax", {scores}, {{"axis", IntAttribute(-1)}});
  std::string weights = e_.Fresh();
  const auto lower = [&](OpContext& op) -> Result<void> {
    const bool sinks = !rest.sink.empty();
    const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
    const Rows rows = MakeRows(op, op.In(0), {4});
    const int sink = sinks ? op.ViewOf(op.In(1), {rows.out[1], rows.out[2]}) : -1;
    int top = op.Temp("max", type, rows.out);
    EmitReduction(op, rows, top, Combiner::kMax, type,
                  [&](const Exprs& at, const Exprs&) { return LoadExpr(op.In(0), at, type); });
    const int highest = top;
    top = op.Temp("shift", wide, rows.out);
    const auto sink_at = [&](const Exprs& row) { return op.Load(sink, {row[1], row[2]}); };
    EmitRows(op, rows, top, [&](const Exprs& row) {
      const ExprPtr x = op.Load(highest, row);
      if (sinks) return BinaryExpr(Op::kMax, x, sink_at(row));
      const ExprPtr nothing = BinaryExpr(Op::kEqual, x, Infinity(x->type, true));
      return SelectExpr(nothing, Literal(0, x->type), x);
    });
    const int powers = op.Temp("exp", wide, rows.in);
    EmitElements(op, rows, powers, [&](const Exprs& at, const Exprs& row) {
      return UnaryExpr(Op::kExp, LoadExpr(op.In(0), at, type) - op.Load(top, row));
    });
    const int sum = op.Temp("sum", wide, rows.out), total = op.Temp("total", wide, rows.out);
    EmitReduction(op, rows, sum, Combiner::kSum, wide,
                  [&](const Exprs& at, const Exprs&) { return op.Load(powers, at); });
    EmitRows(op, rows, total, [&](const Exprs& row) {
      const ExprPtr x = op.Load(sum, row);
      if (sinks) return x + UnaryExpr(Op::kExp, sink_at(row) - op.Load(top, row));
      const ExprPtr zero = Literal(0, wide);
      return SelectExpr(BinaryExpr(Op::kEqual, x, zero), Literal(1, wide), x);
    });
    EmitElements(op, rows, op.Out(0, type, rows.in), [&](const Exprs& at, const Exprs& row) {
      return op.Load(powers, at) / op.Load(total, row);
    });
    return {};
  };
  KINDRED_CHECK(e_.Lower("Softmax", {scores, rest.sink}, {weights}, lower));
  return weights;
}

Result<void> AttentionWriter::Weigh(const std::string& weights, bool heads_first, int output) {
  const std::int64_t b = q_.batch, h = k_.heads, g = members(), m = q_.length, n = v_.width;
  return e_.Lower(
      "MatMul", {weights, v_.name}, {e_.Out(output)}, [&](OpContext& op) -> Result<void> {
        const DataType type = op.InValue(1).type;
        const HeadReader v(op, 1, v_, 1);
        const Shape shape = heads_first ? Shape{b, h, g, m, n} : Shape{b, m, h, g, n};
        const int made = op.Temp("weighed", type, shape);
        op.kind = UnitKind::kContraction;
        Stage stage = MakeStage(made, shape, heads_first ? "bhgmn" : "bmhgn");
        AddReductionAxis(stage, "k", v_.length);
        Exprs x = AxesOf(stage);
        if (!heads_first) x = {x[0], x[2], x[3], x[1], x[4], x[5]};
        stage.body = op.Load(op.In(0), {x[0], x[1], x[2], x[3], x[5]}) *
                     v.Load(x[0], x[1], x[2], x[5], x[4]);
        SetReduction(stage, Combiner::kSum, DefaultAccumulator(type));
        op.Emit(std::move(stage));
        op.View(0, made, heads_first ? Shape{b, h * g, m, n} : Shape{b, m, h * g * n});
        return {};
      });
}

ExprPtr Infinity(DataType type, bool negative) {
  const double infinity = std::numeric_limits<double>::infinity();
  return Literal(negative ? -infinity : infinity, type);
}

ExprPtr Seen(const ExprPtr& seen, const ExprPtr& score) {
  return SelectExpr(seen, score, Infinity(score->type, true));
}

ScoreTerm SoftCap(double cap) {
  return {{}, [cap](OpContext&, int, const ScorePlace&, const ExprPtr& score) {
            const ExprPtr c = Literal(cap, score->type);
            return UnaryExpr(Op::kTanh, score / c) * c;
          }};
}

ScoreTerm Causal(std::int64_t offset) {
  return {{}, [offset](OpContext&, int, const ScorePlace& at, const ExprPtr& score) {
            return Seen(BinaryExpr(Op::kLessEqual, at.key, at.query + offset), score);
          }};
}

ScoreTerm Mask(const Expander& e, const std::string& mask, const Shape& scores) {
  Shape shape = e.ShapeOf(mask);
  const bool keeps = e.ValueOf(mask).type == DataType::kBool;
  while (shape.size() < 4) shape.insert(shape.begin(), 1);
  const std::int64_t keys = shape[3];
  const bool for_each_head = shape[1] != 1;
  const Shape view = {shape[0], for_each_head ? scores[1] : 1, for_each_head ? scores[2] : 1,
                      shape[2], keys};
  return {{mask},
          [=](OpContext& op, int first, const ScorePlace& at, const ExprPtr& score) -> ExprPtr {
            const Exprs all = {at.batch, at.head, at.member, at.query, at.key};
            Exprs index;
            for (std::size_t d = 0; d < 5; ++d)
              index.push_back(view[d] == 1 && d < 4 ? IntExpr(0) : all[d]);
            const ExprPtr x = op.Load(op.ViewOf(op.In(first), view), index);
            const ExprPtr masked = keeps ? Seen(x, score) : score + x;
            if (keys >= scores[4]) return masked;
            return Seen(BinaryExpr(Op::kLess, at.key, IntExpr(keys)), masked);
          }};
}

}  // namespace kindred
