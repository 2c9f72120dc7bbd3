// The imported workloads compute what the model computes: outputs against those of onnxruntime,
// stored beside the models (tests/models/README.md).
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/import/run_model.h"

namespace kindred {
namespace {

const std::filesystem::path kTiny = std::filesystem::path(KINDRED_TEST_MODELS) / "tiny";

struct Recorded {
  std::map<std::string, std::int64_t> dims;
  NamedValues inputs, outputs;
};

NamedValues ReadValues(const nlohmann::json& list) {
  NamedValues values;
  for (const auto& entry : list) {
    TensorValues& value = values[entry.at("name")];
    const auto type = ParseDataType(entry.at("dtype").get<std::string>());
    for (const auto& x : entry.at("data")) {
      if (type && IsFloat(*type)) {
        value.floats.push_back(x.get<double>());
      } else {
        value.integers.push_back(x.is_boolean() ? static_cast<std::int64_t>(x.get<bool>())
                                                : x.get<std::int64_t>());
      }
    }
  }
  return values;
}

Recorded ReadRecorded(const std::string& name) {
  std::ifstream file(kTiny / (name + ".json"));
  const auto json = nlohmann::json::parse(file);
  Recorded recorded;
  recorded.dims = json.at("dims").get<std::map<std::string, std::int64_t>>();
  recorded.inputs = ReadValues(json.at("inputs"));
  recorded.outputs = ReadValues(json.at("outputs"));
  return recorded;
}

void ExpectClose(const TensorValues& got, const TensorValues& expected, const std::string& what) {
  EXPECT_EQ(got.integers, expected.integers) << what;
  ASSERT_EQ(got.floats.size(), expected.floats.size()) << what;
  for (std::size_t i = 0; i < got.floats.size(); ++i)
    ASSERT_NEAR(got.floats[i], expected.floats[i],
                2e-5 * std::max(1.0, std::fabs(expected.floats[i])))
        << what << " element " << i;
}

class Semantics : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(Semantics, OutputsAreThoseOfOnnxruntime) {
  const auto& [name, canonical] = GetParam();
  const std::string path = (kTiny / (name + ".onnx")).string();
  const Recorded recorded = ReadRecorded(name);
  const auto model = ImportOnnx(path, {recorded.dims});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tunable, model->nodes);
  const auto outputs = RunImported(path, *model, recorded.inputs, {canonical});
  ASSERT_TRUE(outputs) << outputs.error().message;
  ASSERT_EQ(outputs->size(), recorded.outputs.size());
  for (const auto& [output, expected] : recorded.outputs)
    ExpectClose(outputs->at(output), expected, output);
}

// Every model with a record; the one with an operator that is left out has no complete run.
std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kTiny))
    if (entry.path().extension() == ".json" && entry.path().stem() != "left_out")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tiny, Semantics,
                         testing::Combine(testing::ValuesIn(Names()), testing::Bool()),
                         [](const auto& model) {
                           return std::get<0>(model.param) +
                                  (std::get<1>(model.param) ? "_canonical" : "");
                         });

TEST(LeftOut, WhatStandsAroundIsStillRight) {
  const Recorded recorded = ReadRecorded("left_out");
  const auto model = ImportOnnx((kTiny / "left_out.onnx").string(), {recorded.dims});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->left_out.size(), 1u);
  EXPECT_EQ(model->left_out[0].op, "TopK");
  EXPECT_THAT(model->left_out[0].reason, testing::HasSubstr("sorted"));
  EXPECT_EQ(model->nodes, 3);
  EXPECT_EQ(model->tunable, 2);
}

}  // namespace
}  // namespace kindred
