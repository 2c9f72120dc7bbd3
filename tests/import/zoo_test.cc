// The shipped models: coverage, known amounts of work, and that the subgraphs make up the model.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"
#include "tuner/import/import.h"
#include "tuner/import/report.h"

namespace kindred {
namespace {

std::string PathOf(const std::string& name) {
  return std::string(KINDRED_TEST_MODELS) + "/" + name + ".onnx";
}

ImportedModel Import(const std::string& name) {
  auto model = ImportOnnx(PathOf(name), {});
  EXPECT_TRUE(model) << model.error().message;
  return model ? std::move(*model) : ImportedModel{};
}

double TotalFlop(const ImportedModel& model) {
  double flop = 0;
  for (const ImportedTask& task : model.tasks)
    flop += static_cast<double>(Flop(task.workload)) * task.count();
  return flop;
}

class Zoo : public testing::TestWithParam<std::string> {};

TEST_P(Zoo, EveryComputeNodeIsTunable) {
  const ImportedModel model = Import(GetParam());
  EXPECT_GT(model.nodes, 0);
  EXPECT_EQ(model.tunable, model.nodes);
  EXPECT_THAT(model.left_out, testing::IsEmpty());
  EXPECT_THAT(model.unused, testing::IsEmpty());
  std::set<std::string> covered;
  for (const ImportedTask& task : model.tasks)
    for (const SubgraphUse& use : task.uses) covered.insert(use.nodes.begin(), use.nodes.end());
  EXPECT_EQ(static_cast<int>(covered.size()), model.nodes);
}

// Subgraphs can run one after the other, each once what it reads is there: groups are convex, no
// value is missing, none is made twice, and the model's outputs come out.
TEST_P(Zoo, SubgraphsMakeUpTheModel) {
  const ImportedModel model = Import(GetParam());
  std::set<std::string> there(model.inputs.begin(), model.inputs.end());
  std::vector<std::pair<const ImportedTask*, const SubgraphUse*>> waiting;
  for (const ImportedTask& task : model.tasks)
    for (const SubgraphUse& use : task.uses) waiting.emplace_back(&task, &use);
  for (bool progress = true; progress && !waiting.empty();) {
    progress = false;
    for (std::size_t i = waiting.size(); i-- > 0;) {
      const auto& [task, use] = waiting[i];
      bool ready = true;
      for (const Tensor& tensor : task->workload.tensors)
        if (tensor.role == Role::kInput)
          ready = ready && there.contains(use->tensors.at(tensor.name));
      if (!ready) continue;
      for (const Tensor& tensor : task->workload.tensors)
        if (tensor.role == Role::kOutput) {
          EXPECT_TRUE(there.insert(use->tensors.at(tensor.name)).second)
              << use->tensors.at(tensor.name);
        }
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      progress = true;
    }
  }
  EXPECT_TRUE(waiting.empty()) << waiting.size()
                               << " subgraphs wait for each other or for nothing, one of them "
                               << waiting.front().first->name;
  for (const std::string& output : model.outputs) {
    const auto view = model.views.find(output);
    EXPECT_TRUE(there.contains(view == model.views.end() ? output : view->second)) << output;
  }
}

TEST_P(Zoo, WorkloadsAreValidAndPreparationsParse) {
  const ImportedModel model = Import(GetParam());
  std::set<std::string> keys;
  for (const ImportedTask& task : model.tasks) {
    EXPECT_TRUE(keys.insert(task.canonical.key.Hex()).second) << task.name;
    const auto checked = CheckWorkload(task.workload);
    EXPECT_TRUE(checked) << task.name << ": " << checked.error().message;
    const auto parsed = ParseWorkload(PrintWorkload(task.workload));
    ASSERT_TRUE(parsed) << parsed.error().message << "\n" << PrintWorkload(task.workload);
    EXPECT_EQ(Canonicalize(*parsed).key, task.canonical.key) << PrintWorkload(task.workload);
    for (const SubgraphUse& use : task.uses)
      for (const WeightPreparation& preparation : use.preparations) {
        const auto prepared = ParseWorkload(preparation.text);
        EXPECT_TRUE(prepared) << prepared.error().message << "\n" << preparation.text;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Zoo,
                         testing::Values("light_squeezenet", "light_shufflenet", "light_resnet50",
                                         "resnet50", "mobilenet_v2", "bert_base", "gpt2",
                                         "llama_block"),
                         [](const auto& model) { return model.param; });

// Two operations per multiply-add, epilogues included.
TEST(Work, IsWhatIsKnownOfTheModels) {
  EXPECT_NEAR(TotalFlop(Import("resnet50")), 8.2e9, 0.1e9);
  EXPECT_NEAR(TotalFlop(Import("light_resnet50")), 8.2e9, 0.1e9);
  EXPECT_NEAR(TotalFlop(Import("mobilenet_v2")), 0.61e9, 0.02e9);
  EXPECT_NEAR(TotalFlop(Import("light_squeezenet")), 0.70e9, 0.02e9);
  EXPECT_NEAR(TotalFlop(Import("bert_base")), 22.4e9, 0.2e9);
}

const ImportedTask* Find(const ImportedModel& model, const std::string& name) {
  for (const ImportedTask& task : model.tasks)
    if (task.name == name) return &task;
  ADD_FAILURE() << "no subgraph named " << name << "\n" << DescribeImport(model);
  return nullptr;
}

Hash128 KeyOf(const std::string& text) {
  const auto workload = ParseWorkload(text);
  EXPECT_TRUE(workload) << workload.error().message;
  return workload ? Canonicalize(*workload).key : Hash128{};
}

// What a person types is what the import finds.
TEST(Keys, MatchWorkloadsWrittenByHand) {
  const ImportedModel resnet = Import("resnet50");
  const ImportedTask* conv = Find(resnet, "conv2d 3x3 64->64 56x56 + relu");
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->count(), 3);
  EXPECT_EQ(conv->canonical.key, KeyOf(R"(
    input  X: f32[1,64,56,56]
    weight W: f32[64,64,3,3]
    weight b: f32[64]
    T[n,o,y=56,x=56] = sum[c,r,s](padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])
    output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o]))"));
  const ImportedModel bert = Import("bert_base");
  const ImportedTask* softmax = Find(bert, "softmax [1,12,128,128]");
  ASSERT_NE(softmax, nullptr);
  EXPECT_EQ(softmax->count(), 12);
  EXPECT_EQ(softmax->canonical.key, KeyOf(R"(
    input X: f32[12,128,128]
    M[h,i] = max[j](X[h,i,j])
    E[h,i,j] = exp(X[h,i,j] - M[h,i])
    S[h,i] = sum[j](E[h,i,j])
    output Y[h,i,j] = E[h,i,j] / S[h,i])"));
}

TEST(Fusion, TakesWhatBelongsTogether) {
  const ImportedModel bert = Import("bert_base");
  // bias and erf-Gelu behind the product; scale and mask behind the scores; heads read in place
  EXPECT_NE(Find(bert, "matmul 128x3072x768 + add + gelu"), nullptr);
  const ImportedTask* scores = Find(bert, "batched matmul 12x128x128x64 + div + add");
  ASSERT_NE(scores, nullptr);
  EXPECT_EQ(scores->workload.stages.size(), 2u);
  for (const ImportedTask& task : bert.tasks) {
    int contractions = 0;
    for (const Stage& stage : task.workload.stages)
      contractions +=
          stage.combiner == Combiner::kSum && task.name.find("matmul") != std::string::npos;
    EXPECT_LE(contractions, 1) << task.name;
  }
  const ImportedModel mobilenet = Import("mobilenet_v2");
  const ImportedTask* folded = Find(mobilenet, "conv2d 3x3/2 3->32 112x112 + clip");
  ASSERT_NE(folded, nullptr);
  ASSERT_EQ(folded->uses[0].preparations.size(), 2u);
  EXPECT_EQ(folded->uses[0].nodes.size(), 3u);
}

TEST(Report, HasTheDocumentedFields) {
  const nlohmann::json json = ImportToJson(Import("light_squeezenet"));
  EXPECT_EQ(json.at("model"), "light_squeezenet");
  EXPECT_EQ(json.at("coverage").at("nodes"), json.at("coverage").at("tunable"));
  EXPECT_TRUE(json.at("coverage").at("left_out").is_array());
  const auto& task = json.at("tasks").at(0);
  for (const char* field : {"key", "name", "count", "flop", "bytes", "text"})
    EXPECT_TRUE(task.contains(field)) << field;
  EXPECT_EQ(task.at("key").get<std::string>().size(), 32u);
  const std::string text = DescribeImport(Import("light_squeezenet"));
  EXPECT_THAT(text, testing::HasSubstr("coverage: 65 of 65 compute nodes (100.0%)"));
  EXPECT_THAT(text, testing::HasSubstr("conv2d 3x3/2 3->64 111x111 + relu"));
}

}  // namespace
}  // namespace kindred
