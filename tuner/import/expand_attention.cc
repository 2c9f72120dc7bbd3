// ONNX's Attention (operator sets 23 to 25) as its products and Softmax (attention.h).
#include <cmath>

#include <fmt/format.h>

#include "tuner/import/attention.h"

namespace kindred {
namespace {

enum Inputs { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

// What the fourth output shows.
enum Mode { kProducts, kCapped, kMasked, kWeights };

class OnnxAttention {
 public:
  explicit OnnxAttention(Expander& e) : e_(e) {}

  Result<void> Run() {
    KINDRED_CHECK(ReadShapes());
    const auto mode = e_.op.Int("qk_matmul_output_mode", 0);
    const double scale = e_.op.Float("scale", 1 / std::sqrt(static_cast<double>(width_)));
    const double cap = e_.op.Float("softcap", 0);
    const bool causal = e_.op.Int("is_causal", 0) != 0;
    const auto left = e_.op.Int("left_window_size", -1), right = e_.op.Int("right_window_size", -1);
    const auto precision = static_cast<int>(e_.op.Int("softmax_precision", 0));
    const DataType type = e_.op.InValue(kQuery).type;
    const auto wide = precision == 0 ? type : FromOnnxType(precision);
    if (!wide || !IsFloat(*wide)) return Unsupported("Softmax in " + OnnxTypeName(precision));

    const auto own = [&](int input, std::int64_t heads, std::int64_t length, std::int64_t width) {
      return WholeHeads(e_.In(input), heads_first_, batch_, length, heads, width);
    };
    KINDRED_TRY(const Heads keys,
                BehindPast(e_, own(kKey, key_heads_, keys_, width_), kPastKey, 1));
    KINDRED_TRY(const Heads values,
                BehindPast(e_, own(kValue, key_heads_, keys_, value_width_), kPastValue, 2));
    if (keys.length != values.length) return Misfit();
    AttentionWriter writer(e_, own(kQuery, heads_, queries_, width_), keys, values);
    KINDRED_CHECK(CheckMask(writer.ScoreShape()));
    std::vector<ScoreTerm> terms;
    if (cap > 0) terms.push_back(SoftCap(cap));
    const std::size_t capped = terms.size();
    if (e_.op.Has(kMask)) terms.push_back(Mask(e_, e_.In(kMask), writer.ScoreShape()));
    if (causal) terms.push_back(Window(-1, 0));
    if (left >= 0 || right >= 0) terms.push_back(Window(left, right));
    if (e_.op.Has(kLengths)) terms.push_back(Lengths());
    const std::size_t taps[] = {0, capped, terms.size()};
    const bool shown = e_.Wants(3);
    if (mode < kProducts || mode > kWeights)
      return Unsupported(fmt::format("qk_matmul_output_mode {}", mode));
    const bool before = shown && mode != kWeights;
    KINDRED_TRY(const std::string scores, writer.Scores(scale, *wide, terms, before ? 3 : -1,
                                                        before ? taps[mode] : 0));
    AttentionWriter::Rest rest;
    rest.guarded = e_.op.Has(kMask) || e_.op.Has(kLengths) || left >= 0 || right >= 0;
    KINDRED_TRY(std::string weights, writer.Softmax(scores, rest));
    if (*wide != type) {
      KINDRED_TRY(weights, e_.Add("Cast", {weights}, {{"to", IntAttribute(ToOnnxType(type))}}));
    }
    if (shown && !before)
      KINDRED_CHECK(
          e_.AddOut(3, "Reshape", {weights, e_.Ints({batch_, heads_, queries_, keys.length})}));
    return writer.Weigh(weights, heads_first_, 0);
  }

 private:
  Result<void> ReadShapes() {
    OpContext& op = e_.op;
    for (const int input : {kQuery, kKey, kValue})
      if (!op.Has(input)) return Unsupported("Q, K or V is not there");
    if (op.Has(kPastKey) != op.Has(kPastValue))
      return BadInput(fmt::format("{}: {} has one of past_key and past_value, not both",
                                  op.model.path, op.node.Label()));
    const Shape q = op.InShape(kQuery), k = op.InShape(kKey), v = op.InShape(kValue);
    heads_ = op.Int("q_num_heads", 0);
    key_heads_ = op.Int("kv_num_heads", 0);
    heads_first_ = q.size() == 4;
    if (k.size() != q.size() || v.size() != q.size() || (q.size() != 3 && q.size() != 4))
      return Misfit();
    batch_ = q[0];
    if (heads_first_) {
      heads_ = q[1];
      key_heads_ = k[1];
      if (v[1] != key_heads_ || v[2] != k[2] || k[3] != q[3]) return Misfit();
      queries_ = q[2];
      keys_ = k[2];
      width_ = q[3];
      value_width_ = v[3];
    } else {
      if (heads_ < 1 || key_heads_ < 1 || q[2] % heads_ != 0 || k[2] % key_heads_ != 0 ||
          v[2] % key_heads_ != 0 || k[1] != v[1])
        return Misfit();
      queries_ = q[1];
      keys_ = k[1];
      width_ = q[2] / heads_;
      value_width_ = v[2] / key_heads_;
      if (k[2] / key_heads_ != width_) return Misfit();
    }
    if (k[0] != batch_ || v[0] != batch_ || key_heads_ < 1 || heads_ % key_heads_ != 0)
      return Misfit();
    if (ElementCount(q) == 0 || ElementCount(k) == 0 || ElementCount(v) == 0)
      return Unsupported("a tensor without elements");
    if (op.Has(kPastKey)) {
      const Shape past = op.InShape(kPastKey);
      past_ = past.size() == 4 ? past[2] : 0;
    }
    if (op.Has(kLengths) && op.InShape(kLengths) != Shape{batch_}) return Misfit();
    return {};
  }

  Result<void> Misfit() const {
    const auto shape = [&](int input) {
      return e_.op.Has(input) ? ShapeText(e_.op.InShape(input)) : "none";
    };
    return BadInput(fmt::format("{}: {}: Q {}, K {}, V {}, past_key {} and past_value {} with {} "
                                "and {} heads do not fit together",
                                e_.op.model.path, e_.op.node.Label(), shape(kQuery), shape(kKey),
                                shape(kValue), shape(kPastKey), shape(kPastValue), heads_,
                                key_heads_));
  }

  Result<void> CheckMask(const Shape& scores) const {
    if (!e_.op.Has(kMask)) return {};
    Shape mask = e_.op.InShape(kMask);
    if (mask.empty() || mask.size() > 4) return Unsupported("a mask of shape " + ShapeText(mask));
    while (mask.size() < 4) mask.insert(mask.begin(), 1);
    const Shape whole = {scores[0], heads_, scores[3], scores[4]};
    bool fits = mask[3] <= whole[3];
    for (std::size_t d = 0; d < 3; ++d) fits = fits && (mask[d] == 1 || mask[d] == whole[d]);
    if (fits) return {};
    return BadInput(fmt::format("{}: {}: its mask {} does not broadcast to {}", e_.op.model.path,
                                e_.op.node.Label(), ShapeText(mask), ShapeText(whole)));
  }

  // The first query's place among the keys.
  ExprPtr Offset(OpContext& op, int lengths, const ScorePlace& at) const {
    if (!e_.op.Has(kLengths) || past_ > 0) return IntExpr(past_);
    return CastExpr(DataType::kI64, op.Load(op.In(lengths), {at.batch})) + (-queries_);
  }

  // Keys from `left` before a query's place to `right` behind it are seen; -1: no end.
  ScoreTerm Window(std::int64_t left, std::int64_t right) const {
    ScoreTerm term;
    if (e_.op.Has(kLengths)) term.inputs.push_back(e_.In(kLengths));
    term.apply = [=, this](OpContext& op, int first, const ScorePlace& at, const ExprPtr& score) {
      const ExprPtr place = at.query + Offset(op, first, at);
      ExprPtr result = score;
      if (left >= 0)
        result = Seen(BinaryExpr(Op::kLessEqual, place, at.key + left), result);
      if (right >= 0)
        result = Seen(BinaryExpr(Op::kLessEqual, at.key, place + right), result);
      return result;
    };
    return term;
  }

  // Of each batch's keys only so many are seen.
  ScoreTerm Lengths() const {
    return {{e_.In(kLengths)},
            [this](OpContext& op, int first, const ScorePlace& at, const ExprPtr& score) {
              op.UseAsIndex(op.In(first), 1, keys_ + 1);
              const ExprPtr length = CastExpr(DataType::kI64, op.Load(op.In(first), {at.batch}));
              return Seen(BinaryExpr(Op::kLess, at.key, length), score);
            }};
  }

  Expander& e_;
  bool heads_first_ = false;
  std::int64_t batch_ = 0, heads_ = 0, key_heads_ = 0, queries_ = 0, keys_ = 0, past_ = 0;
  std::int64_t width_ = 0, value_width_ = 0;
};

}  // namespace

void AddAttentionExpansions(ExpansionTable& table) {
  table["Attention"] = [](Expander& e) { return OnnxAttention(e).Run(); };
}

}  // namespace kindred
