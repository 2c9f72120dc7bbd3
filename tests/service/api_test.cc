// The endpoints, without a network: statuses, shapes of answers, and that openapi.json knows them.
#include "tuner/service/api.h"

#include <fstream>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"

namespace kindred {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kRelu = "input X: f32[4096]\noutput Y[i] = relu(X[i])\n";

class Endpoint : public testing::Test {
 protected:
  HttpResponse Send(std::string method, std::string path, std::string type = "",
                    std::string body = "", std::string tag = "") {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.content_type = std::move(type);
    request.body = std::move(body);
    request.if_none_match = std::move(tag);
    return Send(std::move(request));
  }
  HttpResponse Send(HttpRequest request) {
    std::promise<HttpResponse> promise;
    api_.Handle(std::move(request),
                [&](HttpResponse response) { promise.set_value(std::move(response)); });
    return promise.get_future().get();
  }
  static std::string Header(const HttpResponse& response, const std::string& wanted) {
    for (const auto& [name, value] : response.headers)
      if (name == wanted) return value;
    return "";
  }

  std::unique_ptr<TuningLog> log_ = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  ServedTargets targets_{*log_, [](const std::string& name) -> Result<Target> {
                           if (name == "cpu") return Target{};
                           return BadInput("unknown target '" + name + "'");
                         }};
  AnswerBook book_{*log_, targets_};
  ModelStore store_{testing::TempDir() + "/kindred_api_test"};
  JobQueue jobs_{*log_, store_, {}};  // not started: nothing is tuned
  Metrics metrics_;
  Workers workers_{1, 8};
  Api api_{{*log_, book_, targets_, jobs_, store_, workers_, metrics_}};
};

TEST_F(Endpoint, QueryAnswersTextJsonAndBatches) {
  const HttpResponse text = Send("POST", "/v1/query", "text/plain", kRelu);
  ASSERT_EQ(text.status, 200) << *text.body;
  const json package = json::parse(*text.body);
  for (const char* field : {"key", "target", "match", "validated", "schedule", "source", "steps",
                            "arguments", "workspace_bytes", "statistics", "provenance", "epoch"})
    EXPECT_TRUE(package.contains(field)) << field;
  const HttpResponse again =
      Send("POST", "/v1/query", "application/json", json{{"workload", kRelu}}.dump());
  EXPECT_EQ(*again.body, *text.body);
  const HttpResponse unchanged =
      Send("POST", "/v1/query", "text/plain", kRelu, Header(text, "ETag"));
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.body, nullptr);

  const HttpResponse batch =
      Send("POST", "/v1/query", "application/json",
           json{{"queries", {{{"workload", kRelu}}, {{"workload", "nonsense"}}}}}.dump());
  ASSERT_EQ(batch.status, 200);
  const json answers = json::parse(*batch.body);
  EXPECT_EQ(answers["answers"][0], package);
  EXPECT_EQ(answers["answers"][1]["error"]["status"], 400);
  EXPECT_THAT(answers["answers"][1]["error"]["message"].get<std::string>(),
              HasSubstr("workload:1:"));
}

TEST_F(Endpoint, SchedulesAreFoundByKey) {
  const std::string unknown = "/v1/schedules/" + std::string(32, '0');
  EXPECT_EQ(Send("GET", unknown).status, 404);
  EXPECT_EQ(Send("GET", "/v1/schedules/xyz").status, 400);
  Send("POST", "/v1/query", "text/plain", kRelu);
  ASSERT_TRUE(book_.WriteCounts());  // puts the workload into the log
  const std::string key = log_->Workloads().value().at(0).key;
  const HttpResponse found = Send("GET", "/v1/schedules/" + key);
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(Send("GET", "/v1/schedules/" + key, "", "", Header(found, "ETag")).status, 304);
}

TEST_F(Endpoint, ModelsAreKeptAndQueued) {
  std::ifstream file(std::string(KINDRED_TEST_MODELS) + "/tiny/mlp.onnx", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const HttpResponse kept = Send("POST", "/v1/models", "application/octet-stream", bytes);
  ASSERT_EQ(kept.status, 201) << *kept.body;
  const json model = json::parse(*kept.body);
  EXPECT_EQ(model["nodes"], model["tunable"]);
  const HttpResponse queued = Send("POST", "/v1/jobs", "application/json",
                                   json{{"model", model["model"]}, {"trials", 8}}.dump());
  ASSERT_EQ(queued.status, 201) << *queued.body;
  const std::string path = Header(queued, "Location");
  EXPECT_EQ(json::parse(*Send("GET", path).body)["state"], "queued");
  EXPECT_EQ(json::parse(*Send("GET", "/v1/jobs").body)["jobs"].size(), 1u);
  EXPECT_EQ(json::parse(*Send("DELETE", path).body)["state"], "cancelled");
  EXPECT_EQ(json::parse(*Send("GET", path).body)["state"], "cancelled");
  const HttpResponse answered = Send("POST", "/v1/query", "application/octet-stream", bytes);
  ASSERT_EQ(answered.status, 200) << *answered.body;
  EXPECT_EQ(json::parse(*answered.body)["answers"].size(), model["subgraphs"]);
}

TEST_F(Endpoint, ErrorsHaveTheirStatus) {
  EXPECT_EQ(Send("GET", "/nowhere").status, 404);
  const HttpResponse method = Send("PATCH", "/v1/jobs");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(Header(method, "Allow"), "POST, GET, HEAD");
  EXPECT_EQ(Send("POST", "/v1/query", "application/xml", "<a/>").status, 415);
  EXPECT_EQ(Send("POST", "/v1/jobs", "text/plain", "x").status, 415);
  EXPECT_EQ(Send("POST", "/v1/models", "application/octet-stream", "junk").status, 400);
  EXPECT_EQ(Send("POST", "/v1/jobs", "application/json", R"({"model": "m"})").status, 404);
  EXPECT_EQ(Send("GET", "/v1/jobs/none").status, 404);
  EXPECT_EQ(Send("GET", "/v1/jobs/none/events").status, 404);
  EXPECT_EQ(Send("POST", "/v1/query", "application/json",
                 json{{"workload", kRelu}, {"target", "tpu"}}.dump())
                .status,
            400);
}

TEST_F(Endpoint, RefusesOtherSitesAndNames) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/healthz";
  request.host = "localhost:8311";
  EXPECT_EQ(Send(request).status, 200);
  request.origin = "http://localhost:8311";
  EXPECT_EQ(Send(request).status, 200);
  request.origin = "http://elsewhere.example";
  EXPECT_EQ(Send(request).status, 403);
  request.origin.clear();
  request.host = "trick.example";
  EXPECT_EQ(Send(request).status, 403);
}

TEST_F(Endpoint, OpenApiListsWhatIsServed) {
  const json document = json::parse(*Send("GET", "/openapi.json").body);
  for (const auto& [path, methods] : document["paths"].items()) {
    std::string concrete = path;
    for (const char* name : {"{key}", "{id}"})
      if (const std::size_t at = concrete.find(name); at != std::string::npos)
        concrete.replace(at, std::string(name).size(), "0");
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      const HttpResponse response = Send(upper, concrete);
      EXPECT_NE(response.status, 405) << method << " " << path;
      EXPECT_TRUE(operation["responses"].contains(std::to_string(response.status)))
          << method << " " << path << ": " << response.status;
    }
  }
}

TEST_F(Endpoint, MetricsCountRequests) {
  Send("GET", "/healthz");
  Send("POST", "/v1/query", "text/plain", kRelu);
  const std::string text = *Send("GET", "/metrics").body;
  EXPECT_THAT(text,
              HasSubstr("kindred_http_requests_total{endpoint=\"/healthz\",status=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kindred_answers_total{match=\"default\",kept=\"no\"} 1\n"));
}

}  // namespace
}  // namespace kindred
