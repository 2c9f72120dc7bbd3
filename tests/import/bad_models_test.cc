// Models that are damaged, wrong, or outside what the import knows: each a clear message, never a
// crash.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/base/seed.h"
#include "tests/import/text_model.h"

namespace kindred {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Message(const Result<ImportedModel>& result) {
  EXPECT_FALSE(result);
  if (result) return "";
  EXPECT_EQ(ExitCode(result.error()), 2);
  return result.error().message;
}

TEST(BadFiles, AreNamed) {
  const std::string missing = testing::TempDir() + "no_such_model.onnx";
  EXPECT_THAT(Message(ImportOnnx(missing, {})),
              AllOf(HasSubstr(missing), HasSubstr("cannot be read")));
  const std::string truncated = std::string(KINDRED_TEST_MODELS) + "/tiny/truncated.onnx";
  EXPECT_THAT(Message(ImportOnnx(truncated, {})),
              AllOf(HasSubstr("truncated.onnx"), HasSubstr("truncated")));
  const std::string text = WriteFile("notes.onnx", "these are not the bytes of a model");
  EXPECT_THAT(Message(ImportOnnx(text, {})), AllOf(HasSubstr(text), HasSubstr("not")));
  const std::string empty = WriteFile("empty.onnx", "");
  EXPECT_THAT(Message(ImportOnnx(empty, {})), HasSubstr("0 bytes"));
  EXPECT_THAT(Message(ImportOnnx(testing::TempDir(), {})), HasSubstr(testing::TempDir()));
  EXPECT_THAT(Message(ImportWorkloadFile(missing)), HasSubstr("cannot be read"));
}

// No prefix and no damage of single bytes brings the import down.
TEST(BadFiles, DamageNeverCrashes) {
  const std::filesystem::path tiny = std::filesystem::path(KINDRED_TEST_MODELS) / "tiny";
  Random random(7);
  for (const char* name :
       {"mlp", "conv_forms", "shape_arithmetic", "concat_split_slice_pad", "opset7"}) {
    const std::string bytes = ReadFile((tiny / (std::string(name) + ".onnx")).string());
    ASSERT_FALSE(bytes.empty());
    const std::string path = WriteFile("damaged.onnx", bytes);
    for (int i = 0; i < 120; ++i) {
      std::string damaged = bytes;
      if (i % 3 == 0) {
        damaged.resize(random.Below(bytes.size()));
      } else {
        for (int k = 0; k <= i % 4; ++k)
          damaged[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
      }
      std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
      const auto result = ImportOnnx(path, {});
      EXPECT_TRUE(result || !result.error().message.empty());
    }
  }
}

TEST(BadGraphs, NameTheNode) {
  EXPECT_THAT(Message(ImportText("g (float[2] x) => (float[2] y) { y = Add(x, w) }")),
              AllOf(HasSubstr("'w'"), HasSubstr("no initializer"), HasSubstr("(Add)")));
  EXPECT_THAT(Message(ImportText(
                  "g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Neg(b) }")),
              AllOf(HasSubstr("cycle"), HasSubstr("'a'"), HasSubstr("'b'")));
  EXPECT_THAT(Message(ImportText("g (float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }")),
              HasSubstr("'y'"));
  EXPECT_THAT(Message(ImportText("g (float[2] x) => (float[2] z) { y = Relu(x) }")),
              AllOf(HasSubstr("'z'"), HasSubstr("no node")));
  EXPECT_THAT(Message(ImportText("g (float[2] x, int64[2] n) => (float[2] y) { y = Add(x, n) }")),
              AllOf(HasSubstr("(Add)"), HasSubstr("contradicts")));
  EXPECT_THAT(
      Message(ImportText("g (float[2,3] x, float[4,5] w) => (float[2,5] y) { y = MatMul(x, w) }")),
      AllOf(HasSubstr("(MatMul)")));
  EXPECT_THAT(Message(ImportText(
                  "g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [0, 0]> (x) }")),
              HasSubstr("(Transpose)"));
  EXPECT_THAT(
      Message(ImportText("g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 5> (x) }")),
      HasSubstr("(Softmax)"));
}

// Some of these bring libonnx itself down; newer operator sets it does not check at all.
TEST(BadGraphs, WindowsAndVectorsMustFit) {
  const std::string conv = "g (float[1,2,5,5] x, float[3,2,3,3] w) => (float[1,3,3,3] y) ";
  EXPECT_THAT(Message(ImportText(conv + "{ y = Conv <strides = [0, 1]> (x, w) }")),
              AllOf(HasSubstr("(Conv)"), HasSubstr("strides holds 0")));
  EXPECT_THAT(Message(ImportText(conv + "{ y = Conv <pads = [1, 1]> (x, w) }")),
              HasSubstr("(Conv)"));
  EXPECT_THAT(Message(ImportText("g (float[1,2,5] x, float[3,2,3,3] w) => (float[1,3,3] y) "
                                 "{ y = ConvTranspose (x, w) }")),
              HasSubstr("(ConvTranspose)"));
  for (const int opset : {17, 24}) {
    EXPECT_THAT(
        Message(ImportText("g (float[2,3] a, float[3,4] b, float[5,2,4] c) => (float[2,4] y) "
                           "{ y = Gemm (a, b, c) }",
                           opset)),
        HasSubstr("(Gemm)"));
    EXPECT_THAT(
        Message(ImportText("g (float[1,2,4,4] x, float[2] s, float[3] b) => (float[1,2,4,4] y) "
                           "{ y = InstanceNormalization (x, s, b) }",
                           opset)),
        HasSubstr("(InstanceNormalization)"));
  }
}

TEST(SymbolicDims, MustBeBound) {
  const std::string graph = "g (float[batch,seq,4] x) => (float[batch,seq,4] y) { y = Relu(x) }";
  EXPECT_THAT(Message(ImportText(graph)),
              AllOf(HasSubstr("'batch', 'seq'"), HasSubstr("--dim batch=1")));
  EXPECT_THAT(Message(ImportText(graph, 17, {{"batch", 1}})),
              AllOf(HasSubstr("'seq'"), testing::Not(HasSubstr("'batch'"))));
  EXPECT_THAT(Message(ImportText(graph, 17, {{"batch", 0}, {"seq", 8}})),
              HasSubstr("'batch' cannot be 0"));
  const auto bound = ImportText(graph, 17, {{"batch", 2}, {"seq", 8}, {"sequence", 8}});
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(bound->dims, (std::map<std::string, std::int64_t>{{"batch", 2}, {"seq", 8}}));
  EXPECT_EQ(Elements(bound->tasks.at(0).workload.tensors.at(0)), 64);
}

std::string ReasonOf(const Result<ImportedModel>& result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result || result->left_out.empty()) return "";
  return result->left_out[0].node + ": " + result->left_out[0].reason;
}

TEST(LeftOut, HasItsReason) {
  EXPECT_THAT(ReasonOf(ImportText("g (float[8] x) => (int64[1,n] y) { y = NonZero(x) }")),
              HasSubstr("the shape of its result depends on the data"));
  EXPECT_THAT(
      ReasonOf(ImportText(
          "g (uint16[2] x) => (uint16[2] y) { y = BitShift <direction = \"LEFT\"> (x, x) }")),
      HasSubstr("uint16"));
  EXPECT_THAT(ReasonOf(ImportText("g (float[2] x) => (float[2] y) { y = com.example.Mystery(x) }")),
              HasSubstr("domain 'com.example'"));
  // a consumer of what is left out says so
  const auto chain = ImportText(
      "g (float[8] x) => (float[m] y) { i = NonZero(x) j = Squeeze(i) y = Gather(x, j) }");
  ASSERT_TRUE(chain) << chain.error().message;
  ASSERT_EQ(chain->left_out.size(), 3u);
  EXPECT_THAT(chain->left_out[1].reason, HasSubstr("NonZero"));
  EXPECT_EQ(chain->nodes, 3);
  EXPECT_EQ(chain->tunable, 0);
}

TEST(NewerModels, AreTriedNodeByNode) {
  const auto model = ImportText(
      "g (float[2,4] x) => (float[2,4] y) { a = Gelu(x) y = CumProd(a, a) }", 26);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->nodes, 2);
  EXPECT_EQ(model->tunable, 1);
  EXPECT_THAT(ReasonOf(model), HasSubstr("y: "));
  EXPECT_THAT(
      Message(ImportText("g (float[2,4] x) => (float[2,4] y) { y = Relu <novel = 1> (x) }", 24)),
      HasSubstr("novel"));
}

TEST(Unused, IsNamedAndNotCounted) {
  const auto model = ImportText("g (float[2] x) => (float[2] y) { y = Relu(x) z = Neg(x) }");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->nodes, 1);
  EXPECT_THAT(model->unused, testing::ElementsAre("z"));
}

TEST(ExternalData, AreNotNeededForTheShapes) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "kindred_external";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(
      std::filesystem::path(KINDRED_TEST_MODELS) / "tiny" / "external_data.onnx",
      folder / "external_data.onnx", std::filesystem::copy_options::overwrite_existing);
  const auto model =
      ImportOnnx((folder / "external_data.onnx").string(), {});  // its data file is not there
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tunable, model->nodes);
}

}  // namespace
}  // namespace kindred
