#include "measure/internal/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace kindred {
namespace {

constexpr std::size_t kLongestAnswer = 1 << 20;
constexpr double kDeathGrace_s = 5;  // between the end of the answers and the end of the process

}  // namespace

Result<WorkerProcess> WorkerProcess::Start(const std::string& program, const std::string& role) {
  // A socket, because a write to it can be told not to raise SIGPIPE.
  int requests[2], answers[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) != 0)
    return Environment(std::string("cannot make a socket for a worker: ") + std::strerror(errno));
  FileDescriptor our_requests = AwayFromLow(FileDescriptor(requests[0]));
  FileDescriptor its_requests = AwayFromLow(FileDescriptor(requests[1]));
  if (pipe2(answers, O_CLOEXEC) != 0)
    return Environment(std::string("cannot make a pipe for a worker: ") + std::strerror(errno));
  FileDescriptor our_answers = AwayFromLow(FileDescriptor(answers[0]));
  FileDescriptor its_answers = AwayFromLow(FileDescriptor(answers[1]));

  WorkerProcess worker;
  KINDRED_TRY(worker.errors_, MemoryFile("worker-stderr"));
  SpawnOptions options;
  options.program = FindOnPath(program);
  if (options.program.empty())
    return Environment("the worker program " + program + " cannot be run");
  options.arguments = {role};
  options.descriptors = {-1, -1, worker.errors_.get(), its_requests.get(), its_answers.get()};
  KINDRED_TRY(worker.child_, ChildProcess::Spawn(options));
  worker.requests_ = std::move(our_requests);
  worker.answers_ = std::move(our_answers);
  return worker;
}

WorkerProcess::Reply WorkerProcess::Dead(End end) {
  Reply reply;
  reply.end = end;
  ExitStatus status;
  if (end == End::kTimedOut || !child_.Wait(kDeathGrace_s, status)) status = child_.Kill();
  reply.signal = status.signal;
  reply.cause = status.signal != 0
                    ? SignalName(status.signal)
                    : "the process ended with exit code " + std::to_string(status.code);
  const std::string said = Tail(errors_.get(), 2048);
  if (!said.empty() && end == End::kDied)
    reply.cause += "; it said: " + said.substr(0, said.find('\n'));
  return reply;
}

WorkerProcess::Reply WorkerProcess::Ask(const std::string& request_line, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  unread_.clear();
  std::string_view unsent = request_line;
  while (!unsent.empty()) {
    const ssize_t sent = send(requests_.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return Dead(End::kWasDead);
    if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
  }
  for (;;) {
    const double left_s = std::chrono::duration<double>(deadline - Clock::now()).count();
    if (left_s <= 0) return Dead(End::kTimedOut);
    pollfd wait_for = {answers_.get(), POLLIN, 0};
    const int ready = poll(&wait_for, 1, static_cast<int>(std::min(left_s * 1e3 + 1, 1e6)));
    if (ready <= 0) continue;
    char bytes[1 << 14];
    const ssize_t got = read(answers_.get(), bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Dead(End::kDied);
    unread_.append(bytes, static_cast<std::size_t>(got));
    const std::size_t end = unread_.find('\n');
    if (end == std::string::npos && unread_.size() < kLongestAnswer) continue;
    Result<Answer> answer = ParseAnswer(unread_.substr(0, end));
    if (!answer) {  // a candidate wrote to our descriptor
      Reply reply = Dead(End::kTimedOut);
      reply.end = End::kDied;
      reply.cause = answer.error().message;
      return reply;
    }
    Reply reply;
    reply.answer = std::move(*answer);
    const bool fault = reply.answer.outcome.status == Status::kCrash ||
                       reply.answer.outcome.status == Status::kOutOfBounds ||
                       reply.answer.outcome.status == Status::kOutOfMemory;
    // It ends after such an answer, or should.
    if (reply.answer.ends || (fault && !reply.answer.failed)) child_.Kill();
    return reply;
  }
}

}  // namespace kindred
