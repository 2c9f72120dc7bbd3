// Index arithmetic of views, constant folding, and single operators' forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/text_form.h"
#include "tests/import/text_model.h"
#include "tuner/import/evaluate.h"
#include "tuner/import/view_index.h"

namespace kindred {
namespace {

std::int64_t ValueAt(const Expr& e, const std::vector<std::int64_t>& axes) {
  const auto affine = AsAffine(e, static_cast<int>(axes.size()));
  EXPECT_TRUE(affine);
  std::int64_t value = affine ? affine->constant : -1;
  for (std::size_t a = 0; a < axes.size() && affine; ++a)
    value += affine->coefficients[a] * axes[a];
  return value;
}

// Against the definition: the same flat element, for every point.
void ExpectSameElement(const Shape& view, const Shape& storage) {
  std::vector<ExprPtr> index;
  for (std::size_t d = 0; d < view.size(); ++d) index.push_back(VarExpr(static_cast<int>(d)));
  const auto composed = ComposeView(index, view, storage, view, false);
  ASSERT_TRUE(composed) << ShapeText(view) << " in " << ShapeText(storage);
  for (std::int64_t flat = 0; flat < ElementCount(view); ++flat) {
    std::vector<std::int64_t> at(view.size());
    for (std::int64_t d = static_cast<std::int64_t>(view.size()), rest = flat; d-- > 0;) {
      at[static_cast<std::size_t>(d)] = rest % view[static_cast<std::size_t>(d)];
      rest /= view[static_cast<std::size_t>(d)];
    }
    std::int64_t element = 0;
    for (std::size_t d = 0; d < storage.size(); ++d) {
      const std::int64_t place = ValueAt(*(*composed)[d], at);
      ASSERT_GE(place, 0);
      ASSERT_LT(place, storage[d]);
      element = element * storage[d] + place;
    }
    ASSERT_EQ(element, flat) << ShapeText(view) << " in " << ShapeText(storage);
  }
}

TEST(ComposeView, FindsTheSameElement) {
  ExpectSameElement({2, 3, 4}, {6, 4});
  ExpectSameElement({2, 3, 4}, {24});
  ExpectSameElement({1, 6, 1, 4}, {6, 4});
  ExpectSameElement({5, 1, 2, 3}, {1, 5, 6});
  ExpectSameElement({}, {1, 1});
}

TEST(ComposeView, RefusesWhatNeedsDivisions) {
  EXPECT_FALSE(ComposeView({VarExpr(0)}, {6}, {2, 3}, {6}, false));
  EXPECT_FALSE(ComposeView({VarExpr(0), VarExpr(1)}, {6, 4}, {4, 6}, {6, 4}, false));
  // an index that may leave the tensor keeps its own dimension
  const ExprPtr shifted = VarExpr(0) + (-1);
  EXPECT_FALSE(ComposeView({shifted, VarExpr(1)}, {2, 3}, {6}, {2, 3}, true));
}

TEST(CommonRefinement, IsTheCoarsest) {
  EXPECT_EQ(CommonRefinement({6, 4}, {2, 12}), Shape({2, 3, 4}));
  EXPECT_EQ(CommonRefinement({1, 8}, {8}), Shape({8}));
  EXPECT_FALSE(CommonRefinement({6, 4}, {4, 6}));
  EXPECT_FALSE(CommonRefinement({6}, {5}));
}

TEST(EvaluateStage, ComputesAndRefuses) {
  Stage stage;
  stage.tensor = 0;
  stage.axes = {{"i", Extent{2}}, {"k", Extent{3}}};
  stage.spatial = 1;
  stage.combiner = Combiner::kSum;
  stage.body = LoadExpr(1, {VarExpr(0), VarExpr(1)}, DataType::kI64) * 2;
  const ConstantPtr data = IntegerConstant(DataType::kI64, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto result = EvaluateStage(stage, DataType::kI64, [&](int) { return data; });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->shape, Shape({2}));
  EXPECT_EQ(result->integers, std::vector<std::int64_t>({12, 30}));
  stage.body = LoadExpr(1, {VarExpr(0), VarExpr(1)}, DataType::kI64) / IntExpr(0);
  EXPECT_FALSE(EvaluateStage(stage, DataType::kI64, [&](int) { return data; }));
}

std::string TextOf(const std::string& graph, int opset = 17) {
  const auto model = ImportText(graph, opset);
  EXPECT_TRUE(model) << model.error().message;
  if (!model || model->tasks.size() != 1) {
    ADD_FAILURE() << (model ? model->tasks.size() : 0) << " subgraphs: " << graph;
    return "";
  }
  return PrintWorkload(model->tasks[0].workload);
}

TEST(Fusion, StaysConvex) {
  // y needs both a and what is computed from a: one group would have to run before and after TopK.
  const auto model = ImportText(
      "g (float[4,4] x, float[4,4] w) => (float[4,4] y) "
      "{ a = MatMul(x, w) b = Relu(a) c = Softmax(b) y = Add(a, c) }");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tunable, 4);
  for (const ImportedTask& task : model->tasks)
    for (const SubgraphUse& use : task.uses)
      EXPECT_FALSE(testing::Matches(testing::IsSupersetOf({"a", "y"}))(use.nodes));
}

TEST(Fusion, ValuesReadOutsideAreOutputs) {
  const auto model =
      ImportText("g (float[4,4] x) => (float[4,4] y, float[4,4] z) { y = Relu(x) z = Neg(y) }");
  ASSERT_TRUE(model) << model.error().message;
  int outputs = 0;
  for (const ImportedTask& task : model->tasks)
    for (const Tensor& tensor : task.workload.tensors) outputs += tensor.role == Role::kOutput;
  EXPECT_EQ(outputs, 2);
}

TEST(Forms, OfSingleOperators) {
  using testing::HasSubstr;
  // Softmax before operator set 13 normalises all trailing axes together.
  EXPECT_THAT(TextOf("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }", 11),
              HasSubstr("max[j,k]"));
  EXPECT_THAT(TextOf("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }", 13),
              HasSubstr("max[j]"));
  // Integers divide towards zero.
  EXPECT_THAT(TextOf("g (int64[6] x, int64[6] z) => (int64[6] y) { y = Div(x, z) }"),
              HasSubstr("abs"));
  EXPECT_THAT(TextOf("g (float[8] x) => (float16[8] y) { y = Cast <to = 10> (x) }"),
              HasSubstr("f16"));
  EXPECT_THAT(TextOf("g (float16[4,8] x, float16[8,4] w) => (float16[4,4] y) { y = MatMul(x, w) }"),
              HasSubstr("f16"));
}

TEST(Views, CostNothing) {
  const auto model = ImportText(
      "g (float[2,6] x) => (float[3,4] y) "
      "{ a = Identity(x) b = Flatten(a) c = Dropout(b) d = Transpose <perm = [0, 1]> (c) e = "
      "Relu(d) "
      "s = Constant <value = int64[2] {3, 4}> () y = Reshape(e, s) }");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->nodes, 1);
  EXPECT_EQ(model->views.at("y"), "e");
}

}  // namespace
}  // namespace kindred
