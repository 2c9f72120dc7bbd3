#include "tuner/distinct_tasks.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/text_form.h"

namespace kindred {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Place {
  std::string text;
  std::vector<std::string> nodes;  // one use each
  double times = 1;
};

std::string Matmul(int m, int n = 64, int k = 64) {
  return "input A: f32[" + std::to_string(m) + "," + std::to_string(k) + "]\nweight B: f32[" +
         std::to_string(k) + "," + std::to_string(n) +
         "]\noutput Y[m,n] = sum[k](A[m,k] * B[k,n])\n";
}
constexpr char kRelu[] = "input X: f32[8,8]\noutput Y[i,j] = relu(X[i,j])\n";

TuningInput Model(const std::string& path, const std::string& name,
                  const std::vector<Place>& places) {
  TuningInput input;
  input.path = path;
  input.model.name = name;
  for (const Place& place : places) {
    ImportedTask task;
    task.workload = *ParseWorkload(place.text);
    task.canonical = Canonicalize(task.workload);
    task.name = "task";
    for (const std::string& node : place.nodes) {
      SubgraphUse use;
      use.nodes = {node};
      use.times = place.times;
      task.uses.push_back(use);
    }
    input.model.tasks.push_back(std::move(task));
  }
  return input;
}

// The members of the family that task 0 is in.
std::vector<int> FamilyOfFirst(const std::vector<TuningInput>& inputs) {
  const auto tasks = MergeTasks(inputs);
  for (const Family& family : FamiliesOf(inputs, tasks))
    if (std::find(family.members.begin(), family.members.end(), 0) != family.members.end())
      return family.members;
  return {};
}

TEST(DistinctTasks, RunsAndWeightsAddUpOverModels) {
  std::vector<TuningInput> inputs = {
      Model("a.onnx", "a", {{Matmul(64), {"x", "y"}}}),
      Model("b.onnx", "b", {{Matmul(64), {"z"}, 12}, {kRelu, {"r"}}})};
  inputs[0].weight = 3;
  inputs[1].priority = 0.5;
  const auto tasks = MergeTasks(inputs);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].count, 3);
  EXPECT_EQ(tasks[0].runs, 14);
  EXPECT_EQ(tasks[0].models, 2);
  EXPECT_EQ(tasks[0].weight, 3 * 2 + 0.5 * 12);
  ASSERT_EQ(tasks[0].uses.size(), 2u);
  EXPECT_EQ(tasks[0].uses[0].model, "a");
  EXPECT_EQ(tasks[0].uses[1].runs, 12);
  EXPECT_EQ(tasks[1].models, 1);
}

TEST(DistinctTasks, OnePlaceUnderTwoBindingsIsOneFamily) {
  EXPECT_THAT(FamilyOfFirst({Model("a.onnx", "a [n=2]", {{Matmul(2), {"x"}}}),
                             Model("a.onnx", "a [n=1M]", {{Matmul(1 << 20), {"x"}}})}),
              ElementsAre(0, 1));
  EXPECT_THAT(FamilyOfFirst({Model("a.onnx", "a [n=2]", {{Matmul(2), {"x"}}}),
                             Model("a.onnx", "a [n=1M]", {{Matmul(1 << 20), {"y"}}})}),
              ElementsAre(0))
      << "another place";
  EXPECT_THAT(FamilyOfFirst({Model("a.onnx", "a", {{Matmul(2), {"x"}}}),
                             Model("b.onnx", "b", {{Matmul(1 << 20), {"x"}}})}),
              ElementsAre(0))
      << "another model";
  EXPECT_THAT(FamilyOfFirst({Model("a.onnx", "a [n=2]", {{Matmul(2), {"x"}}}),
                             Model("a.onnx", "a [n=8]", {{kRelu, {"x"}}})}),
              ElementsAre(0))
      << "another structure";
}

TEST(DistinctTasks, APlaceWithSeveralAlikeTasksLinksNone) {
  EXPECT_THAT(FamilyOfFirst({Model("a.onnx", "a [n=2]", {{Matmul(2), {"x"}}, {Matmul(3), {"x"}}}),
                             Model("a.onnx", "a [n=1M]",
                                   {{Matmul(1 << 20), {"x"}}, {Matmul(1 << 21), {"x"}}})}),
              UnorderedElementsAre(0, 1));
}

TEST(DistinctTasks, SharingCountsPlacesTasksAndWhatStandsInSeveralModels) {
  const std::vector<TuningInput> inputs = {
      Model("a.onnx", "a", {{Matmul(64), {"x", "y"}}, {kRelu, {"r"}}}),
      Model("b.onnx", "b", {{Matmul(64), {"x"}}}),
      Model("c.onnx", "c", {{Matmul(64), {"x"}}, {Matmul(65), {"y"}}})};
  const auto tasks = MergeTasks(inputs);
  const auto families = FamiliesOf(inputs, tasks);
  const Sharing sharing = FindSharing(inputs, tasks, families);
  EXPECT_EQ(sharing.all.subgraphs, 6);
  EXPECT_EQ(sharing.all.tasks, 3);
  EXPECT_EQ(sharing.all.families, 2);
  EXPECT_EQ(sharing.all.shared, 1);
  EXPECT_EQ(sharing.saved, 2);
  ASSERT_EQ(sharing.models.size(), 3u);
  EXPECT_EQ(sharing.models[0].subgraphs, 3);
  EXPECT_EQ(sharing.models[0].tasks, 2);
  EXPECT_EQ(sharing.models[0].shared, 1);
  EXPECT_EQ(sharing.models[0].families, 2);
  EXPECT_EQ(sharing.models[2].families, 1);
}

}  // namespace
}  // namespace kindred
