#include "measure/cuda/nvrtc_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include <nlohmann/json.hpp>

#include "measure/cuda/nvrtc.h"
#include "measure/internal/cache_directory.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr int kRequests = 3, kAnswers = 4;
constexpr double kLoad_s = 60;  // to load NVRTC, also from a slow disk
constexpr unsigned kOrphan_s = 10;
constexpr std::size_t kLongestLog = 1 << 16;

std::string LineOf(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

bool ReadLine(std::string& unread, std::string& line) {
  for (;;) {
    if (const std::size_t end = unread.find('\n'); end != std::string::npos) {
      line = unread.substr(0, end);
      unread.erase(0, end + 1);
      return true;
    }
    char bytes[1 << 14];
    const ssize_t got = read(kRequests, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    unread.append(bytes, static_cast<std::size_t>(got));
  }
}

bool WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(kAnswers, text.data(), text.size());
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// The answer line.
Result<std::string> Serve(const Nvrtc& nvrtc, const json& request) {
  if (request.at("do") == "version")
    return LineOf({{"version", nvrtc.version()},
                   {"path", nvrtc.path()},
                   {"architectures", nvrtc.architectures()}});
  const auto options = request.at("options").get<std::vector<std::string>>();
  // The parent's deadline comes first; this one ends a process whose parent is gone.
  alarm(static_cast<unsigned>(request.at("timeout_s").get<double>()) + kOrphan_s);
  const auto names = request.at("names").get<std::vector<std::string>>();
  KINDRED_TRY(const NvrtcResult result,
              nvrtc.Compile(request.at("code").get<std::string>(), options, names));
  alarm(0);
  if (result.ok) KINDRED_CHECK(WriteFile(request.at("cubin").get<std::string>(), result.cubin));
  return LineOf(
      {{"ok", result.ok}, {"log", result.log.substr(0, kLongestLog)}, {"lowered", result.lowered}});
}

}  // namespace

int RunNvrtcProcess() {
  signal(SIGPIPE, SIG_IGN);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const auto nvrtc = Nvrtc::Load();
  std::string unread, line;
  while (ReadLine(unread, line)) {
    std::string answer;
    const auto failed = [&](const std::string& message) { answer = LineOf({{"failed", message}}); };
    try {
      const Result<std::string> served =
          nvrtc ? Serve(**nvrtc, json::parse(line)) : Result<std::string>(nvrtc.error());
      if (served)
        answer = *served;
      else
        failed(served.error().message);
    } catch (const std::exception& e) {
      failed(std::string("NVRTC's process cannot serve a request: ") + e.what());
    }
    if (!WriteAll(answer)) return 1;
  }
  return 0;
}

Result<NvrtcProcess> NvrtcProcess::Start(const std::string& program) {
  const auto cannot = [](const char* what) {
    return Environment(std::string("cannot make a ") + what +
                       " for NVRTC's process: " + std::strerror(errno));
  };
  // A socket, because a write to it can be told not to raise SIGPIPE.
  int requests[2], answers[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) != 0) return cannot("socket");
  FileDescriptor our_requests = AwayFromLow(FileDescriptor(requests[0]));
  FileDescriptor its_requests = AwayFromLow(FileDescriptor(requests[1]));
  if (pipe2(answers, O_CLOEXEC) != 0) return cannot("pipe");
  FileDescriptor our_answers = AwayFromLow(FileDescriptor(answers[0]));
  FileDescriptor its_answers = AwayFromLow(FileDescriptor(answers[1]));
  NvrtcProcess process;
  KINDRED_TRY(process.errors_, MemoryFile("nvrtc-stderr"));
  SpawnOptions options;
  options.program = FindOnPath(program);
  if (options.program.empty()) return Environment("the program " + program + " cannot be run");
  options.arguments = {"nvrtc"};
  options.descriptors = {-1, -1, process.errors_.get(), its_requests.get(), its_answers.get()};
  KINDRED_TRY(process.child_, ChildProcess::Spawn(options));
  process.requests_ = std::move(our_requests);
  process.answers_ = std::move(our_answers);
  return process;
}

std::optional<std::string> NvrtcProcess::Ask(const std::string& line, double timeout_s,
                                             Reply* instead) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  const auto gone = [&](End end) {
    const bool timed_out = end == End::kTimedOut;
    ExitStatus status;
    if (timed_out || !child_.Wait(1, status)) status = child_.Kill();
    *instead = {
        end, timed_out
                 ? "NVRTC took longer than " + std::to_string(static_cast<int>(timeout_s)) + " s"
                 : "NVRTC's process died" +
                       (status.signal != 0 ? " of " + SignalName(status.signal) : std::string()) +
                       "; it said: " + Tail(errors_.get(), 1024)};
    return std::nullopt;
  };
  std::string_view unsent = line;
  while (!unsent.empty()) {
    const ssize_t sent = send(requests_.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return gone(End::kDied);
    if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string unread;
  for (;;) {
    const double left_s = std::chrono::duration<double>(deadline - Clock::now()).count();
    if (left_s <= 0) return gone(End::kTimedOut);
    pollfd wait_for = {answers_.get(), POLLIN, 0};
    if (poll(&wait_for, 1, static_cast<int>(std::min(left_s * 1e3 + 1, 1e6))) <= 0) continue;
    char bytes[1 << 14];
    const ssize_t got = read(answers_.get(), bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone(End::kDied);
    unread.append(bytes, static_cast<std::size_t>(got));
    if (unread.back() == '\n') return unread;
  }
}

Result<NvrtcVersion> NvrtcProcess::Version() {
  Reply instead;
  const auto line = Ask(LineOf({{"do", "version"}}), kLoad_s, &instead);
  if (!line) return Environment(instead.log);
  const json answer = json::parse(*line);
  if (answer.contains("failed")) return Environment(answer["failed"].get<std::string>());
  return NvrtcVersion{answer.at("version").get<std::string>(), answer.at("path").get<std::string>(),
                      answer.at("architectures").get<std::vector<int>>()};
}

Result<NvrtcProcess::Reply> NvrtcProcess::Compile(const std::string& code,
                                                  const std::vector<std::string>& options,
                                                  const std::vector<std::string>& names,
                                                  const std::string& cubin, double timeout_s) {
  Reply reply;
  const auto line = Ask(LineOf({{"do", "compile"},
                                {"code", code},
                                {"options", options},
                                {"names", names},
                                {"cubin", cubin},
                                {"timeout_s", timeout_s}}),
                        timeout_s, &reply);
  if (!line) return reply;
  const json answer = json::parse(*line);
  if (answer.contains("failed")) return Environment(answer["failed"].get<std::string>());
  reply.end = answer.at("ok").get<bool>() ? End::kBuilt : End::kRefused;
  reply.log = answer.at("log").get<std::string>();
  reply.lowered = answer.at("lowered").get<std::vector<std::string>>();
  return reply;
}

}  // namespace kindred
