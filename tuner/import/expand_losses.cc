// Losses of classifiers: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
#include <fmt/format.h>

#include "tuner/import/expand.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

// Each row's loss of `scores` [n, classes, ...], logarithms of probabilities, for classes
// [n, ...] (input 1) with weights per class (input 2), brought together as the node says.
Result<void> Likelihood(Expander& e, const std::string& scores) {
  const std::string reduction = e.op.Text("reduction", "mean");
  const bool ignores = e.op.node.attributes.contains("ignore_index");
  const std::int64_t ignored = e.op.Int("ignore_index", 0);
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return Unsupported("reduction '" + reduction + "'");
  const Shape in = e.op.InShape(0), target = e.op.InShape(1);
  Shape expected = in;
  if (in.size() > 1) expected.erase(expected.begin() + 1);
  if (in.size() < 2 || target != expected)
    return Unsupported("classes of shape " + ShapeText(target) + " for scores " + ShapeText(in));
  KINDRED_CHECK(CheckShape(e.op, 2, {in[1]}));
  const DataType type = e.op.InValue(0).type, index = e.op.InValue(1).type;

  std::string classes = e.In(1), counts, weight;
  if (ignores) {
    KINDRED_TRY(const auto drops, e.Add("Equal", {classes, e.Integer(ignored, index)}));
    KINDRED_TRY(classes, e.Add("Where", {drops, e.Integer(0, index), classes}));
    KINDRED_TRY(counts, e.Add("Not", {drops}));
  }
  KINDRED_TRY(const auto places, e.Add("Unsqueeze", {classes, e.Ints({1})}));
  KINDRED_TRY(const auto column,
              e.Add("GatherElements", {scores, places}, {{"axis", IntAttribute(1)}}));
  KINDRED_TRY(const auto picked, e.Add("Squeeze", {column, e.Ints({1})}));
  KINDRED_TRY(std::string loss, e.Add("Neg", {picked}));
  if (e.op.Has(2)) {
    KINDRED_TRY(weight, e.Add("Gather", {e.In(2), classes}));
  } else if (ignores) {
    KINDRED_TRY(weight, e.Add("Cast", {counts}, {{"to", IntAttribute(ToOnnxType(type))}}));
  }
  if (e.op.Has(2) && ignores) {
    KINDRED_TRY(weight, e.Add("Where", {counts, weight, e.Number(0, type)}));
  }
  if (!weight.empty()) {
    KINDRED_TRY(loss, e.Add("Mul", {loss, weight}));
  }
  if (reduction == "none") return e.AddOut(0, "Identity", {loss});
  const Attributes all = {{"keepdims", IntAttribute(0)}};
  if (reduction == "sum") return e.AddOut(0, "ReduceSum", {loss}, all);
  if (weight.empty()) return e.AddOut(0, "ReduceMean", {loss}, all);
  KINDRED_TRY(const auto sum, e.Add("ReduceSum", {loss}, all));
  KINDRED_TRY(const auto total, e.Add("ReduceSum", {weight}, all));
  return e.AddOut(0, "Div", {sum, total});
}

Result<void> SoftmaxCrossEntropy(Expander& e) {
  KINDRED_TRY(const auto scores, e.Add("LogSoftmax", {e.In(0)}, {{"axis", IntAttribute(1)}}));
  if (e.Wants(1)) KINDRED_CHECK(e.AddOut(1, "Identity", {scores}));
  return Likelihood(e, scores);
}

}  // namespace

void AddLossExpansions(ExpansionTable& table) {
  table["NegativeLogLikelihoodLoss"] = [](Expander& e) { return Likelihood(e, e.In(0)); };
  table["SoftmaxCrossEntropyLoss"] = SoftmaxCrossEntropy;
}

}  // namespace kindred
