// onnxruntime's normalisations: of sums with what skips a layer, of embeddings, of groups.
#include <fmt/format.h>

#include "tuner/import/expand.h"
#include "tuner/import/rows.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

constexpr double kEpsilon = 1e-12;  // where the node names none

Result<void> Require(const Expander& e, std::initializer_list<int> inputs) {
  for (const int i : inputs)
    if (!e.op.Has(i)) return Unsupported(fmt::format("its input {} is not there", i + 1));
  return {};
}

Attributes LastAxis(Expander& e, double epsilon) {
  return {{"axis", IntAttribute(-1)}, {"epsilon", FloatAttribute(e.op.Float("epsilon", epsilon))}};
}

// Also in ONNX's own domain, where onnxruntime puts it.
Result<void> SimplifiedLayerNorm(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1}));
  constexpr double kOnnxEpsilon = 1e-5;
  e.op.Ignore("stash_type");
  if (e.Wants(1)) return Unsupported("its inverse deviation is used");
  return e.AddOut(0, "RMSNormalization", {e.In(0), e.In(1)},
                  {{"axis", IntAttribute(e.op.Int("axis", -1))},
                   {"epsilon", FloatAttribute(e.op.Float("epsilon", kOnnxEpsilon))}});
}

// The sum of inputs 0, 1 and `bias`, output 3 of the node if something reads it.
Result<std::string> SkipSum(Expander& e, int bias) {
  KINDRED_CHECK(Require(e, {0, 1, 2}));
  if (e.Wants(1) || e.Wants(2)) return Unsupported("its outputs for training are used");
  std::vector<std::string> terms = {e.In(0), e.In(1)};
  if (e.op.Has(bias)) {
    KINDRED_TRY(terms[0], e.Add("Add", terms));
    terms[1] = e.In(bias);
  }
  if (!e.Wants(3)) return e.Add("Add", terms);
  KINDRED_CHECK(e.AddOut(3, "Add", terms));
  return e.Out(3);
}

Result<void> SkipLayerNorm(Expander& e) {
  const Attributes attributes = LastAxis(e, kEpsilon);
  KINDRED_TRY(const auto sum, SkipSum(e, 4));
  return e.AddOut(0, "LayerNormalization", {sum, e.In(2), e.In(3)}, attributes);
}

Result<void> SkipSimplifiedLayerNorm(Expander& e) {
  const Attributes attributes = LastAxis(e, kEpsilon);
  KINDRED_TRY(const auto sum, SkipSum(e, 3));
  return e.AddOut(0, "RMSNormalization", {sum, e.In(2)}, attributes);
}

// The number of ones that each row of the mask begins with.
Result<void> MaskIndex(Expander& e, const std::string& mask) {
  const DataType type = e.ValueOf(mask).type;
  const auto cast = [&](const std::string& x, DataType to) {
    return e.Add("Cast", {x}, {{"to", IntAttribute(ToOnnxType(to))}});
  };
  KINDRED_TRY(const auto kept, cast(mask, DataType::kI32));
  KINDRED_TRY(const auto count, e.Add("ReduceSum", {kept, e.Ints({1})},
                                      {{"keepdims", IntAttribute(0)}}));
  return e.AddOut(1, "Cast", {count}, {{"to", IntAttribute(ToOnnxType(type))}});
}

Result<void> EmbedLayerNorm(Expander& e) {
  enum Inputs { kIds, kSegments, kWords, kPositions, kSegmentTable, kScale, kShift, kMask, kPlaces };
  KINDRED_CHECK(Require(e, {kIds, kWords, kPositions, kScale, kShift}));
  const Attributes attributes = LastAxis(e, kEpsilon);
  e.op.Ignore("mask_index_type");
  const Shape ids = e.op.InShape(kIds);
  if (ids.size() != 2) return Unsupported("ids of shape " + ShapeText(ids));
  KINDRED_TRY(const auto words, e.Add("Gather", {e.In(kWords), e.In(kIds)}));
  std::string positions;
  if (e.op.Has(kPlaces)) {
    KINDRED_TRY(positions, e.Add("Gather", {e.In(kPositions), e.In(kPlaces)}));
  } else {
    KINDRED_TRY(positions, e.Add("Slice", {e.In(kPositions), e.Ints({0}), e.Ints({ids[1]}),
                                           e.Ints({0})}));
  }
  std::vector<std::string> terms = {words, positions};
  if (e.op.Has(kSegments) && e.op.Has(kSegmentTable)) {
    KINDRED_TRY(terms[0], e.Add("Add", terms));
    KINDRED_TRY(terms[1], e.Add("Gather", {e.In(kSegmentTable), e.In(kSegments)}));
  }
  std::string sum = e.Wants(2) ? e.Out(2) : "";
  if (e.Wants(2)) {
    KINDRED_CHECK(e.AddOut(2, "Add", terms));
  } else {
    KINDRED_TRY(sum, e.Add("Add", terms));
  }
  if (e.Wants(1)) {
    if (e.op.Has(kMask)) {
      KINDRED_CHECK(MaskIndex(e, e.In(kMask)));
    } else {
      KINDRED_CHECK(e.AddOut(1, "Cast",
                             {e.Ints(std::vector<std::int64_t>(static_cast<std::size_t>(ids[0])))},
                             {{"to", IntAttribute(ToOnnxType(DataType::kI32))}}));
    }
  }
  return e.AddOut(0, "LayerNormalization", {sum, e.In(kScale), e.In(kShift)}, attributes);
}

// Output 0 of the node: `x` normalised over the places and channels of each group, times scale,
// plus shift (inputs 1 and 2, of f32), through SiLU if `activation` says so.
Result<void> NormaliseGroups(Expander& e, const std::string& x) {
  const double epsilon = e.op.Float("epsilon", 1e-5);
  const std::int64_t groups = e.op.Int("groups", 0);
  const std::int64_t activation = e.op.Int("activation", 0);
  const bool last = e.op.Int("channels_last", 1) != 0;
  const Shape shape = e.ShapeOf(x);
  if (shape.size() < 3) return Unsupported("an input of shape " + ShapeText(shape));
  const std::int64_t channels = last ? shape.back() : shape[1];
  if (groups < 1 || channels % groups != 0 || e.op.InShape(1) != Shape{channels} ||
      e.op.InShape(2) != Shape{channels})
    return BadInput(fmt::format("{}: {}: {} groups of {} channels with a scale {}",
                                e.op.model.path, e.op.node.Label(), groups, channels,
                                ShapeText(e.op.InShape(1))));
  if (activation != 0 && activation != 1)
    return Unsupported(fmt::format("activation {}", activation));
  const std::int64_t size = channels / groups, places = ElementCount(shape) / shape[0] / channels;
  const auto lower = [&](OpContext& op) -> Result<void> {
    const Shape parts = last ? Shape{shape[0], places, groups, size}
                             : Shape{shape[0], groups, size, places};
    const std::vector<std::int64_t> axes = last ? std::vector<std::int64_t>{1, 3}
                                                : std::vector<std::int64_t>{2, 3};
    const int value = op.ViewOf(op.In(0), parts);
    const int scale = op.ViewOf(op.In(1), {groups, size}), shift = op.ViewOf(op.In(2), {groups, size});
    const Rows rows = MakeRows(op, value, axes);
    const DataType type = op.InValue(0).type;
    const auto load = [&](const Exprs& at) { return LoadExpr(value, at, type); };
    const int mean = EmitMean(op, rows, "mean",
                              [&](const Exprs& at, const Exprs&) { return load(at); });
    const int variance = EmitMean(op, rows, "variance", [&](const Exprs& at, const Exprs& row) {
      const ExprPtr centred = load(at) - op.Load(mean, row);
      return centred * centred;
    });
    const int made = op.Temp("groups", type, parts);
    EmitElements(op, rows, made, [&](const Exprs& at, const Exprs& row) {
      const Exprs channel = last ? Exprs{at[2], at[3]} : Exprs{at[1], at[2]};
      const ExprPtr spread = op.Load(variance, row);
      const ExprPtr y = (load(at) - op.Load(mean, row)) /
                            UnaryExpr(Op::kSqrt, spread + Literal(epsilon, spread->type)) *
                            op.Load(scale, channel) +
                        op.Load(shift, channel);
      const ExprPtr one = Literal(1, y->type);
      return activation == 0 ? y
                             : y / (one + UnaryExpr(Op::kExp, UnaryExpr(Op::kNeg, y)));
    });
    op.View(0, made, shape);
    return {};
  };
  return e.Lower("GroupNorm", {x, e.In(1), e.In(2)}, {e.Out(0)}, lower);
}

Result<void> GroupNorm(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 2}));
  return NormaliseGroups(e, e.In(0));
}

// X + skip + bias; skip may be [N, C] or [N, 1, 1, C].
Result<void> SkipGroupNorm(Expander& e) {
  KINDRED_CHECK(Require(e, {0, 1, 2, 3}));
  const Shape x = e.op.InShape(0), skip = e.op.InShape(3);
  if (e.op.Int("channels_last", 1) == 0) return Unsupported("channels first");
  std::string added = e.In(3);
  if (skip.size() == 2 && x.size() == 4) {
    KINDRED_TRY(added, e.Add("Reshape", {added, e.Ints({skip[0], 1, 1, skip[1]})}));
  }
  std::vector<std::string> terms = {e.In(0), added};
  if (e.op.Has(4)) {
    KINDRED_TRY(terms[0], e.Add("Add", terms));
    terms[1] = e.In(4);
  }
  std::string sum;
  if (e.Wants(1)) {
    sum = e.Out(1);
    KINDRED_CHECK(e.AddOut(1, "Add", terms));
  } else {
    KINDRED_TRY(sum, e.Add("Add", terms));
  }
  return NormaliseGroups(e, sum);
}

}  // namespace

void AddMicrosoftNormExpansions(ExpansionTable& table) {
  table["SimplifiedLayerNormalization"] = SimplifiedLayerNorm;
  table["com.microsoft:SimplifiedLayerNormalization"] = SimplifiedLayerNorm;
  table["com.microsoft:SkipLayerNormalization"] = SkipLayerNorm;
  table["com.microsoft:SkipSimplifiedLayerNormalization"] = SkipSimplifiedLayerNorm;
  table["com.microsoft:EmbedLayerNormalization"] = EmbedLayerNorm;
  table["com.microsoft:GroupNorm"] = GroupNorm;
  table["com.microsoft:SkipGroupNorm"] = SkipGroupNorm;
}

}  // namespace kindred
