// The reference programs, which judge every candidate, compute what the models compute: every model
// with a record, its subgraphs' reference programs compiled and run one after the other, against
// onnxruntime's outputs.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/import/recorded_model.h"

namespace kindred {
namespace {

struct Case {
  std::string folder, name;
};

class ReferenceValues : public testing::TestWithParam<Case> {};

TEST_P(ReferenceValues, AreThoseOfOnnxruntime) {
  const RecordedModel recorded = ReadRecorded(GetParam().folder, GetParam().name);
  const auto model = ImportOnnx(recorded.path, {recorded.dims});
  ASSERT_TRUE(model) << model.error().message;
  const auto outputs =
      RunImported(recorded.path, *model, recorded.inputs, {.canonical = true, .reference = true});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->size(), recorded.outputs.size());
  EXPECT_EQ(DifferenceFrom(recorded, *outputs), "");
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string folder : {"twins", "exported"})
    for (const std::string& name : RecordedNames(folder)) cases.push_back({folder, name});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceValues, testing::ValuesIn(Cases()), [](const auto& one) {
  return one.param.folder + "_" + one.param.name;
});

}  // namespace
}  // namespace kindred
