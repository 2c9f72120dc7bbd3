// Spaces of parameters: what conditions leave, as configurations and as a tree of decisions.
#include "schedules/user/parameter_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "schedules/user/t1_spec.h"

namespace kindred {
namespace {

using testing::HasSubstr;

TunableParameter Numbers(std::string name, std::initializer_list<int> numbers) {
  TunableParameter parameter{std::move(name), {}};
  for (const int number : numbers) parameter.values.emplace_back(number);
  return parameter;
}

std::vector<TunableParameter> Blocks() {
  return {Numbers("block_x", {16, 32, 64}),
          Numbers("block_y", {1, 2, 4}),
          {"layout", {Value("row"), Value("column")}}};
}

TEST(ParameterSpaceTest, HoldsWhatTheConditionsLeave) {
  const std::vector<std::string> conditions = {"block_x * block_y <= 64",
                                               "layout == 'row' or block_y == 1"};
  const auto space = ParameterSpace::Make(Blocks(), conditions);
  ASSERT_TRUE(space) << space.error().message;
  std::set<std::string> found;
  for (std::size_t i = 0; i < space->size(); ++i) found.insert(space->Describe(i));
  EXPECT_EQ(found.size(), 9u);
  EXPECT_TRUE(found.contains(R"({"block_x":64,"block_y":1,"layout":"column"})"));
  EXPECT_FALSE(found.contains(R"({"block_x":64,"block_y":2,"layout":"row"})"));
  EXPECT_FALSE(found.contains(R"({"block_x":16,"block_y":2,"layout":"column"})"));
}

TEST(ParameterSpaceTest, DecisionsLeadToEveryConfigurationOnce) {
  const std::vector<std::string> conditions = {"block_x * block_y <= 64",
                                               "layout == 'row' or block_y == 1"};
  const auto space = ParameterSpace::Make(Blocks(), conditions);
  ASSERT_TRUE(space);
  std::set<std::size_t> found;
  std::set<std::string> keys;
  const std::function<void(const Path&)> descend = [&](const Path& path) {
    const auto decision = space->Next(path);
    if (!decision) {
      const auto index = space->IndexOf(path);
      ASSERT_TRUE(index);
      EXPECT_TRUE(found.insert(*index).second);
      EXPECT_EQ(space->PathOf(*index), path);
      keys.insert(space->Lower(path)->key.Hex());
      return;
    }
    ASSERT_FALSE(decision->options.empty());
    for (std::size_t i = 0; i < decision->options.size(); ++i) {
      Path longer = path;
      longer.push_back({decision->name, decision->options[i],
                        decision->labels.empty() ? "" : decision->labels[i]});
      descend(longer);
    }
  };
  descend({});
  EXPECT_EQ(found.size(), space->size());
  EXPECT_EQ(keys.size(), space->size());
  EXPECT_FALSE(space->IndexOf({{"block_x", 64, ""}, {"block_y", 4, ""}, {"layout", 0, "row"}}));
  const auto path = PathFromJson(*space, R"({"block_x":32,"block_y":2,"layout":"row"})");
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(space->Describe(*space->IndexOf(*path)), PathToJson(*path));
}

// 30 parameters of 10 values: the product could never be gone through.
TEST(ParameterSpaceTest, AConditionPrunesAsSoonAsItsParametersAreBound) {
  std::vector<TunableParameter> parameters;
  std::vector<std::string> conditions;
  for (int i = 0; i < 30; ++i) {
    parameters.push_back(Numbers("p" + std::to_string(i), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    if (i > 0) conditions.push_back("p" + std::to_string(i) + " == p" + std::to_string(i - 1));
  }
  const auto space = ParameterSpace::Make(parameters, conditions);
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->size(), 10u);
}

TEST(ParameterSpaceTest, SaysWhatIsWrong) {
  const auto message = [](std::vector<TunableParameter> parameters,
                          std::vector<std::string> conditions) {
    const auto space = ParameterSpace::Make(std::move(parameters), conditions);
    return space ? "nothing" : space.error().message;
  };
  EXPECT_THAT(message(Blocks(), {"block_x > 32", "block_x < 32"}),
              testing::AllOf(HasSubstr("the space is empty"), HasSubstr("block_x > 32"),
                             HasSubstr("block_x < 32")));
  EXPECT_THAT(message(Blocks(), {"block_z == 1"}),
              testing::AllOf(HasSubstr("no parameter 'block_z'"), HasSubstr("column 1")));
  EXPECT_THAT(message(Blocks(), {"64 % (block_x - 32) == 0"}),
              testing::AllOf(HasSubstr("division by zero"), HasSubstr("block_x=32")));
  EXPECT_THAT(message({}, {}), HasSubstr("no parameters"));
  EXPECT_THAT(message({Numbers("a", {})}, {}), HasSubstr("'a' has 0 values"));
  EXPECT_THAT(message({Numbers("a", {1, 1})}, {}), HasSubstr("the value 1 twice"));
  EXPECT_THAT(message({Numbers("a", {1}), Numbers("a", {2})}, {}), HasSubstr("'a' is there twice"));
}

TEST(T1SpaceTest, ReadsParametersAndConditions) {
  const auto space = ParseT1Space(R"({"ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "block", "Type": "int", "Values": "[32 * i for i in range(1, 4)]"},
      {"Name": "method", "Type": "string", "Values": ["a", "b"]}],
    "Conditions": [{"Expression": "block < 96 or method == 'a'", "Parameters": ["block"]}]}})",
                                  "spec.json");
  ASSERT_TRUE(space) << space.error().message;
  const auto made = ParameterSpace::Make(space->parameters, space->conditions);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->size(), 5u);
}

TEST(T1SpaceTest, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto space = ParseT1Space(text, "spec.json");
    return space ? "nothing" : space.error().message;
  };
  EXPECT_THAT(message("[]"), HasSubstr("spec.json: is not a JSON object"));
  EXPECT_THAT(message("{}"), HasSubstr("TuningParameters is missing"));
  EXPECT_THAT(message(R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "a"}]}})"),
              HasSubstr("needs Name and Values"));
  EXPECT_THAT(
      message(R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1 /"}]}})"),
      testing::AllOf(HasSubstr("values of 'a'"), HasSubstr("column 5")));
}

}  // namespace
}  // namespace kindred
