// HTTP as the service's endpoints see it: plain requests and responses, and the server that carries
// them. Nothing here includes Boost; http_server.cc alone does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // percent-decoded, without the query: "/v1/schedules/0a1b"
  std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded, in order
  std::string content_type, if_none_match, origin, host;        // headers; "" where absent
  std::string body;

  // The first parameter of the name; nullptr: there is none.
  const std::string* Parameter(std::string_view name) const;
};

// Text to send in an endless response: what there is since the last call ("" if nothing), nothing
// when the stream has ended. Called by the server every half second, on its I/O thread: it must not
// block for long.
using EventSource = std::function<std::optional<std::string>()>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body;                   // null: empty
  std::vector<std::pair<std::string, std::string>> headers;  // others: ETag, Allow, Location, ...
  EventSource events;  // set: the body is a stream of server-sent events, and `body` is not used
};

HttpResponse TextResponse(int status, std::string content_type, std::string body);
// {"error": {"status", "message"}} as JSON.
HttpResponse ErrorResponse(int status, std::string_view message);

// Answers one request: calls the reply exactly once, at once or later and from any thread. Runs on
// the I/O thread, so what takes long belongs elsewhere.
using HttpReply = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, HttpReply)>;

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8311;                         // 0: any free one
  std::size_t body_limit = 16 << 20;                 // bytes; more: 413
  std::size_t header_limit = 16 << 10;               // bytes; more: 431
  std::chrono::milliseconds request_timeout{10000};  // from a request's first byte to its last: 408
  std::chrono::milliseconds idle_timeout{60000};     // between requests
  std::chrono::milliseconds write_timeout{30000};
  std::size_t connections = 1024;  // more: 503
};

// One I/O thread, which is the caller of Run().
class HttpServer {
 public:
  // Binds and listens. Errors (kEnvironment): the address is in use or not ours.
  static Result<std::unique_ptr<HttpServer>> Listen(const HttpServerOptions& options,
                                                    HttpHandler handler);
  virtual ~HttpServer() = default;

  virtual std::uint16_t port() const = 0;
  // Serves until Stop(); requests that were read are still answered.
  virtual void Run() = 0;
  // From any thread, or a signal handler's thread.
  virtual void Stop() = 0;
};

// What a connection that sends `bytes` and then closes its side gets back: the server without a
// network, for tests and fuzzing. Replies must come at once.
std::string ServeBytes(const HttpServerOptions& options, const HttpHandler& handler,
                       std::string_view bytes);

// "%41" -> "A"; "+" stays. nullopt: a broken escape or a zero byte.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace kindred
