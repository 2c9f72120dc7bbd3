#include "tuner/service/service.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "database/sqlite_log.h"
#include "tuner/service/api.h"

namespace kindred {
namespace {

constexpr std::chrono::milliseconds kRefresh{100};
constexpr std::chrono::seconds kWriteCounts{5};
constexpr std::size_t kMostWaiting = 256;

// Keeps the book and the log in step until it is destroyed.
class Keeper {
 public:
  Keeper(AnswerBook& book, HttpServer& server, std::function<bool()> stopped)
      : book_(book), thread_([this, &server, stopped = std::move(stopped)] {
          auto written = std::chrono::steady_clock::now();
          while (!done_) {
            if (stopped()) server.Stop();
            Complain(book_.Refresh());
            if (std::chrono::steady_clock::now() - written > kWriteCounts) {
              Complain(book_.WriteCounts());
              written = std::chrono::steady_clock::now();
            }
            std::this_thread::sleep_for(kRefresh);
          }
          Complain(book_.WriteCounts());
        }) {}
  ~Keeper() {
    done_ = true;
    thread_.join();
  }

 private:
  // A log that is locked for a while is no reason to stop serving; what was counted is kept.
  void Complain(const Result<void>& result) {
    const std::string message = result ? "" : result.error().message;
    if (!message.empty() && message != last_) fmt::print(stderr, "kindred: {}\n", message);
    last_ = message;
  }

  AnswerBook& book_;
  std::string last_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace

Result<void> RunService(const ServiceOptions& options, const ServedTargets::Probe& probe,
                        const std::function<void(std::uint16_t port)>& ready,
                        const std::function<bool()>& stopped) {
  KINDRED_TRY(const auto log, OpenSqliteLog(options.log, OpenMode::kReadWrite));
  ServedTargets targets(*log, probe);
  KINDRED_CHECK(targets.Find(options.target));
  AnswerBook book(*log, targets);
  KINDRED_CHECK(book.Refresh());
  ModelStore store(std::filesystem::absolute(options.log).string() + ".service");
  JobQueue jobs(*log, store, {options.log, options.cache});
  Metrics metrics;
  std::unique_ptr<HttpServer> server;
  {
    // The workers end before the server does: a late reply needs the server it goes to.
    std::unique_ptr<Workers> workers = std::make_unique<Workers>(options.workers, kMostWaiting);
    Api api({*log, book, targets, jobs, store, *workers, metrics});
    KINDRED_TRY(server,
                HttpServer::Listen(options.http, [&api](HttpRequest request, HttpReply reply) {
                  api.Handle(std::move(request), std::move(reply));
                }));
    KINDRED_CHECK(jobs.Start());
    ready(server->port());
    {
      const Keeper keeper(book, *server, stopped);
      server->Run();
    }
    workers.reset();
  }
  return {};
}

}  // namespace kindred
