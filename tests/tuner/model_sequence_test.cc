#include "tuner/model_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "schedules/text_form.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ImportedTask Task() {
  ImportedTask task;
  task.workload = *ParseWorkload("input X: f32[8]\noutput Y[i] = X[i] + 1\n");
  return task;
}

SubgraphUse Use(const std::string& reads, const std::string& writes, double times = 1) {
  SubgraphUse use;
  use.tensors = {{"X", reads}, {"Y", writes}};
  use.times = times;
  return use;
}

TEST(ModelSequence, PlacesComeAfterWhatTheyRead) {
  ImportedModel model;
  model.tasks = {Task(), Task()};
  model.tasks[0].uses = {Use("c", "d"), Use("in", "a")};
  model.tasks[1].uses = {Use("a", "b", 3), Use("d", "out")};
  model.views = {{"c", "flat"}, {"flat", "b"}};
  const auto order = SequenceOf(model, 100);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_THAT(*order, ElementsAre(0, 1, 1, 1, 0, 1));
}

TEST(ModelSequence, TooLongOnesAreRefused) {
  ImportedModel model;
  model.name = "loop";
  model.tasks = {Task()};
  model.tasks[0].uses = {Use("in", "out", 1000)};
  EXPECT_TRUE(SequenceOf(model, 1000));
  const auto order = SequenceOf(model, 999);
  ASSERT_FALSE(order);
  EXPECT_THAT(order.error().message, HasSubstr("loop runs more than 999"));
}

}  // namespace
}  // namespace kindred
