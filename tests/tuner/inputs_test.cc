#include "tuner/inputs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Inputs : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("kindred_inputs_" + std::to_string(getpid()));
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }
  std::string ErrorOf(const std::string& zoo) {
    const auto inputs = ReadInputs({Write("zoo.json", zoo)}, {});
    EXPECT_FALSE(inputs);
    return inputs ? "" : inputs.error().message;
  }
  fs::path directory_;
};

constexpr char kRelu[] = "input X: f32[8,8]\noutput Y[i,j] = relu(X[i,j])\n";

TEST_F(Inputs, AZooNamesModelsRelativeToItself) {
  Write("relu.kd", kRelu);
  const auto inputs = ReadInputs(
      {Write("zoo.json", R"({"models": [{"path": "relu.kd", "weight": 3, "priority": 0.5}]})")},
      {});
  ASSERT_TRUE(inputs) << inputs.error().message;
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ((*inputs)[0].weight, 3);
  EXPECT_EQ((*inputs)[0].priority, 0.5);
  EXPECT_EQ((*inputs)[0].model.tasks.size(), 1u);
}

TEST_F(Inputs, EveryMistakeInAZooIsNamed) {
  Write("relu.kd", kRelu);
  EXPECT_NE(ErrorOf("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(ErrorOf("{\"models\": []}").find("at least one model"), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"models": [{"path": "relu.kd"}, 7]})").find("models[1] is not an object"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"({"models": [{"paht": "relu.kd"}]})").find("unknown field 'paht'"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"({"models": [{"path": "relu.kd", "weight": -1}]})").find("\"weight\""),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"({"models": [{"path": "relu.kd", "dims": {"n": 0}}]})").find("'n'"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"({"models": [{"path": "absent.onnx"}]})").find("absent.onnx: no such file"),
            std::string::npos);
}

const std::string kDynamic = std::string(KINDRED_TEST_MODELS) + "/tiny/dynamic_dim.onnx";

std::vector<std::string> NamesOf(const Result<std::vector<TuningInput>>& inputs) {
  EXPECT_TRUE(inputs) << inputs.error().message;
  std::vector<std::string> names;
  for (const TuningInput& input : *inputs) names.push_back(input.model.name);
  return names;
}

TEST_F(Inputs, EachCombinationOfBindingsIsAModelOfItsOwn) {
  const auto inputs = ReadInputs({kDynamic}, {.dims = {{"batch", {3, 24}}}});
  EXPECT_THAT(NamesOf(inputs), ElementsAre("dynamic_dim [batch=3]", "dynamic_dim [batch=24]"));
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_NE((*inputs)[0].model.tasks.at(0).canonical.key,
            (*inputs)[1].model.tasks.at(0).canonical.key);
  EXPECT_EQ((*inputs)[1].model.dims.at("batch"), 24);
}

TEST_F(Inputs, ADimensionMustBelongToSomeModelNotToEach) {
  Write("relu.kd", kRelu);
  const std::string relu = (directory_ / "relu.kd").string();
  EXPECT_THAT(NamesOf(ReadInputs({kDynamic, relu}, {.dims = {{"batch", {3, 5}}}})),
              ElementsAre("dynamic_dim [batch=3]", "dynamic_dim [batch=5]", "relu"));
  const auto nobody = ReadInputs({kDynamic}, {.dims = {{"batch", {3}}, {"seq", {7}}}});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(nobody.error().message, AllOf(HasSubstr("--dim seq"), HasSubstr("'batch'")));
  const auto none = ReadInputs({relu}, {.dims = {{"seq", {7}}}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no symbolic dimensions"));
}

TEST_F(Inputs, AZoosDimsMayHaveSeveralValuesAndComeFirst) {
  const auto zoo = [&](const std::string& dims) {
    return Write("zoo.json", R"({"models": [{"path": ")" + kDynamic +
                                 R"(", "weight": 2, "dims": )" + dims + "}]}");
  };
  const auto inputs = ReadInputs({zoo(R"({"batch": [2, 4]})")}, {.dims = {{"batch", {7}}}});
  EXPECT_THAT(NamesOf(inputs), ElementsAre("dynamic_dim [batch=2]", "dynamic_dim [batch=4]"));
  EXPECT_EQ((*inputs)[1].weight, 2);
  EXPECT_THAT(NamesOf(ReadInputs({zoo(R"({"batch": 5})")}, {})),
              ElementsAre("dynamic_dim [batch=5]"));
  for (const char* bad : {R"({"batch": []})", R"({"batch": [2, 0]})", R"({"batch": [2, 2]})",
                          R"({"batch": "2"})", R"({"batch": 2, "seq": 3})"}) {
    const auto refused = ReadInputs({zoo(bad)}, {});
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("models[0]")) << bad;
  }
}

TEST_F(Inputs, FilesOfOneNameAreToldApartByTheirFolders) {
  fs::create_directories(directory_ / "a");
  fs::create_directories(directory_ / "b");
  const std::vector<std::string> paths = {Write("a/model.kd", kRelu), Write("b/model.kd", kRelu),
                                          Write("other.kd", kRelu)};
  EXPECT_THAT(NamesOf(ReadInputs(paths, {})), ElementsAre("a/model", "b/model", "other"));
}

TEST_F(Inputs, WorkloadFilesCannotBeMerged) {
  InputOptions options;
  options.instances = 2;
  const auto merged = ReadInputs({Write("relu.kd", kRelu)}, options);
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("--merge"));
}

TEST_F(Inputs, TellWhatTheirImportTook) {
  const auto inputs = ReadInputs({kDynamic}, {.dims = {{"batch", {3}}}});
  ASSERT_TRUE(inputs);
  EXPECT_GT((*inputs)[0].import_s, 0);
  EXPECT_GT((*inputs)[0].import_peak_bytes, 1 << 20);
}

TEST_F(Inputs, OtherEndingsAndDirectoriesAreRefused) {
  EXPECT_EQ(ReadInputs({Write("model.pt", "x")}, {}).error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(ReadInputs({directory_.string()}, {}).error().kind, ErrorKind::kBadInput);
}

TEST(Dims, AreNamesWithPositiveNumbers) {
  const auto dims = ParseDims({"batch=4", "seq=128,384", "batch=8"});
  ASSERT_TRUE(dims);
  EXPECT_THAT(dims->at("batch"), ElementsAre(4, 8));
  EXPECT_THAT(dims->at("seq"), ElementsAre(128, 384));
  for (const char* bad : {"batch", "=3", "batch=", "batch=x", "batch=0", "batch=4x", "batch=4,",
                          "batch=,4", "batch=4,-1", "batch=4,4", "batch=99999999999999999999"})
    EXPECT_FALSE(ParseDims({bad})) << bad;
}

}  // namespace
}  // namespace kindred
