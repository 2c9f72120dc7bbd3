// Operators that carry a state from position to position: LinearAttention, CausalConvWithState.
#include <cmath>

#include <fmt/format.h>

#include "tuner/import/expand.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

// Each position is a handful of tasks of its own.
constexpr std::int64_t kMostPositions = 64;

class LinearAttention {
 public:
  explicit LinearAttention(Expander& e) : e_(e) {}

  Result<void> Run() {
    KINDRED_CHECK(Read());
    std::string state;
    if (e_.op.Has(3)) {
      state = e_.In(3);
    } else {
      KINDRED_TRY(state, e_.Add("Expand", {e_.Number(0, type_), e_.Ints({batch_, kv_, dk_, dv_})}));
    }
    std::vector<std::string> made;
    for (std::int64_t t = 0; t < positions_; ++t) {
      KINDRED_TRY(state, NextState(t, state));
      KINDRED_TRY(const auto query, At(e_.In(0), t, {batch_, kv_, heads_ / kv_, dk_}));
      KINDRED_TRY(const auto read, e_.Add("MatMul", {query, state}));
      KINDRED_TRY(const auto flat, e_.Add("Reshape", {read, e_.Ints({batch_, 1, heads_ * dv_})}));
      made.push_back(flat);
    }
    KINDRED_TRY(const auto all, e_.Add("Concat", made, {{"axis", IntAttribute(1)}}));
    KINDRED_CHECK(e_.AddOut(0, "Mul", {all, e_.Number(scale_, type_)}));
    return e_.Wants(1) ? e_.AddOut(1, "Identity", {state}) : Result<void>();
  }

 private:
  Result<void> Read() {
    OpContext& op = e_.op;
    rule_ = op.Text("update_rule", "gated_delta");
    heads_ = op.Int("q_num_heads", 0);
    kv_ = op.Int("kv_num_heads", 0);
    scale_ = op.Float("scale", 0);
    op.Ignore("chunk_size");
    decays_ = rule_ == "gated" || rule_ == "gated_delta";
    corrects_ = rule_ == "delta" || rule_ == "gated_delta";
    if (!decays_ && !corrects_ && rule_ != "linear")
      return Unsupported("update_rule '" + rule_ + "'");
    const Shape q = op.InShape(0), k = op.InShape(1), v = op.InShape(2);
    if (q.size() != 3 || k.size() != 3 || v.size() != 3 || kv_ < 1 || heads_ < 1 ||
        heads_ % kv_ != 0 || q[2] % heads_ != 0 || k[2] % kv_ != 0 || v[2] % kv_ != 0 ||
        q[2] / heads_ != k[2] / kv_ || k[0] != q[0] || v[0] != q[0] || k[1] != q[1] || v[1] != q[1])
      return Unsupported(fmt::format("queries {}, keys {} and values {} of {} and {} heads",
                                     ShapeText(q), ShapeText(k), ShapeText(v), heads_, kv_));
    batch_ = q[0];
    positions_ = q[1];
    dk_ = k[2] / kv_;
    dv_ = v[2] / kv_;
    type_ = op.InValue(0).type;
    if (scale_ == 0) scale_ = 1 / std::sqrt(static_cast<double>(dk_));
    if (positions_ < 1) return Unsupported("a sequence without positions");
    if (positions_ > kMostPositions)
      return Unsupported(
          fmt::format("{} positions: each depends on the one before, and at most {} "
                      "are written out",
                      positions_, kMostPositions));
    KINDRED_CHECK(CheckShape(op, 3, {batch_, kv_, dk_, dv_}));
    if ((decays_ && !op.Has(4)) || (corrects_ && !op.Has(5)))
      return Unsupported("a rule without its decay or rate");
    if (decays_ && (op.InShape(4) != Shape{batch_, positions_, kv_} &&
                    op.InShape(4) != Shape{batch_, positions_, kv_ * dk_}))
      return Unsupported("a decay of shape " + ShapeText(op.InShape(4)));
    if (corrects_ && (op.InShape(5) != Shape{batch_, positions_, kv_} &&
                      op.InShape(5) != Shape{batch_, positions_, 1}))
      return Unsupported("a rate of shape " + ShapeText(op.InShape(5)));
    return {};
  }

  // Position t of x [batch, positions, ...] as `shape`.
  Result<std::string> At(const std::string& x, std::int64_t t, const Shape& shape) {
    KINDRED_TRY(const auto one, e_.Add("Slice", {x, e_.Ints({t}), e_.Ints({t + 1}), e_.Ints({1})}));
    return e_.Add("Reshape", {one, e_.Ints(shape)});
  }

  // decay * state + key x (what is new of the value)
  Result<std::string> NextState(std::int64_t t, std::string state) {
    if (decays_) {
      const std::int64_t width = e_.op.InShape(4)[2] / kv_;
      KINDRED_TRY(const auto decay, At(e_.In(4), t, {batch_, kv_, width, 1}));
      KINDRED_TRY(const auto factor, e_.Add("Exp", {decay}));
      KINDRED_TRY(state, e_.Add("Mul", {state, factor}));
    }
    KINDRED_TRY(std::string value, At(e_.In(2), t, {batch_, kv_, 1, dv_}));
    if (corrects_) {
      KINDRED_TRY(const auto row, At(e_.In(1), t, {batch_, kv_, 1, dk_}));
      KINDRED_TRY(const auto held, e_.Add("MatMul", {row, state}));
      KINDRED_TRY(const auto rest, e_.Add("Sub", {value, held}));
      KINDRED_TRY(const auto rate, At(e_.In(5), t, {batch_, e_.op.InShape(5)[2], 1, 1}));
      KINDRED_TRY(value, e_.Add("Mul", {rest, rate}));
    }
    KINDRED_TRY(const auto key, At(e_.In(1), t, {batch_, kv_, dk_, 1}));
    KINDRED_TRY(const auto added, e_.Add("Mul", {key, value}));
    return e_.Add("Add", {state, added});
  }

  Expander& e_;
  std::string rule_;
  bool decays_ = false, corrects_ = false;
  std::int64_t heads_ = 0, kv_ = 0, batch_ = 0, positions_ = 0, dk_ = 0, dv_ = 0;
  double scale_ = 0;
  DataType type_ = DataType::kF32;
};

// A depthwise convolution over a sequence and the positions before it.
Result<void> CausalConvolution(Expander& e) {
  const Shape x = e.op.InShape(0), w = e.op.InShape(1);
  const std::string activation = e.op.Text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return Unsupported("activation '" + activation + "'");
  if (x.size() != 3 || w.size() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1)
    return Unsupported("a kernel of shape " + ShapeText(w) + " for " + ShapeText(x));
  const std::int64_t before = w[2] - 1;
  KINDRED_CHECK(CheckShape(e.op, 3, {x[0], x[1], before}));
  std::string all = e.In(0);
  if (e.op.Has(3) && before > 0) {
    KINDRED_TRY(all, e.Add("Concat", {e.In(3), all}, {{"axis", IntAttribute(2)}}));
  } else if (before > 0) {
    KINDRED_TRY(all, e.Add("Pad", {all, e.Ints({0, 0, before, 0, 0, 0})}));
  }
  if (e.Wants(1))
    KINDRED_CHECK(
        e.AddOut(1, "Slice", {all, e.Ints({x[2]}), e.Ints({x[2] + before}), e.Ints({2})}));
  std::vector<std::string> inputs = {all, e.In(1)};
  if (e.op.Has(2)) inputs.push_back(e.In(2));
  const Attributes attributes = {{"group", IntAttribute(x[1])}};
  if (activation == "none") return e.AddOut(0, "Conv", inputs, attributes);
  KINDRED_TRY(const auto y, e.Add("Conv", inputs, attributes));
  KINDRED_TRY(const auto gate, e.Add("Sigmoid", {y}));
  return e.AddOut(0, "Mul", {y, gate});
}

}  // namespace

void AddRecurrenceExpansions(ExpansionTable& table) {
  table["CausalConvWithState"] = CausalConvolution;
  table["LinearAttention"] = [](Expander& e) { return LinearAttention(e).Run(); };
}

}  // namespace kindred
