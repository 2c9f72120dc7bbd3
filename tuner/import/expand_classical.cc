#include "tuner/import/expand_classical.h"

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

constexpr std::string_view kTransforms[] = {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO",
                                            "PROBIT"};

// Softmax over what is not zero.
Result<std::string> SoftmaxOfNonzero(Expander& e, const std::string& x) {
  constexpr double kZero = 1e-7;
  const Expander::Attributes last = {{"axes", IntsAttribute({-1})}};
  KINDRED_TRY(const auto size, e.Add("Abs", {x}));
  KINDRED_TRY(const auto counts, e.Add("Greater", {size, e.Number(kZero)}));
  KINDRED_TRY(const auto highest, e.Add("ReduceMax", {x}, last));
  KINDRED_TRY(const auto shifted, e.Add("Sub", {x, highest}));
  KINDRED_TRY(const auto raised, e.Add("Exp", {shifted}));
  KINDRED_TRY(const auto kept, e.Add("Where", {counts, raised, e.Number(0)}));
  KINDRED_TRY(const auto sum, e.Add("ReduceSum", {kept, e.Ints({-1})}));
  return e.Add("Div", {kept, sum});
}

// Winitzki's approximation of the inverse error function, with the constants that runtimes use.
ExprPtr InverseErf(const ExprPtr& x) {
  constexpr double kA = 0.147, kPi = 3.14159;
  const DataType type = x->type;
  const ExprPtr one = Literal(1, type);
  const ExprPtr log = UnaryExpr(Op::kLog, (one - x) * (one + x));
  const ExprPtr v = Literal(2 / (kPi * kA), type) + Literal(0.5, type) * log;
  const ExprPtr root = UnaryExpr(Op::kSqrt, v * v - Literal(1 / kA, type) * log);
  const ExprPtr size = UnaryExpr(Op::kSqrt, root - v);
  return SelectExpr(BinaryExpr(Op::kLess, x, Literal(0, type)), UnaryExpr(Op::kNeg, size), size);
}

Result<std::string> Probit(Expander& e, const std::string& x) {
  constexpr double kSqrt2 = 1.41421356;
  const std::string made = e.Fresh();
  KINDRED_CHECK(e.Lower("Probit", {x}, {made}, [&](OpContext& op) {
    return LowerPointwise(op, {op.In(0)}, DataType::kF32, [&](const Exprs& in) {
      const auto number = [](double value) { return Literal(value, DataType::kF32); };
      return number(kSqrt2) * InverseErf(number(2) * in[0] - number(1));
    });
  }));
  return made;
}

}  // namespace

Result<std::string> CastTo(Expander& e, const std::string& x, DataType type) {
  if (e.ValueOf(x).type == type) return x;
  return e.Add("Cast", {x}, {{"to", IntAttribute(ToOnnxType(type))}});
}

Result<std::string> ReadPostTransform(Expander& e) {
  std::string transform = e.op.Text("post_transform", "NONE");
  for (const std::string_view known : kTransforms)
    if (transform == known) return transform;
  return Unsupported("post_transform '" + transform + "'");
}

Result<std::string> PostTransform(Expander& e, const std::string& transform,
                                  const std::string& scores) {
  if (transform == "LOGISTIC") return e.Add("Sigmoid", {scores});
  if (transform == "SOFTMAX") return e.Add("Softmax", {scores}, {{"axis", IntAttribute(-1)}});
  if (transform == "SOFTMAX_ZERO") return SoftmaxOfNonzero(e, scores);
  if (transform == "PROBIT") return Probit(e, scores);
  return scores;
}

Result<std::string> BothScores(Expander& e, const std::string& transform, const std::string& second,
                               bool opposite) {
  const bool logistic = transform == "LOGISTIC";
  KINDRED_TRY(const auto first, e.Add("Sub", {e.Number(opposite || logistic ? 0 : 1), second}));
  KINDRED_TRY(const auto both, e.Add("Concat", {first, second}, {{"axis", IntAttribute(-1)}}));
  return logistic ? e.Add("Sigmoid", {both}) : both;
}

Result<void> CheckLabels(Expander& e, const std::string& numbers, const std::string& texts,
                         std::size_t classes) {
  const std::size_t named = e.op.Ints(numbers).value_or(Shape()).size();
  const bool strings = e.op.node.attributes.contains(texts);
  e.op.Ignore(texts);
  if (strings && named == 0 && e.Wants(0)) return Unsupported("labels that are strings");
  if (!strings && named != classes)
    return Unsupported(fmt::format("{} labels for {} classes", named, classes));
  return {};
}

Result<void> AddLabels(Expander& e, const std::string& numbers, const std::string& chosen) {
  const std::string labels = e.Ints(*e.op.Ints(numbers));
  return e.AddOut(0, "Gather", {labels, chosen});
}

}  // namespace kindred
