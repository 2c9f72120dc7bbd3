#include "tuner/inputs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace kindred {
namespace {

namespace fs = std::filesystem;

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

TEST_F(Inputs, OtherEndingsAndDirectoriesAreRefused) {
  EXPECT_EQ(ReadInputs({Write("model.pt", "x")}, {}).error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(ReadInputs({directory_.string()}, {}).error().kind, ErrorKind::kBadInput);
}

TEST(Dims, AreNamesWithPositiveNumbers) {
  const auto dims = ParseDims({"batch=4", "seq=128"});
  ASSERT_TRUE(dims);
  EXPECT_EQ(dims->at("batch"), 4);
  for (const char* bad : {"batch", "=3", "batch=", "batch=x", "batch=0", "batch=4x"})
    EXPECT_FALSE(ParseDims({bad})) << bad;
}

}  // namespace
}  // namespace kindred
