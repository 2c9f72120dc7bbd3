// The worker process: one request at a time, in the order they come.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <string>

#include <nlohmann/json.hpp>

#include "measure/cpu/fault_report.h"
#include "measure/cpu/worker_state.h"
#include "measure/internal/buffer_protocol.h"
#include "measure/internal/cache_directory.h"
#include "measure/internal/serve_requests.h"
#include "measure/runner.h"

namespace kindred {
namespace {

constexpr int kAnswers = 4;

Answer Serve(WorkerState& state, const nlohmann::json& request) {
  const std::string what = request.at("do");
  if (what == "open") return AnswerOf(state.Open(OpenRequestFrom(request)));
  if (what == "load_reference") return AnswerOf(state.LoadReference(request.at("file")));
  if (what == "compute_reference")
    return AnswerOf(state.ComputeReference(ComputeReferenceRequestFrom(request)));
  if (what == "open_buffers") return AnswerOf(state.OpenBuffers(OpenBuffersRequestFrom(request)));
  if (what != "candidate" && what != "take_reference")
    return FailedAnswer(Internal("the worker knows no request '" + what + "'"));
  Result<Outcome> outcome = what == "candidate"
                                ? state.Measure(CandidateRequestFrom(request))
                                : state.TakeReference(TakeReferenceRequestFrom(request));
  if (!outcome) return FailedAnswer(outcome.error());
  Answer answer;
  answer.outcome = std::move(*outcome);
  return answer;
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
  return ServeRequests([&state](const nlohmann::json& request) { return Serve(state, request); });
}

}  // namespace kindred
