#include "measure/internal/worker_requests.h"

#include <fstream>
#include <utility>

namespace kindred {

std::int64_t OutOfMemoryKills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

Result<std::string> Must(WorkerProcess& worker, const std::string& line, double timeout_s,
                         const std::string& what) {
  const std::int64_t kills_before = OutOfMemoryKills();
  WorkerProcess::Reply reply = worker.Ask(line, timeout_s);
  if (reply.end == WorkerProcess::End::kAnswered && !reply.answer.failed &&
      reply.answer.outcome.status == Status::kOk)
    return std::move(reply.answer.more);
  std::string cause = reply.cause;
  if (reply.end == WorkerProcess::End::kTimedOut) {
    cause = "it took longer than " + std::to_string(static_cast<int>(timeout_s)) + " s";
  } else if (reply.end == WorkerProcess::End::kAnswered) {
    cause = reply.answer.outcome.message;
  }
  if (reply.end == WorkerProcess::End::kDied && OutOfMemoryKills() > kills_before)
    return Internal(what + ": the system killed it for want of memory");
  // Without an answer: the program is no worker, or somebody killed it.
  const bool gone =
      reply.end == WorkerProcess::End::kWasDead || reply.end == WorkerProcess::End::kDied;
  return Error{gone ? ErrorKind::kEnvironment : ErrorKind::kInternal, what + ": " + cause};
}

}  // namespace kindred
