// Any bytes that a connection sends are answered with HTTP, and never with an internal error.
#include <filesystem>
#include <future>
#include <memory>

#include <unistd.h>

#include "database/sqlite_log.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/service/api.h"

namespace kindred::fuzz {
namespace {

constexpr int kRunsOfAService = 500;  // jobs and models that requests leave behind go with it

// The service on an empty log in memory; nothing is tuned.
class Served {
 public:
  Served() = default;
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  HttpResponse Answer(HttpRequest request) {
    std::promise<HttpResponse> answer;
    api_.Handle(std::move(request),
                [&](HttpResponse response) { answer.set_value(std::move(response)); });
    return answer.get_future().get();
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("kindred_fuzz_http." + std::to_string(::getpid()));
  std::unique_ptr<TuningLog> log_ = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  ServedTargets targets_{*log_, [](const std::string& name) -> Result<Target> {
                           if (name == "cpu") return Target{};
                           return BadInput("unknown target '" + name + "'");
                         }};
  AnswerBook book_{*log_, targets_};
  ModelStore store_{folder_.string()};
  JobQueue jobs_{*log_, store_, {}};
  Metrics metrics_;
  Workers workers_{1, 8};
  Api api_{{*log_, book_, targets_, jobs_, store_, workers_, metrics_}};
};

}  // namespace

void FuzzHttp(std::string_view bytes) {
  static std::unique_ptr<Served> served;
  static int runs = 0;
  if (runs++ % kRunsOfAService == 0) {
    served.reset();
    served = std::make_unique<Served>();
  }
  HttpServerOptions options;
  options.body_limit = 1024;  // few questions at once: each may cost a search
  options.header_limit = 2048;
  const HttpHandler handler = [](HttpRequest request, HttpReply reply) {
    HttpResponse response = served->Answer(std::move(request));
    Require(response.status < 500 || response.status == 503, "no internal error");
    if (response.events) response = TextResponse(200, "text/event-stream", "");  // endless
    reply(std::move(response));
  };
  const std::string got = ServeBytes(options, handler, bytes);
  Require(got.empty() || got.starts_with("HTTP/1."), "what is answered is HTTP");
}

}  // namespace kindred::fuzz
