// The service's endpoints (docs/service.md; openapi.cc is their description for programs).
//
// A request for answers that are kept is served at once on the I/O thread; everything else goes to
// the workers. Errors of Kindred become statuses: bad input 400, not found 404, unsupported 422, a
// log that is locked or full 503.
#pragma once

#include <atomic>
#include <string>

#include "tuner/service/answer_book.h"
#include "tuner/service/http.h"
#include "tuner/service/job_queue.h"
#include "tuner/service/metrics.h"
#include "tuner/service/model_store.h"
#include "tuner/service/requests.h"
#include "tuner/service/workers.h"

namespace kindred {

// What the endpoints work with; all outlive the API.
struct ApiParts {
  TuningLog& log;
  AnswerBook& book;
  ServedTargets& targets;
  JobQueue& jobs;
  ModelStore& store;
  Workers& workers;
  Metrics& metrics;
};

class Api {
 public:
  explicit Api(ApiParts parts);

  // An HttpHandler.
  void Handle(HttpRequest request, HttpReply reply);

  struct Endpoint;

 private:
  friend struct Endpoints;

  // Runs `work` on a worker and replies with what it gives, or 503 where too many wait.
  void Later(HttpReply reply, std::function<HttpResponse()> work);

  // answers.cc
  void GetSchedule(HttpRequest request, const std::string& key, HttpReply reply);
  void PostQuery(HttpRequest request, HttpReply reply);
  HttpResponse AnswerOne(const Question& question, const std::string& if_none_match);
  HttpResponse AnswerAll(const std::vector<Question>& questions);
  HttpResponse AnswerModel(const HttpRequest& request, const Question& question);
  HttpResponse Respond(const KeptAnswer& answer, bool kept, const std::string& if_none_match);

  // jobs
  HttpResponse PostModel(const HttpRequest& request);
  HttpResponse PostJob(const HttpRequest& request);
  HttpResponse ListJobs();
  HttpResponse GetJob(const std::string& id);
  HttpResponse CancelJob(const std::string& id);
  HttpResponse JobEvents(const std::string& id);

  // status
  HttpResponse Health();
  HttpResponse MetricsText();

  ApiParts parts_;
};

HttpResponse ResponseTo(const Error& error);

// The OpenAPI 3.1 description of these endpoints, as JSON.
const std::string& OpenApi();

}  // namespace kindred
