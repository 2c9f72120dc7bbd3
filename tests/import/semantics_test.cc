// The imported workloads compute what the model computes: outputs against those of onnxruntime,
// stored beside the models (tests/models/README.md).
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/import/recorded_model.h"

namespace kindred {
namespace {

struct Case {
  std::string folder, name;
  bool canonical = false;
};

class Semantics : public testing::TestWithParam<Case> {};

TEST_P(Semantics, OutputsAreThoseOfOnnxruntime) {
  const RecordedModel recorded = ReadRecorded(GetParam().folder, GetParam().name);
  const auto model = ImportOnnx(recorded.path, {recorded.dims});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tunable, model->nodes);
  const RunOptions options{.canonical = GetParam().canonical};
  const auto outputs = RunImported(recorded.path, *model, recorded.inputs, options);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->size(), recorded.outputs.size());
  EXPECT_EQ(DifferenceFrom(recorded, *outputs), "");
}

// Models with an operator that is left out have no complete run.
std::vector<Case> Cases(const std::string& folder, std::vector<bool> forms) {
  std::vector<Case> cases;
  for (const std::string& name : RecordedNames(folder))
    for (const bool canonical : forms)
      if (!name.starts_with("left_out")) cases.push_back({folder, name, canonical});
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name + (info.param.canonical ? "_canonical" : "");
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tiny, Semantics, testing::ValuesIn(Cases("tiny", {false, true})), NameOf);
INSTANTIATE_TEST_SUITE_P(Twins, Semantics, testing::ValuesIn(Cases("twins", {true})), NameOf);
INSTANTIATE_TEST_SUITE_P(Exported, Semantics, testing::ValuesIn(Cases("exported", {true})), NameOf);

TEST(LeftOut, WhatStandsAroundIsStillRight) {
  const RecordedModel recorded = ReadRecorded("tiny", "left_out");
  const auto model = ImportOnnx(recorded.path, {recorded.dims});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->left_out.size(), 1u);
  EXPECT_EQ(model->left_out[0].op, "TopK");
  EXPECT_THAT(model->left_out[0].reason, testing::HasSubstr("sorted"));
  EXPECT_EQ(model->nodes, 3);
  EXPECT_EQ(model->tunable, 2);
}

}  // namespace
}  // namespace kindred
