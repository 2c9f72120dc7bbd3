#include "tuner/service/api.h"

#include <array>
#include <optional>

#include <fmt/format.h>

namespace kindred {
namespace {

// The segment that `pattern`'s braces stand for; nullopt: the path is another.
std::optional<std::string> Match(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return pattern == path ? std::optional<std::string>("") : std::nullopt;
  const std::string_view before = pattern.substr(0, open),
                         behind = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) ||
      !path.ends_with(behind))
    return std::nullopt;
  const std::string_view segment =
      path.substr(before.size(), path.size() - before.size() - behind.size());
  if (segment.find('/') != std::string_view::npos) return std::nullopt;
  return std::string(segment);
}

// Pages of other sites may make a browser send requests here; they cannot hide where they come
// from. Programs send no Origin.
bool FromAnotherSite(const HttpRequest& request) {
  if (request.origin.empty()) return false;
  const std::size_t scheme = request.origin.find("://");
  return scheme == std::string::npos || request.origin.substr(scheme + 3) != request.host;
}

// A name that resolves to the loopback address by a trick of the name server is not ours.
bool KnownHost(const std::string& host) {
  const std::size_t port = host.rfind(':');
  const bool bracketed = !host.empty() && host.back() == ']';
  const std::string name = port == std::string::npos || bracketed ? host : host.substr(0, port);
  return name.empty() || name == "localhost" ||
         name.find_first_not_of("0123456789.") == std::string::npos || name.front() == '[';
}

}  // namespace

HttpResponse ResponseTo(const Error& error) {
  int status = 500;
  switch (error.kind) {
    case ErrorKind::kBadInput: status = 400; break;
    case ErrorKind::kNotFound: status = 404; break;
    case ErrorKind::kUnsupported: status = 422; break;
    case ErrorKind::kEnvironment: status = 503; break;
    case ErrorKind::kInternal: status = 500; break;
  }
  return ErrorResponse(status, error.message);
}

struct Api::Endpoint {
  std::string_view method, pattern;
  void (*run)(Api& api, HttpRequest request, const std::string& segment, HttpReply reply);
};

struct Endpoints {
  static const std::array<Api::Endpoint, 11>& All() {
    using Request = HttpRequest;
    using Text = const std::string&;
    static const std::array<Api::Endpoint, 11> all = {{
        {"GET", "/v1/schedules/{key}",
         [](Api& api, Request request, Text key, HttpReply reply) {
           api.GetSchedule(std::move(request), key, std::move(reply));
         }},
        {"POST", "/v1/query",
         [](Api& api, Request request, Text, HttpReply reply) {
           api.PostQuery(std::move(request), std::move(reply));
         }},
        {"POST", "/v1/models",
         [](Api& api, Request request, Text, HttpReply reply) {
           api.Later(std::move(reply),
                     [&api, request = std::move(request)] { return api.PostModel(request); });
         }},
        {"POST", "/v1/jobs",
         [](Api& api, Request request, Text, HttpReply reply) {
           api.Later(std::move(reply),
                     [&api, request = std::move(request)] { return api.PostJob(request); });
         }},
        {"GET", "/v1/jobs",
         [](Api& api, Request, Text, HttpReply reply) {
           api.Later(std::move(reply), [&api] { return api.ListJobs(); });
         }},
        {"GET", "/v1/jobs/{id}",
         [](Api& api, Request, Text id, HttpReply reply) {
           api.Later(std::move(reply), [&api, id] { return api.GetJob(id); });
         }},
        {"DELETE", "/v1/jobs/{id}",
         [](Api& api, Request, Text id, HttpReply reply) {
           api.Later(std::move(reply), [&api, id] { return api.CancelJob(id); });
         }},
        {"GET", "/v1/jobs/{id}/events",
         [](Api& api, Request, Text id, HttpReply reply) {
           api.Later(std::move(reply), [&api, id] { return api.JobEvents(id); });
         }},
        {"GET", "/healthz", [](Api& api, Request, Text, HttpReply reply) { reply(api.Health()); }},
        {"GET", "/metrics",
         [](Api& api, Request, Text, HttpReply reply) {
           api.Later(std::move(reply), [&api] { return api.MetricsText(); });
         }},
        {"GET", "/openapi.json",
         [](Api&, Request, Text, HttpReply reply) {
           reply(TextResponse(200, "application/json", OpenApi()));
         }},
    }};
    return all;
  }
};

Api::Api(ApiParts parts) : parts_(parts) {}

void Api::Handle(HttpRequest request, HttpReply reply) {
  const auto begun = std::chrono::steady_clock::now();
  const auto counted = [this, begun, reply = std::move(reply)](std::string_view pattern) {
    return [this, begun, reply, name = std::string(pattern)](HttpResponse response) {
      parts_.metrics.CountRequest(name, response.status, std::chrono::steady_clock::now() - begun);
      reply(std::move(response));
    };
  };
  if (FromAnotherSite(request) || !KnownHost(request.host))
    return counted("other")(
        ErrorResponse(403, "requests from web pages and for other hosts' names are refused"));
  std::string allowed, pattern = "other";
  for (const Endpoint& endpoint : Endpoints::All()) {
    const auto segment = Match(endpoint.pattern, request.path);
    if (!segment) continue;
    if (endpoint.method == request.method)
      return endpoint.run(*this, std::move(request), *segment, counted(endpoint.pattern));
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", endpoint.method);
    if (endpoint.method == "GET") allowed += ", HEAD";
    pattern = endpoint.pattern;
  }
  if (allowed.empty())
    return counted("other")(
        ErrorResponse(404, "there is no such endpoint; /openapi.json lists them all"));
  HttpResponse response = ErrorResponse(
      405, fmt::format("{} does not know the method {}", request.path, request.method));
  response.headers.emplace_back("Allow", allowed);
  counted(pattern)(std::move(response));
}

void Api::Later(HttpReply reply, std::function<HttpResponse()> work) {
  if (parts_.workers.Post([reply, work = std::move(work)] { reply(work()); })) return;
  HttpResponse busy = ErrorResponse(503, "too many requests wait; ask again in a second");
  busy.headers.emplace_back("Retry-After", "1");
  reply(std::move(busy));
}

}  // namespace kindred
