// Merged instances of a model compute what the instances compute apart.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "schedules/canonical.h"
#include "schedules/text_form.h"
#include "tests/import/text_model.h"
#include "tests/schedules/interpreter.h"
#include "tuner/import/merge_instances.h"

namespace kindred {
namespace {

constexpr int kInstances = 3;
const std::filesystem::path kTiny = std::filesystem::path(KINDRED_TEST_MODELS) / "tiny";

Result<ImportedModel> ImportTiny(const std::string& name, int instances) {
  std::ifstream file(kTiny / (name + ".json"));
  ImportOptions options;
  options.dims = nlohmann::json::parse(file).at("dims").get<std::map<std::string, std::int64_t>>();
  options.instances = instances;
  return ImportOnnx((kTiny / (name + ".onnx")).string(), options);
}

void Append(TensorValues& all, const TensorValues& more) {
  all.floats.insert(all.floats.end(), more.floats.begin(), more.floats.end());
  all.integers.insert(all.integers.end(), more.integers.begin(), more.integers.end());
}

// The merged workload on the instances' inputs one behind the other, and each instance alone.
void ExpectSame(const Workload& single, const Workload& merged, const std::string& what) {
  const auto checked = CheckWorkload(merged);
  ASSERT_TRUE(checked) << what << ": " << checked.error().message;
  ASSERT_EQ(merged.tensors.size(), single.tensors.size()) << what;
  std::set<int> shared;
  for (std::size_t id = 0; id < single.tensors.size(); ++id)
    if (merged.tensors[id].shape.size() == single.tensors[id].shape.size()) {
      EXPECT_EQ(single.tensors[id].role, Role::kWeight);
      shared.insert(static_cast<int>(id));
    }
  std::vector<TensorValues> inputs(single.tensors.size()), expected(single.tensors.size());
  for (int i = 0; i < kInstances; ++i) {
    auto values = RandomInputs(single, static_cast<std::uint64_t>(i));
    const auto common = RandomInputs(single, 0);
    for (const int id : shared)
      values[static_cast<std::size_t>(id)] = common[static_cast<std::size_t>(id)];
    for (std::size_t id = 0; id < values.size(); ++id)
      if (i == 0 || !shared.contains(static_cast<int>(id))) Append(inputs[id], values[id]);
    values = Interpret(single, std::move(values));
    for (std::size_t id = 0; id < values.size(); ++id) Append(expected[id], values[id]);
  }
  const auto got = Interpret(merged, std::move(inputs));
  for (std::size_t id = 0; id < got.size(); ++id) {
    if (single.tensors[id].role != Role::kOutput) continue;
    EXPECT_THAT(got[id].floats,
                testing::Pointwise(testing::NanSensitiveDoubleEq(), expected[id].floats))
        << what << "\n"
        << PrintWorkload(merged);
    EXPECT_EQ(got[id].integers, expected[id].integers) << what;
  }
}

class Merged : public testing::TestWithParam<std::string> {};

// The value that a task's first place makes last.
std::string Made(const ImportedTask& task) {
  const int output = ArgumentTensors(task.workload).back();
  const Tensor& tensor = task.workload.tensors[static_cast<std::size_t>(output)];
  return task.uses.front().tensors.at(tensor.name);
}

TEST_P(Merged, ComputesWhatTheInstancesCompute) {
  const auto single = ImportTiny(GetParam(), 1), merged = ImportTiny(GetParam(), kInstances);
  ASSERT_TRUE(single) << single.error().message;
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->nodes, single->nodes);
  EXPECT_EQ(merged->tunable, single->tunable);
  // One task may become several: a weight in one place may be a table that is shared in another.
  ASSERT_GE(merged->tasks.size(), single->tasks.size());
  std::map<std::string, const ImportedTask*> by_value;
  for (const ImportedTask& many : merged->tasks) by_value[Made(many)] = &many;
  for (const ImportedTask& one : single->tasks) {
    ASSERT_TRUE(by_value.contains(Made(one))) << one.name;
    const ImportedTask& many = *by_value.at(Made(one));
    EXPECT_EQ(many.name, one.name + " x 3");
    ExpectSame(one.workload, many.workload, GetParam() + ": " + one.name);
    const auto &alone = one.uses.front().preparations, &all = many.uses.front().preparations;
    ASSERT_EQ(all.size(), alone.size()) << one.name;
    for (std::size_t p = 0; p < alone.size(); ++p) {
      const auto first = ParseWorkload(alone[p].text), second = ParseWorkload(all[p].text);
      ASSERT_TRUE(first) << first.error().message;
      ASSERT_TRUE(second) << second.error().message;
      ExpectSame(*first, *second, one.name + ": a preparation");
    }
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kTiny))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tiny, Merged, testing::ValuesIn(Names()),
                         [](const auto& model) { return model.param; });

std::string KeyOf(const std::string& text) {
  const auto workload = ParseWorkload(text);
  EXPECT_TRUE(workload) << workload.error().message;
  return workload ? Canonicalize(*workload).key.Hex() : "";
}

std::string MergedKey(const std::string& graph, int instances) {
  ImportOptions options;
  options.instances = instances;
  const auto model = ImportOnnx(WriteFile("merged.onnx", ModelBytes(graph)), options);
  EXPECT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tasks.size(), 1u);
  return model->tasks[0].canonical.key.Hex();
}

TEST(MergedKeys, ProductsAreBatchedOnes) {
  EXPECT_EQ(MergedKey("g (float[4,6] x, float[6,5] w) => (float[4,5] y) { y = MatMul(x, w) }", 8),
            KeyOf("input X: f32[8,4,6]\n"
                  "input W: f32[8,6,5]\n"
                  "output Y[g,m,n] = sum[k](X[g,m,k] * W[g,k,n])"));
}

TEST(MergedKeys, ConvolutionsAreGroupedOnes) {
  EXPECT_EQ(MergedKey("g (float[1,3,6,6] x, float[4,3,3,3] w) => (float[1,4,4,4] y) "
                      "{ y = Conv(x, w) }",
                      2),
            KeyOf("input X: f32[1,2,3,6,6]\n"
                  "input W: f32[2,4,3,3,3]\n"
                  "output Y[n,g,o,y=4,x=4] = sum[c,r,s](X[n,g,c,y+r,x+s] * W[g,o,c,r,s])"));
}

TEST(MergedKeys, OneInstanceChangesNothing) {
  const auto workload = ParseWorkload(
      "input X: f32[4,6]\noutput Y[m] = max[k](X[m,k])\noutput I[m] = argmax[k](X[m,k])");
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(PrintWorkload(MergeInstances(*workload, 1, {})), PrintWorkload(*workload));
  const Workload merged = MergeInstances(*workload, 2, {});
  EXPECT_THAT(PrintWorkload(merged), testing::HasSubstr("argmax[k](X[instance,m,k])"));
}

TEST(MergedTables, AreShared) {
  ImportOptions options;
  options.instances = 2;
  const auto model = ImportOnnx(
      WriteFile("tables.onnx", ModelBytes("g (float[5,2] x) => (float[3,2] y) "
                                          "<int64[3] at = {4,0,2}> { y = Gather(x, at) }")),
      options);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->tasks.size(), 1u);
  const std::string text = PrintWorkload(model->tasks[0].workload);
  EXPECT_THAT(text, testing::HasSubstr("f32[2,5,2]"));
  EXPECT_THAT(text, testing::HasSubstr("i64[3]"));
}

TEST(Instances, AreOneOrMore) {
  ImportOptions options;
  options.instances = 0;
  const auto model = ImportOnnx((kTiny / "mlp.onnx").string(), options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::kBadInput);
}

}  // namespace
}  // namespace kindred
