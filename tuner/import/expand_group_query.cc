// onnxruntime's GroupQueryAttention as products and Softmax (attention.h).
//
// With T = total_sequence_length and S queries, batch b has seqlens_k[b] + 1 keys, the last S of
// which are new. Where T = S (a prompt) all start at place 0.
#include <cmath>

#include <fmt/format.h>

#include "tuner/import/attention.h"
#include "tuner/import/rotary.h"

namespace kindred {
namespace {

enum Inputs {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastPlaces,
  kTotal,
  kCosines,
  kSines,
  kPlaces,
  kScoreBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};

class GroupQuery {
 public:
  explicit GroupQuery(Expander& e) : e_(e) {}

  Result<void> Run() {
    OpContext& op = e_.op;
    const double scale = op.Float("scale", 0), cap = op.Float("softcap", 0);
    const bool causal = op.Int("causal", 1) != 0, smooth = op.Int("smooth_softmax", 0) > 0;
    const std::int64_t window = op.Int("local_window_size", -1);
    KINDRED_CHECK(ReadForm());
    Heads q, k, v;
    ReadOperands(q, k, v);
    KINDRED_CHECK(ReadPast(k));
    if (op.Int("do_rotary", 0) != 0) {
      KINDRED_TRY(q, Rotated(q));
      KINDRED_TRY(k, Rotated(k));
    }
    KINDRED_TRY(k, Present(k, kPastKey, 1));
    KINDRED_TRY(v, Present(v, kPastValue, 2));

    AttentionWriter writer(e_, q, k, v);
    std::vector<ScoreTerm> terms;
    if (cap > 0) terms.push_back(SoftCap(cap));
    terms.push_back(Places(causal, window));
    if (op.Has(kScoreBias)) {
      const Shape bias = op.InShape(kScoreBias);
      if (bias.size() != 4 || bias[2] != queries_ || bias[3] != total_ ||
          (bias[0] != 1 && bias[0] != batch_) || (bias[1] != 1 && bias[1] != heads_))
        return Misfit("its attention_bias " + ShapeText(bias));
      terms.push_back(Mask(e_, e_.In(kScoreBias), writer.ScoreShape()));
    }
    KINDRED_TRY(
        const std::string scores,
        writer.Scores(scale == 0 ? 1 / std::sqrt(static_cast<double>(width_)) : scale,
                      op.InValue(kQuery).type, terms));
    AttentionWriter::Rest rest;
    rest.guarded = !past_known_ && !causal;
    if (op.Has(kSink)) {
      if (op.InShape(kSink) != Shape{heads_}) return Misfit("its head_sink");
      rest.sink = e_.In(kSink);
    } else if (smooth) {
      KINDRED_TRY(rest.sink, e_.Add("Expand", {e_.Number(0, op.InValue(kQuery).type),
                                               e_.Ints({heads_})}));
    }
    KINDRED_TRY(const std::string weights, writer.Softmax(scores, rest));
    return writer.Weigh(weights, false, 0);
  }

 private:
  Error Misfit(const std::string& what) const {
    return BadInput(fmt::format("{}: {}: {} does not fit {} query and {} key heads of {}",
                                e_.op.model.path, e_.op.node.Label(), what, heads_, key_heads_,
                                width_));
  }

  Result<void> ReadForm() {
    OpContext& op = e_.op;
    heads_ = op.Int("num_heads", 0);
    key_heads_ = op.Int("kv_num_heads", 0);
    op.Ignore("rotary_interleaved");
    op.Ignore("qk_output");
    op.Ignore("qk_norm_epsilon");
    op.Ignore("kv_cache_bit_width");
    for (const char* name : {"k_quant_type", "v_quant_type"})
      if (op.Text(name, "NONE") != "NONE") return Unsupported("a quantised key-value cache");
    if (op.Int("sliding_window_cache", 0) != 0)
      return Unsupported("a key-value cache of the window's size");
    if (e_.Wants(3)) return Unsupported("its scores are used");
    for (const int input : {kQueryNorm, kKeyNorm})
      if (op.Has(input)) return Unsupported("a normalisation of queries and keys inside of it");
    for (const int input : {kKeyScale, kValueScale})
      if (op.Has(input)) return Unsupported("a quantised key-value cache");
    if (!op.Has(kQuery) || op.Has(kKey) != op.Has(kValue))
      return Unsupported("its query, key or value is not there");
    const Shape q = op.InShape(kQuery);
    if (heads_ < 1 || key_heads_ < 1 || heads_ % key_heads_ != 0 || q.size() != 3)
      return Misfit("its query " + ShapeText(q));
    batch_ = q[0];
    queries_ = q[1];
    const std::int64_t all = op.Has(kKey) ? heads_ : heads_ + 2 * key_heads_;
    width_ = q[2] / all;
    if (q[2] != width_ * all || width_ < 1) return Misfit("its query " + ShapeText(q));
    for (const int input : {kKey, kValue})
      if (op.Has(input) && op.InShape(input) != Shape{batch_, queries_, key_heads_ * width_})
        return Misfit("its key or value " + ShapeText(op.InShape(input)));
    return {};
  }

  void ReadOperands(Heads& q, Heads& k, Heads& v) const {
    const bool packed = !e_.op.Has(kKey);
    const auto part = [&](int input, std::int64_t heads, std::int64_t first) {
      Heads one = WholeHeads(e_.In(packed ? kQuery : input), false, batch_, queries_, heads, width_);
      if (packed) {
        one.all_heads = heads_ + 2 * key_heads_;
        one.first_head = first;
      }
      return one;
    };
    q = part(kQuery, heads_, 0);
    k = part(kKey, key_heads_, heads_);
    v = part(kValue, key_heads_, heads_ + key_heads_);
  }

  Result<void> ReadPast(const Heads& k) {
    OpContext& op = e_.op;
    if (op.Has(kPastKey) != op.Has(kPastValue)) return Misfit("one of past_key and past_value");
    if (op.Has(kPastKey)) {
      const Shape past = op.InShape(kPastKey);
      if (past.size() != 4 || past != Shape{batch_, key_heads_, past[2], k.width} ||
          op.InShape(kPastValue) != past)
        return Misfit("its past " + ShapeText(past));
      buffer_ = past[2];
    }
    KINDRED_TRY(const auto total, op.KnownInts(kTotal, "total_sequence_length"));
    total_ = total.size() == 1 ? total[0] : 0;
    if (total_ < queries_ || total_ > buffer_ + queries_)
      return Misfit(fmt::format("a total_sequence_length of {}", total_));
    if (!op.Has(kLastPlaces) || op.InShape(kLastPlaces) != Shape{batch_})
      return Misfit("its seqlens_k");
    // total_sequence_length is the longest of the batch.
    past_known_ = total_ == queries_ || batch_ == 1;
    if (const ConstantPtr last = op.Peek(kLastPlaces); last && !past_known_) {
      past_known_ = true;
      for (std::int64_t b = 0; b < batch_; ++b)
        past_known_ = past_known_ && last->Integer(b) == total_ - 1;
    }
    return {};
  }

  // The first query's place in a batch; `input`: where seqlens_k is.
  ExprPtr Past(OpContext& op, int input, const ExprPtr& batch) const {
    if (past_known_) return IntExpr(total_ - queries_);
    op.UseAsIndex(op.In(input), queries_ - 1, total_);
    return CastExpr(DataType::kI64, op.Load(op.In(input), {batch})) + (1 - queries_);
  }

  Result<Heads> Rotated(const Heads& heads) {
    if (!e_.op.Has(kCosines) || !e_.op.Has(kSines)) return Misfit("rotation without its tables");
    const Shape table = e_.op.InShape(kCosines);
    if (table.size() != 2 || 2 * table[1] > width_ || e_.op.InShape(kSines) != table ||
        table[0] < total_)
      return Misfit("its table of cosines " + ShapeText(table));
    const bool given = e_.op.Has(kPlaces);
    if (given && e_.op.InShape(kPlaces) != Shape{batch_, queries_})
      return Misfit("its position_ids " + ShapeText(e_.op.InShape(kPlaces)));
    const bool interleaved = e_.op.Int("rotary_interleaved", 0) != 0;
    std::string turned = e_.Fresh();
    const auto lower = [&](OpContext& op) -> Result<void> {
      std::function<ExprPtr(const ExprPtr&, const ExprPtr&)> row =
          [&](const ExprPtr& b, const ExprPtr& place) { return Past(op, 3, b) + place; };
      if (given) {
        KINDRED_TRY(row, TableRows(op, 3, batch_, queries_, table[0]));
      }
      Rotation rotation;
      rotation.interleaved = interleaved;
      rotation.width = 2 * table[1];
      const auto reader = [&](int id) {
        return [&op, &row, id](const ExprPtr& b, const ExprPtr& place, const ExprPtr& pair) {
          return op.Load(id, {row(b, place), pair});
        };
      };
      rotation.cosine = reader(op.In(1));
      rotation.sine = reader(op.In(2));
      EmitRotation(op, heads, false, {heads.batch, heads.length, heads.heads, heads.width},
                   rotation);
      return {};
    };
    KINDRED_CHECK(e_.Lower("RotaryEmbedding",
                           {heads.name, e_.In(kCosines), e_.In(kSines),
                            e_.In(given ? kPlaces : kLastPlaces)},
                           {turned}, lower));
    return WholeHeads(turned, false, heads.batch, heads.length, heads.heads, heads.width);
  }

  // The cache with the new keys or values in their places, nothing behind them; the first `total_`
  // places of it.
  Result<Heads> Present(const Heads& own, int past, int output) {
    const std::int64_t places = std::max(buffer_, total_);
    if (past_known_ && places == total_ && buffer_ == total_ - queries_)
      return BehindPast(e_, own, past, output);
    const std::string present = e_.Wants(output) ? e_.Out(output) : e_.Fresh();
    const Shape shape = {batch_, key_heads_, places, width_};
    const auto lower = [&](OpContext& op) -> Result<void> {
      const DataType type = op.InValue(0).type;
      const HeadReader reader(op, 0, own, 1);
      op.kind = UnitKind::kMovement;
      Stage stage = MakeStage(op.Out(0, type, shape), shape);
      const Exprs x = AxesOf(stage);
      const ExprPtr before = Past(op, 2, x[0]);
      const ExprPtr made = reader.Load(x[0], x[1], nullptr, x[2] - before, x[3]);
      const ExprPtr nothing = Literal(0, type);
      stage.body = SelectExpr(BinaryExpr(Op::kLess, x[2], before),
                              PaddedExpr(op.Load(op.In(1), x), nothing),
                              PaddedExpr(made, nothing));
      op.Emit(std::move(stage));
      return {};
    };
    KINDRED_CHECK(
        e_.Lower("Concat", {own.name, e_.In(past), e_.In(kLastPlaces)}, {present}, lower));
    Heads result = WholeHeads(present, true, batch_, places, key_heads_, width_);
    result.length = total_;
    return result;
  }

  // Keys up to a query's own place are seen, and from `window` before it on; without `causal` all
  // that the batch has.
  ScoreTerm Places(bool causal, std::int64_t window) const {
    return {{e_.In(kLastPlaces)},
            [=, this](OpContext& op, int first, const ScorePlace& at, const ExprPtr& score) {
              const ExprPtr past = Past(op, first, at.batch);
              if (!causal)
                return past_known_ ? score
                                   : Seen(BinaryExpr(Op::kLess, at.key, past + queries_), score);
              const ExprPtr place = at.query + past;
              ExprPtr result = Seen(BinaryExpr(Op::kLessEqual, at.key, place), score);
              if (window > 0) result = Seen(BinaryExpr(Op::kLess, place, at.key + window), result);
              return result;
            }};
  }

  Expander& e_;
  std::int64_t heads_ = 0, key_heads_ = 0, batch_ = 0, queries_ = 0, width_ = 0;
  std::int64_t buffer_ = 0, total_ = 0;  // places of the past's tensor; of all keys
  bool past_known_ = false;              // total_ - queries_ in every batch
};

}  // namespace

void AddGroupQueryExpansions(ExpansionTable& table) {
  table["com.microsoft:GroupQueryAttention"] = [](Expander& e) { return GroupQuery(e).Run(); };
}

}  // namespace kindred
