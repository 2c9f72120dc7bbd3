// Endpoints that answer: /v1/schedules/{key} and /v1/query.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"
#include "tuner/inputs.h"
#include "tuner/service/api.h"

namespace kindred {
namespace {

using nlohmann::json;

bool IsJson(const HttpRequest& request) {
  return request.content_type.starts_with("application/json");
}

HttpResponse BadType(std::string_view known) {
  return ErrorResponse(415, fmt::format("the Content-Type must be {}", known));
}

// If-None-Match: a list of tags, or "*".
bool Matches(const std::string& if_none_match, const std::string& etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string::npos;
}

}  // namespace

HttpResponse Api::Respond(const KeptAnswer& answer, bool kept, const std::string& if_none_match) {
  parts_.book.Count(answer);
  parts_.metrics.CountAnswer(answer.match, kept);
  HttpResponse response;
  response.headers.emplace_back("ETag", answer.etag);
  if (!if_none_match.empty() && Matches(if_none_match, answer.etag)) {
    response.status = 304;
    return response;
  }
  response.body = answer.body;
  return response;
}

void Api::GetSchedule(HttpRequest request, const std::string& key, HttpReply reply) {
  auto question = ReadQuestionParameters(request);
  if (!question) return reply(ResponseTo(question.error()));
  const bool hex = key.size() == 32 && std::all_of(key.begin(), key.end(), [](unsigned char c) {
                     return std::isdigit(c) || (c >= 'a' && c <= 'f');
                   });
  if (!hex) return reply(ErrorResponse(400, "a key is 32 lower-case hexadecimal digits"));
  question->key = key;
  if (const KeptAnswerPtr kept = parts_.book.Find(question->Digest()))
    return reply(Respond(*kept, true, request.if_none_match));
  Later(std::move(reply),
        [this, question = std::move(*question), tag = std::move(request.if_none_match)] {
          return AnswerOne(question, tag);
        });
}

HttpResponse Api::AnswerOne(const Question& question, const std::string& if_none_match) {
  if (const KeptAnswerPtr kept = parts_.book.Find(question.Digest()))
    return Respond(*kept, true, if_none_match);
  const auto answer = parts_.book.Answer(question);
  return answer ? Respond(**answer, false, if_none_match) : ResponseTo(answer.error());
}

void Api::PostQuery(HttpRequest request, HttpReply reply) {
  if (IsJson(request)) {
    auto query = ReadQueryRequest(request.body);
    if (!query) return reply(ResponseTo(query.error()));
    const bool all_kept =
        std::all_of(query->questions.begin(), query->questions.end(),
                    [&](const Question& q) { return parts_.book.Find(q.Digest()) != nullptr; });
    const auto work = [this, query = std::move(*query), tag = request.if_none_match] {
      return query.batch ? AnswerAll(query.questions) : AnswerOne(query.questions.front(), tag);
    };
    if (all_kept) return reply(work());
    return Later(std::move(reply), work);
  }
  const bool text = request.content_type.starts_with("text/plain");
  const bool model = request.content_type.starts_with("application/octet-stream");
  if (!text && !model)
    return reply(
        BadType("application/json, text/plain (a workload) or application/octet-stream "
                "(an ONNX model)"));
  auto question = ReadQuestionParameters(request);
  if (!question) return reply(ResponseTo(question.error()));
  if (model)
    return Later(std::move(reply), [this, request = std::move(request), asked = *question] {
      return AnswerModel(request, asked);
    });
  question->workload = std::move(request.body);
  if (const KeptAnswerPtr kept = parts_.book.Find(question->Digest()))
    return reply(Respond(*kept, true, request.if_none_match));
  Later(std::move(reply), [this, asked = std::move(*question), tag = request.if_none_match] {
    return AnswerOne(asked, tag);
  });
}

// Answers are put together as text: each is JSON already.
HttpResponse Api::AnswerAll(const std::vector<Question>& questions) {
  std::string body = fmt::format("{{\"epoch\":{},\"answers\":[", parts_.book.epoch());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const HttpResponse one = AnswerOne(questions[i], "");
    if (i > 0) body += ',';
    body += *one.body;
  }
  body += "]}";
  return TextResponse(200, "application/json", std::move(body));
}

HttpResponse Api::AnswerModel(const HttpRequest& request, const Question& asked) {
  const auto dims = ReadDims(request);
  if (!dims) return ResponseTo(dims.error());
  const auto id = parts_.store.Put(request.body);
  if (!id) return ResponseTo(id.error());
  const auto path = parts_.store.PathOf(*id);
  if (!path) return ResponseTo(path.error());
  ImportOptions options;
  options.dims = *dims;
  const auto model = ImportOnnx(*path, options);
  if (!model) return ResponseTo(model.error());
  if (const auto known = CheckDims(*model, *dims); !known) return ResponseTo(known.error());
  std::string body = fmt::format(
      "{{\"model\":\"{}\",\"epoch\":{},\"nodes\":{},\"tunable\":{},"
      "\"answers\":[",
      *id, parts_.book.epoch(), model->nodes, model->tunable);
  bool first = true;
  for (const ImportedTask& task : model->tasks) {
    Question question = asked;
    question.workload = PrintWorkload(task.workload);
    json uses = json::array();
    for (const SubgraphUse& use : task.uses)
      uses.push_back({{"nodes", use.nodes}, {"tensors", use.tensors}, {"times", use.times}});
    const HttpResponse one = AnswerOne(question, "");
    body += fmt::format("{}{{\"name\":{},\"uses\":{},\"answer\":{}}}", first ? "" : ",",
                        json(task.name).dump(), uses.dump(), *one.body);
    first = false;
  }
  body += "],\"left_out\":" + [&] {
    json left = json::array();
    for (const LeftOutNode& node : model->left_out)
      left.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
    return left.dump();
  }() + "}";
  return TextResponse(200, "application/json", std::move(body));
}

}  // namespace kindred
