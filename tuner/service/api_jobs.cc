// Endpoints of models, jobs and the service's state.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/inputs.h"
#include "tuner/service/api.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

json JobToJson(const JobRecord& job, const std::string& progress) {
  const auto parsed = [](const std::string& text) { return json::parse(text, nullptr, false); };
  json out = {{"id", job.id},
              {"name", job.name},
              {"target", job.target},
              {"state", job.state},
              {"priority", job.priority},
              {"options", parsed(job.options)},
              {"created_ms", job.created_ms},
              {"started_ms", job.started_ms},
              {"ended_ms", job.ended_ms},
              {"attempts", job.attempts},
              {"session", job.session},
              {"message", job.message},
              {"summary", parsed(job.summary)},
              {"progress", parsed(progress)}};
  return out;
}

bool Ended(const std::string& state) {
  return state == "finished" || state == "failed" || state == "cancelled";
}

}  // namespace

HttpResponse Api::PostModel(const HttpRequest& request) {
  if (!request.content_type.starts_with("application/octet-stream"))
    return ErrorResponse(415, "the Content-Type must be application/octet-stream (an ONNX model)");
  const auto dims = ReadDims(request);
  if (!dims) return ResponseTo(dims.error());
  const auto id = parts_.store.Put(request.body);
  if (!id) return ResponseTo(id.error());
  const auto path = parts_.store.PathOf(*id);
  if (!path) return ResponseTo(path.error());
  ImportOptions options;
  options.dims = *dims;
  const auto model = ImportOnnx(*path, options);
  if (!model) {
    parts_.store.Remove(*id);
    return ResponseTo(model.error());
  }
  if (const auto known = CheckDims(*model, *dims); !known) return ResponseTo(known.error());
  json left = json::array();
  for (const LeftOutNode& node : model->left_out)
    left.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
  const json body = {{"model", *id},
                     {"nodes", model->nodes},
                     {"tunable", model->tunable},
                     {"subgraphs", model->tasks.size()},
                     {"left_out", left}};
  HttpResponse response = TextResponse(201, "application/json", body.dump());
  return response;
}

HttpResponse Api::PostJob(const HttpRequest& request) {
  if (!request.content_type.starts_with("application/json"))
    return ErrorResponse(415, "the Content-Type must be application/json");
  auto asked = ReadJobRequest(request.body);
  if (!asked) return ResponseTo(asked.error());
  if (const auto target = parts_.targets.Find(asked->job.target); !target)
    return ResponseTo(target.error());
  json inputs = json::array();
  if (!asked->model.empty() || asked->workloads.empty()) {
    const auto path = parts_.store.PathOf(asked->model);
    if (!path) return ResponseTo(path.error());
    inputs.push_back({{"path", *path}, {"dims", asked->dims}});
    if (asked->job.name.empty()) asked->job.name = asked->model;
  }
  for (const std::string& text : asked->workloads) {
    const auto path = parts_.store.Write(HashOf(text).Hex() + ".kd", text);
    if (!path) return ResponseTo(path.error());
    inputs.push_back({{"path", *path}});
  }
  asked->job.inputs = inputs.dump();
  const auto job = parts_.jobs.Add(asked->job);
  if (!job) return ResponseTo(job.error());
  HttpResponse response = TextResponse(201, "application/json", JobToJson(*job, "{}").dump());
  response.headers.emplace_back("Location", "/v1/jobs/" + job->id);
  return response;
}

HttpResponse Api::ListJobs() {
  const auto jobs = parts_.log.Jobs();
  if (!jobs) return ResponseTo(jobs.error());
  json list = json::array();
  for (const JobRecord& job : *jobs) list.push_back(JobToJson(job, "{}"));
  return TextResponse(200, "application/json", json{{"jobs", list}}.dump());
}

HttpResponse Api::GetJob(const std::string& id) {
  const auto job = parts_.log.FindJob(id);
  if (!job) return ResponseTo(job.error());
  if (!*job) return ErrorResponse(404, fmt::format("there is no job '{}'", id));
  const auto progress = parts_.jobs.ProgressOf(**job);
  if (!progress) return ResponseTo(progress.error());
  return TextResponse(200, "application/json", JobToJson(**job, *progress).dump());
}

HttpResponse Api::CancelJob(const std::string& id) {
  const auto job = parts_.jobs.Cancel(id);
  if (!job) return ResponseTo(job.error());
  return TextResponse(202, "application/json", JobToJson(*job, "{}").dump());
}

HttpResponse Api::JobEvents(const std::string& id) {
  const auto job = parts_.log.FindJob(id);
  if (!job) return ResponseTo(job.error());
  if (!*job) return ErrorResponse(404, fmt::format("there is no job '{}'", id));
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.events = [this, id, last = std::string(), quiet = 0,
                     ended = false]() mutable -> std::optional<std::string> {
    if (ended) return std::nullopt;
    const HttpResponse now = GetJob(id);
    if (now.status != 200) return std::nullopt;
    ended = Ended(json::parse(*now.body).value("state", ""));
    if (*now.body == last && !ended) {
      // A comment now and then tells a client that the service is still there.
      constexpr int kQuiet = 20;
      return ++quiet % kQuiet == 0 ? ": waiting\n\n" : "";
    }
    last = *now.body;
    return fmt::format("event: {}\ndata: {}\n\n", ended ? "end" : "progress", last);
  };
  return response;
}

HttpResponse Api::Health() {
  const json body = {{"status", "ok"}, {"version", Version()}, {"epoch", parts_.book.epoch()}};
  return TextResponse(200, "application/json", body.dump());
}

HttpResponse Api::MetricsText() {
  const auto counts = parts_.log.Counts();
  if (!counts) return ResponseTo(counts.error());
  const auto jobs = parts_.log.Jobs();
  if (!jobs) return ResponseTo(jobs.error());
  std::int64_t queued = 0, running = 0;
  for (const JobRecord& job : *jobs) {
    queued += job.state == "queued";
    running += job.state == "running";
  }
  const auto number = [](auto value) { return static_cast<double>(value); };
  return TextResponse(
      200, "text/plain; version=0.0.4; charset=utf-8",
      parts_.metrics.Text(
          {{"log_epoch", {"Id of the log's last trial.", number(parts_.book.epoch())}},
           {"log_trials", {"Trials in the log.", number(counts->trials)}},
           {"log_failed_trials", {"Trials in the log that failed.", number(counts->failed)}},
           {"log_workloads", {"Workloads in the log.", number(counts->workloads)}},
           {"kept_answers", {"Answers kept in memory.", number(parts_.book.size())}},
           {"waiting_requests",
            {"Requests that wait for a worker.", number(parts_.workers.waiting())}},
           {"jobs_queued", {"Tuning jobs that wait.", number(queued)}},
           {"jobs_running", {"Tuning jobs under way.", number(running)}}}));
}

}  // namespace kindred
