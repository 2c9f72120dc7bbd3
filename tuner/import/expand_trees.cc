// The tree ensembles of ai.onnx.ml as tensor computations (tree_ensemble.h).
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/expand_classical.h"
#include "tuner/import/tree_ensemble.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

Attributes Over(std::int64_t axis) {
  return {{"axes", IntsAttribute({axis})}, {"keepdims", IntAttribute(0)}};
}

// Outcomes of all tests: x [n, features] gives f32 [trees, n, tests].
Result<std::string> Outcomes(Expander& e, const TreeEnsemble& all, const std::string& x) {
  const Shape tests = {all.trees, 1, all.tests};
  const std::int64_t rows = e.ShapeOf(x)[0];
  const DataType type = e.ValueOf(x).type;
  KINDRED_TRY(const auto read,
              e.Add("Gather", {x, e.Ints(all.feature)}, {{"axis", IntAttribute(1)}}));
  KINDRED_TRY(const auto apart, e.Add("Reshape", {read, e.Ints({rows, all.trees, all.tests})}));
  KINDRED_TRY(const auto values, e.Add("Transpose", {apart}, {{"perm", IntsAttribute({1, 0, 2})}}));
  const auto flags = [&](const std::vector<std::int64_t>& given) {
    return e.Constant(IntegerConstant(DataType::kBool, tests, given));
  };
  const std::string threshold = e.Floats(tests, all.threshold, type);
  KINDRED_TRY(auto passes, e.Add("LessOrEqual", {values, threshold}));
  if (!all.equal.empty()) {
    KINDRED_TRY(const auto equal, e.Add("Equal", {values, threshold}));
    KINDRED_TRY(passes, e.Add("Where", {flags(all.equal), equal, passes}));
  }
  if (!all.missing_passes.empty()) {
    KINDRED_TRY(const auto missing, e.Add("IsNaN", {values}));
    KINDRED_TRY(const auto passing, e.Add("And", {missing, flags(all.missing_passes)}));
    KINDRED_TRY(passes, e.Add("Or", {passes, passing}));
  }
  return CastTo(e, passes, DataType::kF32);
}

// Sums, or the aggregate that the node names, over the trees: [n, results].
Result<std::string> Aggregate(Expander& e, const TreeEnsemble& all, const std::string& kind,
                              const std::string& leaf) {
  const std::int64_t rows = e.ShapeOf(leaf)[1];
  if (kind == "SUM" || kind == "AVERAGE") {
    KINDRED_TRY(const auto side_by_side,
                e.Add("Transpose", {leaf}, {{"perm", IntsAttribute({1, 0, 2})}}));
    KINDRED_TRY(const auto flat,
                e.Add("Reshape", {side_by_side, e.Ints({rows, all.trees * all.leaves})}));
    const std::string values = e.Floats({all.trees * all.leaves, all.results}, all.value);
    KINDRED_TRY(const auto sum, e.Add("MatMul", {flat, values}));
    if (kind == "SUM") return sum;
    return e.Add("Div", {sum, e.Number(static_cast<double>(all.trees))});
  }
  const std::string values = e.Floats({all.trees, all.leaves, all.results}, all.value);
  KINDRED_TRY(const auto per_tree, e.Add("MatMul", {leaf, values}));
  return e.Add(kind == "MIN" ? "ReduceMin" : "ReduceMax", {per_tree}, Over(0));
}

struct Attributed {
  std::vector<double> base;
  std::string aggregate, transform;
};

Result<Attributed> ReadAttributes(Expander& e) {
  Attributed read;
  read.base = e.op.Floats("base_values").value_or(std::vector<double>());
  e.op.Ignore("base_values_as_tensor");
  if (const auto tensor = e.op.node.attributes.find("base_values_as_tensor");
      tensor != e.op.node.attributes.end() && tensor->second.tensor.data)
    for (std::int64_t i = 0; i < tensor->second.tensor.data->elements(); ++i)
      read.base.push_back(tensor->second.tensor.data->Number(i));
  read.aggregate = e.op.Text("aggregate_function", "SUM");
  if (read.aggregate != "SUM" && read.aggregate != "AVERAGE" && read.aggregate != "MIN" &&
      read.aggregate != "MAX")
    return Unsupported("aggregate_function '" + read.aggregate + "'");
  KINDRED_TRY(read.transform, ReadPostTransform(e));
  return read;
}

Result<void> CheckRows(Expander& e) {
  if (e.op.InShape(0).size() != 2)
    return Unsupported("an input of shape " + ShapeText(e.op.InShape(0)));
  return {};
}

DataType ComparedType(const Expander& e) {
  return e.op.InValue(0).type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
}

// Scores [n, results] before the transform.
Result<std::string> Scores(Expander& e, const TreeEnsemble& all, const Attributed& attributes) {
  const bool extreme = attributes.aggregate == "MIN" || attributes.aggregate == "MAX";
  if (extreme && !all.complete) return Unsupported("extremes over trees that skip some results");
  KINDRED_TRY(const auto x, CastTo(e, e.In(0), ComparedType(e)));
  KINDRED_TRY(const auto outcomes, Outcomes(e, all, x));
  const std::string path = e.Floats({all.trees, all.tests, all.leaves}, all.path);
  KINDRED_TRY(const auto trues, e.Add("MatMul", {outcomes, path}));
  const std::string expected = e.Floats({all.trees, 1, all.leaves}, all.trues);
  KINDRED_TRY(const auto reached, e.Add("Equal", {trues, expected}));
  KINDRED_TRY(const auto leaf, CastTo(e, reached, DataType::kF32));
  KINDRED_TRY(const auto scores, Aggregate(e, all, attributes.aggregate, leaf));
  if (attributes.base.empty()) return scores;
  const auto bases = static_cast<std::int64_t>(attributes.base.size());
  return e.Add("Add", {scores, e.Floats({bases}, attributes.base)});
}

Result<void> TreeEnsembleRegressor(Expander& e) {
  KINDRED_CHECK(CheckRows(e));
  KINDRED_TRY(const Attributed attributes, ReadAttributes(e));
  const std::int64_t results = e.op.Int("n_targets", 1);
  KINDRED_TRY(const TreeEnsemble all,
              ReadTreeEnsemble(e.op, "target", results, e.op.InShape(0)[1], ComparedType(e)));
  if (!attributes.base.empty() && static_cast<std::int64_t>(attributes.base.size()) != results)
    return Unsupported(
        fmt::format("{} base values for {} targets", attributes.base.size(), results));
  if (results == 1 && attributes.transform != "NONE" && attributes.transform != "PROBIT")
    return Unsupported("post_transform '" + attributes.transform +
                       "' of a single target, about which runtimes disagree");
  KINDRED_TRY(const auto scores, Scores(e, all, attributes));
  KINDRED_TRY(const auto y, PostTransform(e, attributes.transform, scores));
  return e.AddOut(0, "Identity", {y});
}

// Of two classes whose trees score only one of them: the second is chosen where its score is above
// 1/2, or 0 where weights may be negative.
struct Binary {
  bool is = false, opposite = false;
  double limit = 0;
};

Result<void> AddChosen(Expander& e, const Binary& binary, const std::string& scores) {
  std::string chosen;
  if (binary.is) {
    KINDRED_TRY(const auto column, e.Add("Reshape", {scores, e.Ints({-1})}));
    KINDRED_TRY(const auto above, e.Add("Greater", {column, e.Number(binary.limit)}));
    KINDRED_TRY(chosen, CastTo(e, above, DataType::kI64));
  } else {
    KINDRED_TRY(chosen, e.Add("ArgMax", {scores},
                              {{"axis", IntAttribute(1)}, {"keepdims", IntAttribute(0)}}));
  }
  return AddLabels(e, "classlabels_int64s", chosen);
}

Result<void> TreeEnsembleClassifier(Expander& e) {
  KINDRED_CHECK(CheckRows(e));
  KINDRED_TRY(const Attributed attributes, ReadAttributes(e));
  const auto labels = e.op.node.attributes.find("classlabels_strings");
  const std::size_t classes = labels != e.op.node.attributes.end() && !labels->second.texts.empty()
                                  ? labels->second.texts.size()
                                  : e.op.Ints("classlabels_int64s").value_or(Shape()).size();
  if (classes < 2) return Unsupported("a single class");
  KINDRED_CHECK(CheckLabels(e, "classlabels_int64s", "classlabels_strings", classes));
  const auto results = static_cast<std::int64_t>(classes);
  KINDRED_TRY(TreeEnsemble all,
              ReadTreeEnsemble(e.op, "class", results, e.op.InShape(0)[1], ComparedType(e)));
  Binary binary;
  binary.is = classes == 2 && all.weighed == std::vector<std::int64_t>{0};
  if (classes == 2 && all.weighed == std::vector<std::int64_t>{1})
    return Unsupported("two classes of which the trees score the second only");
  if (binary.is) {
    binary.opposite = all.any_negative;
    binary.limit = all.any_negative ? 0 : 0.5;
    if (attributes.transform == "PROBIT") return Unsupported("PROBIT of a single score");
    // The scores of the other class are all zero.
    std::vector<double> first;
    for (std::size_t i = 0; i < all.value.size(); i += 2) first.push_back(all.value[i]);
    all.value = std::move(first);
    all.results = 1;
    all.complete = true;
  }
  if (!attributes.base.empty() && static_cast<std::int64_t>(attributes.base.size()) != all.results)
    return Unsupported(
        fmt::format("{} base values for {} classes", attributes.base.size(), all.results));
  KINDRED_TRY(const auto scores, Scores(e, all, attributes));
  if (e.Wants(0)) KINDRED_CHECK(AddChosen(e, binary, scores));
  if (!e.Wants(1)) return {};
  KINDRED_TRY(const auto shown, binary.is
                                    ? BothScores(e, attributes.transform, scores, binary.opposite)
                                    : PostTransform(e, attributes.transform, scores));
  return e.AddOut(1, "Identity", {shown});
}

}  // namespace

void AddTreeExpansions(ExpansionTable& table) {
  table["ai.onnx.ml:TreeEnsembleClassifier"] = TreeEnsembleClassifier;
  table["ai.onnx.ml:TreeEnsembleRegressor"] = TreeEnsembleRegressor;
}

}  // namespace kindred
