// The linear models and the support vector regression of ai.onnx.ml.
#include <fmt/format.h>

#include "tuner/import/expand_classical.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

// [n, features] of f32: a vector is one row.
Result<std::string> Rows(Expander& e) {
  const Shape shape = e.op.InShape(0);
  if (shape.empty() || shape.size() > 2)
    return Unsupported("an input of shape " + ShapeText(shape));
  KINDRED_TRY(const auto x, CastTo(e, e.In(0), DataType::kF32));
  return shape.size() == 2 ? x : e.Add("Reshape", {x, e.Ints({1, shape[0]})});
}

// x [n, features] times the attribute `coefficients` [results, features], plus `intercepts`.
Result<std::string> LinearScores(Expander& e, std::int64_t results) {
  const auto coefficients = e.op.Floats("coefficients").value_or(std::vector<double>());
  const auto intercepts = e.op.Floats("intercepts").value_or(std::vector<double>());
  const Shape in = e.op.InShape(0);
  const std::int64_t features = in.empty() ? 0 : in.back();
  if (static_cast<std::int64_t>(coefficients.size()) != results * features)
    return Unsupported(fmt::format("{} coefficients for {} results of {} features",
                                   coefficients.size(), results, features));
  if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != results)
    return Unsupported(fmt::format("{} intercepts for {} results", intercepts.size(), results));
  KINDRED_TRY(const auto x, Rows(e));
  std::vector<std::string> inputs = {x, e.Floats({results, features}, coefficients)};
  if (!intercepts.empty()) inputs.push_back(e.Floats({results}, intercepts));
  return e.Add("Gemm", inputs, {{"transB", IntAttribute(1)}});
}

Result<void> LinearRegressor(Expander& e) {
  KINDRED_TRY(const auto transform, ReadPostTransform(e));
  KINDRED_TRY(const auto scores, LinearScores(e, e.op.Int("targets", 1)));
  KINDRED_TRY(const auto y, PostTransform(e, transform, scores));
  return e.AddOut(0, "Identity", {y});
}

// The class with the highest score; of two classes with one score, the second where it is positive.
Result<void> LinearClassifier(Expander& e) {
  e.op.Ignore("multi_class");
  KINDRED_TRY(const auto transform, ReadPostTransform(e));
  const auto results =
      static_cast<std::int64_t>(e.op.Floats("intercepts").value_or(std::vector<double>()).size());
  const bool binary = results == 1;
  if (results == 0) return Unsupported("intercepts that are not there");
  if (binary && transform == "PROBIT") return Unsupported("PROBIT of a single score");
  KINDRED_CHECK(CheckLabels(e, "classlabels_ints", "classlabels_strings",
                            binary ? 2 : static_cast<std::size_t>(results)));
  KINDRED_TRY(const auto scores, LinearScores(e, results));
  if (e.Wants(0)) {
    std::string chosen;
    if (binary) {
      KINDRED_TRY(const auto column, e.Add("Reshape", {scores, e.Ints({-1})}));
      KINDRED_TRY(const auto positive, e.Add("Greater", {column, e.Number(0)}));
      KINDRED_TRY(chosen, CastTo(e, positive, DataType::kI64));
    } else {
      KINDRED_TRY(chosen, e.Add("ArgMax", {scores},
                                {{"axis", IntAttribute(1)}, {"keepdims", IntAttribute(0)}}));
    }
    KINDRED_CHECK(AddLabels(e, "classlabels_ints", chosen));
  }
  if (!e.Wants(1)) return {};
  KINDRED_TRY(const auto shown, binary ? BothScores(e, transform, scores, false)
                                       : PostTransform(e, transform, scores));
  return e.AddOut(1, "Identity", {shown});
}

// How alike each row of x [n, features] is to each support vector: [n, vectors].
Result<std::string> Kernel(Expander& e, const std::string& x, const std::string& vectors) {
  const std::string kind = e.op.Text("kernel_type", "LINEAR");
  const auto parameters = e.op.Floats("kernel_params").value_or(std::vector<double>());
  if (kind != "LINEAR" && parameters.size() != 3) return Unsupported("a kernel without parameters");
  if (kind == "RBF") {
    KINDRED_TRY(const auto rows, e.Add("Unsqueeze", {x, e.Ints({1})}));
    KINDRED_TRY(const auto apart, e.Add("Sub", {rows, vectors}));
    KINDRED_TRY(const auto distance,
                e.Add("ReduceSumSquare", {apart},
                      {{"axes", IntsAttribute({-1})}, {"keepdims", IntAttribute(0)}}));
    KINDRED_TRY(const auto scaled, e.Add("Mul", {distance, e.Number(-parameters[0])}));
    return e.Add("Exp", {scaled});
  }
  KINDRED_TRY(const auto product, e.Add("Gemm", {x, vectors}, {{"transB", IntAttribute(1)}}));
  if (kind == "LINEAR") return product;
  KINDRED_TRY(const auto scaled, e.Add("Mul", {product, e.Number(parameters[0])}));
  KINDRED_TRY(const auto shifted, e.Add("Add", {scaled, e.Number(parameters[1])}));
  if (kind == "POLY") return e.Add("Pow", {shifted, e.Number(parameters[2])});
  if (kind == "SIGMOID") return e.Add("Tanh", {shifted});
  return Unsupported("kernel_type '" + kind + "'");
}

Result<void> SvmRegressor(Expander& e) {
  KINDRED_TRY(const auto transform, ReadPostTransform(e));
  if (transform != "NONE") return Unsupported("post_transform '" + transform + "'");
  if (e.op.Int("one_class", 0) != 0) return Unsupported("the outliers of a one-class model");
  const std::int64_t vectors = e.op.Int("n_supports", 0);
  const auto given = e.op.Floats("support_vectors").value_or(std::vector<double>());
  const auto coefficients = e.op.Floats("coefficients").value_or(std::vector<double>());
  const auto rho = e.op.Floats("rho").value_or(std::vector<double>());
  const std::int64_t features = e.op.InShape(0).empty() ? 0 : e.op.InShape(0).back();
  if (rho.size() != 1 || vectors < 1 || static_cast<std::int64_t>(coefficients.size()) != vectors ||
      static_cast<std::int64_t>(given.size()) != vectors * features)
    return Unsupported("support vectors or coefficients that do not fit its input");
  KINDRED_TRY(const auto x, Rows(e));
  KINDRED_TRY(const auto alike, Kernel(e, x, e.Floats({vectors, features}, given)));
  KINDRED_TRY(const auto sum, e.Add("MatMul", {alike, e.Floats({vectors, 1}, coefficients)}));
  return e.AddOut(0, "Add", {sum, e.Number(rho[0])});
}

}  // namespace

void AddLinearModelExpansions(ExpansionTable& table) {
  table["ai.onnx.ml:LinearClassifier"] = LinearClassifier;
  table["ai.onnx.ml:LinearRegressor"] = LinearRegressor;
  table["ai.onnx.ml:SVMRegressor"] = SvmRegressor;
}

}  // namespace kindred
