// The worker process: one request at a time, in the order they come.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>

#include <nlohmann/json.hpp>

#include "measure/cpu/buffer_protocol.h"
#include "measure/cpu/fault_report.h"
#include "measure/cpu/protocol.h"
#include "measure/cpu/worker_state.h"
#include "measure/internal/cache_directory.h"
#include "measure/runner.h"

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

Answer Failed(const Error& error) {
  Answer answer;
  answer.failed = true;
  answer.outcome.message = error.message;
  return answer;
}

Answer From(const Result<void>& result) { return result ? Answer{} : Failed(result.error()); }

Answer Serve(WorkerState& state, const nlohmann::json& request) {
  const std::string what = request.at("do");
  if (what == "open") return From(state.Open(OpenRequestFrom(request)));
  if (what == "load_reference") return From(state.LoadReference(request.at("file")));
  if (what == "compute_reference")
    return From(state.ComputeReference(ComputeReferenceRequestFrom(request)));
  if (what == "open_buffers") return From(state.OpenBuffers(OpenBuffersRequestFrom(request)));
  if (what != "candidate" && what != "take_reference")
    return Failed(Internal("the worker knows no request '" + what + "'"));
  Result<Outcome> outcome = what == "candidate"
                                ? state.Measure(CandidateRequestFrom(request))
                                : state.TakeReference(TakeReferenceRequestFrom(request));
  if (!outcome) return Failed(outcome.error());
  return {false, std::move(*outcome)};
}

}  // namespace

int RunCpuWorker() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // Should memory run out, this process goes, not the one that started it. Refusal does no harm.
  (void)WriteFile("/proc/self/oom_score_adj", "1000").has_value();
  InstallFaultReport(kAnswers);

  WorkerState state;
  std::string unread, line;
  while (ReadLine(unread, line)) {
    Answer answer;
    try {
      answer = Serve(state, nlohmann::json::parse(line));
    } catch (const std::exception& e) {  // malformed request, no memory
      answer = Failed(Internal(std::string("the worker cannot serve a request: ") + e.what()));
    }
    if (!WriteAll(AnswerLine(answer))) return 1;
  }
  return 0;
}

}  // namespace kindred
