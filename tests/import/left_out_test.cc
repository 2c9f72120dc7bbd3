// Operators that no subgraph can hold: each is named with its reason, and what stands beside it is
// still tuned and computed rightly.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/import/recorded_model.h"

namespace kindred {
namespace {

struct Expected {
  std::string model;
  int tunable = 0;
  std::string op, reason;  // of the first node that is left out
};

class LeftOut : public testing::TestWithParam<Expected> {};

TEST_P(LeftOut, NamesTheNodeAndItsReason) {
  const RecordedModel recorded = ReadRecorded("tiny", "left_out_" + GetParam().model);
  const auto model = ImportOnnx(recorded.path, {recorded.dims});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tunable, GetParam().tunable);
  EXPECT_EQ(model->nodes, model->tunable + static_cast<int>(model->left_out.size()));
  ASSERT_FALSE(model->left_out.empty());
  EXPECT_EQ(model->left_out[0].op, GetParam().op);
  EXPECT_THAT(model->left_out[0].reason, testing::HasSubstr(GetParam().reason));
  for (std::size_t i = 1; i < model->left_out.size(); ++i)
    EXPECT_THAT(model->left_out[i].reason, testing::AnyOf(testing::HasSubstr("which is left out"),
                                                          testing::HasSubstr(GetParam().reason)));
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, LeftOut,
    testing::Values(Expected{"compress", 5, "Compress", "depends on the data"},
                    Expected{"determinant", 6, "Det", "elimination with pivots"},
                    Expected{"dynamic_shape", 8, "Reshape", "not known before the model runs"},
                    Expected{"hash", 5, "MurmurHash3", "'com.microsoft' are not known"},
                    Expected{"non_max_suppression", 4, "NonMaxSuppression", "depends on the data"},
                    Expected{"nonzero", 3, "NonZero", "depends on the data"},
                    Expected{"topk", 5, "TopK", "sorted"},
                    Expected{"unique", 4, "Unique", "depends on the data"}),
    [](const auto& model) { return model.param.model; });

TEST(LeftOutModels, AllHaveTheirReasonChecked) {
  const auto names = RecordedNames("tiny");
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const auto& name) { return name.starts_with("left_out_"); }),
            10);
}

}  // namespace
}  // namespace kindred
