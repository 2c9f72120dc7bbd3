#include "measure/internal/serve_requests.h"

#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace kindred {
namespace {

constexpr int kRequests = 3;
constexpr int kAnswers = 4;

// The next line of descriptor 3, without its end; false at the end of the requests.
bool ReadLine(std::string& unread, std::string& line) {
  for (std::size_t searched = 0;;) {
    const std::size_t end = unread.find('\n', searched);
    if (end != std::string::npos) {
      line = unread.substr(0, end);
      unread.erase(0, end + 1);
      return true;
    }
    searched = unread.size();
    char bytes[1 << 16];
    const ssize_t got = read(kRequests, bytes, sizeof(bytes));
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    if (got > 0) unread.append(bytes, static_cast<std::size_t>(got));
  }
}

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(kAnswers, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

Answer FailedAnswer(const Error& error) {
  Answer answer;
  answer.failed = true;
  answer.outcome.message = error.message;
  return answer;
}

Answer AnswerOf(const Result<void>& result) {
  return result ? Answer{} : FailedAnswer(result.error());
}

int ServeRequests(const std::function<Answer(const nlohmann::json&)>& serve) {
  std::string unread, line;
  while (ReadLine(unread, line)) {
    Answer answer;
    try {
      answer = serve(nlohmann::json::parse(line));
    } catch (const std::exception& e) {  // malformed request, no memory
      answer =
          FailedAnswer(Internal(std::string("the worker cannot serve a request: ") + e.what()));
    }
    if (!WriteAll(AnswerLine(answer))) return 1;
    if (answer.ends) return 0;
  }
  return 0;
}

}  // namespace kindred
