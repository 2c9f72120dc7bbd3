// Bodies are read strictly, and errors say which field is wrong.
#include "tuner/service/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

using ::testing::HasSubstr;

const std::string kKey(32, 'a');

TEST(QueryRequest, ReadsOneAndMany) {
  const auto one = ReadQueryRequest(
      R"({"workload": "w", "target": "cpu:threads=2", "epoch": 7,
          "constraints": {"workspace_bytes": 0, "layouts": "plain", "allow": ["tf32"]}})");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_FALSE(one->batch);
  const Question& q = one->questions.at(0);
  EXPECT_EQ(q.workload, "w");
  EXPECT_EQ(q.target, "cpu:threads=2");
  EXPECT_EQ(q.epoch, 7);
  EXPECT_EQ(q.constraints.workspace_bytes, 0);
  EXPECT_TRUE(q.constraints.plain_layouts);
  EXPECT_TRUE(q.constraints.allow->tf32);
  EXPECT_FALSE(q.constraints.allow->fast_math);

  const auto many = ReadQueryRequest(R"({"target": "x", "queries": [{"key": ")" + kKey +
                                     R"("}, {"workload": "w", "target": "y"}]})");
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_TRUE(many->batch);
  EXPECT_EQ(many->questions.at(0).key, kKey);
  EXPECT_EQ(many->questions.at(0).target, "x");
  EXPECT_EQ(many->questions.at(1).target, "y");
}

TEST(QueryRequest, TakesAWorkloadAsJson) {
  const auto asked =
      ReadQueryRequest(R"({"workload": {"text": "input X: f32[8]\noutput Y[i] = relu(X[i])\n"}})");
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_THAT(asked->questions.at(0).workload, HasSubstr("output Y"));
}

TEST(QueryRequest, NamesWhatIsWrong) {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "not valid JSON"},
      {"[]", "must be a JSON object"},
      {"{}", "either \"workload\" or \"key\""},
      {R"({"workload": "w", "key": "k"})", "either \"workload\" or \"key\""},
      {R"({"workload": 3})", "'workload' must be a string"},
      {R"({"workload": "w", "tarket": "cpu"})", "unknown field 'tarket'"},
      {R"({"key": "ABC"})", "32 lower-case hexadecimal digits"},
      {R"({"workload": "w", "epoch": -1})", "'epoch' must be a whole number from 0"},
      {R"({"workload": "w", "epoch": 1.5})", "'epoch' must be a whole number"},
      {R"({"workload": "w", "epoch": 99999999999999999999})", "'epoch' must be a whole number"},
      {R"({"workload": "w", "constraints": {"layouts": "odd"}})", "'layouts' must be"},
      {R"({"workload": "w", "constraints": {"allow": ["magic"]}})", "not 'magic'"},
      {R"({"workload": "w", "constraints": {"dialects": []}})", "'dialects' must be"},
      {R"({"queries": []})", "list of 1 to 1024"},
      {R"({"queries": [{"workload": "w"}, {}]})", "queries[1]: give either"}};
  for (const auto& [body, message] : wrong) {
    const auto read = ReadQueryRequest(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().kind, ErrorKind::kBadInput) << body;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << body;
  }
}

TEST(QuestionParameters, AreThoseOfTheBody) {
  HttpRequest request;
  request.parameters = {{"target", "t"},
                        {"epoch", "3"},
                        {"dialects", "c"},
                        {"allow", "atomics"},
                        {"deterministic", "true"}};
  const auto question = ReadQuestionParameters(request);
  ASSERT_TRUE(question) << question.error().message;
  const auto body = ReadQueryRequest(
      R"({"workload": "", "target": "t", "epoch": 3,
          "constraints": {"dialects": ["c"], "allow": ["atomics"], "deterministic": true}})");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(question->Digest(), body->questions[0].Digest());
  for (const auto& wrong : {std::pair{"epoch", "x"},
                            {"epoch", "-1"},
                            {"color", "red"},
                            {"deterministic", "maybe"},
                            {"layouts", "odd"},
                            {"allow", "all"}}) {
    request.parameters = {{wrong.first, wrong.second}};
    EXPECT_FALSE(ReadQuestionParameters(request)) << wrong.first;
  }
}

TEST(JobRequest, ReadsTheBudget) {
  const auto job = ReadJobRequest(
      R"({"model": "m", "name": "n", "dims": {"seq": 128}, "trials_per_task": 4, "time_s": 60,
          "seed": 1, "priority": 2.5})");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model, "m");
  EXPECT_EQ(job->dims.at("seq"), 128);
  EXPECT_EQ(job->job.priority, 2.5);
  EXPECT_EQ(job->job.options, R"({"seed":1,"time_s":60,"trials_per_task":4})");
}

TEST(JobRequest, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{}", "either \"model\""},
      {R"({"model": "m", "workloads": []})", "either \"model\""},
      {R"({"workloads": ["input X"]})", "workloads[0]:1:"},
      {R"({"model": "m", "trials": 0})", "'trials' must be"},
      {R"({"model": "m", "dims": {"seq": 0}})", "'seq' must be"},
      {R"({"model": "m", "priority": "high"})", "'priority' must be"}};
  for (const auto& [body, message] : wrong) {
    const auto read = ReadJobRequest(body);
    ASSERT_FALSE(read) << body;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << body;
  }
}

}  // namespace
}  // namespace kindred
