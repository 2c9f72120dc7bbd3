// What programs print, and what becomes of it; what happens to programs that do not behave.
#include "measure/command_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/measure/scratch.h"

namespace kindred {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Outcome Said(const std::string& output, bool maximise = false, const std::string& unit = "ms") {
  return OutcomeOf(output, {"", 1, maximise, unit});
}

TEST(CommandRunner, TimesAndObjectives) {
  const Outcome time = Said("{\"time_ms\": 1.5}\n");
  EXPECT_EQ(time.status, Status::kOk);
  EXPECT_TRUE(time.validated);
  EXPECT_DOUBLE_EQ(time.median_ns, 1.5e6);
  const Outcome samples =
      Said("chatter\n{\"objective\": [4, 1, 2, 3], \"unit\": \"J\"}", false, "J");
  EXPECT_DOUBLE_EQ(samples.median_ns, 2.5e6);
  EXPECT_THAT(samples.samples, ElementsAre(4e6, 1e6, 2e6, 3e6));
  EXPECT_DOUBLE_EQ(Said("{\n \"objective\": 4\n}\n", true).median_ns, 0.25e6);
}

TEST(CommandRunner, WhatIsNoMeasurementFails) {
  EXPECT_EQ(Said("{\"invalid\": \"too hot\"}").status, Status::kWrongAnswer);
  EXPECT_EQ(Said("{\"invalid\": \"too hot\"}").message, "too hot");
  for (const auto& [output, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "printed nothing"},
           {"done", "no JSON object"},
           {"[1]", "no JSON object"},
           {"{\"time_ms\": NaN}", "not finite"},
           {"{\"time_ms\": 1e999}", "not finite"},
           {"{\"time_ms\": 0}", "above zero"},
           {"{\"time_ms\": \"1\"}", "above zero"},
           {"{\"time_ms\": []}", "empty"},
           {"{\"time_ms\": [1, -1]}", "above zero"},
           {"{\"time\": 1}", "neither time_ms nor objective"},
           {"{\"objective\": 1, \"unit\": \"W\"}", "\"W\""}}) {
    const Outcome outcome = Said(output);
    EXPECT_EQ(outcome.status, Status::kRunError) << output;
    EXPECT_THAT(outcome.message, HasSubstr(why)) << output;
    EXPECT_EQ(outcome.median_ns, 0);
  }
}

class RunCommand : public testing::Test {
 protected:
  Result<Outcome> Measure(std::vector<std::string> words, double timeout_s = 20) {
    auto runner = MakeCommandRunner({scratch_.path(), timeout_s});
    EXPECT_TRUE(runner);
    KernelSource source;
    source.code = ToText({std::move(words), {{"FACTOR", "3"}}});
    return (*runner)->Measure(source, 0, false);
  }

  const Scratch scratch_;
};

TEST_F(RunCommand, RunsInItsFolderWithItsEnvironment) {
  std::ofstream(scratch_.path() + "/data") << "7";
  const auto outcome =
      Measure({"sh", "-c", "echo \"{\\\"time_ms\\\": $(cat data)$FACTOR$1}\"", "sh", "5"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, Status::kOk) << outcome->message;
  EXPECT_DOUBLE_EQ(outcome->median_ns, 735e6);
}

TEST_F(RunCommand, TroubleIsAnOutcome) {
  const auto failed = Measure({"sh", "-c", "echo one >&2; echo two >&2; exit 4"});
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, Status::kRunError);
  EXPECT_EQ(failed->message, "the program ended with exit code 4; it said: two");
  const auto died = Measure({"sh", "-c", "kill -TERM $$"});
  ASSERT_TRUE(died);
  EXPECT_EQ(died->status, Status::kCrash);
  // What it has started goes with it.
  const auto late = Measure({"sh", "-c", "(sleep 2; touch late) & sleep 60"}, 0.3);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, Status::kRunTimeout);
  EXPECT_LT(late->run_s, 20);
}

TEST_F(RunCommand, WhatCannotBeRunIsAnError) {
  for (const char* program : {"./none", "kindred-no-such-program"}) {
    const auto outcome = Measure({program});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(ExitCode(outcome.error()), 2);
    EXPECT_THAT(outcome.error().message, HasSubstr(program));
  }
  EXPECT_FALSE(MakeCommandRunner({scratch_.path() + "/none"}));
}

}  // namespace
}  // namespace kindred
