// The CUDA worker process: takes a device once, then serves candidate after candidate.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/cuda_worker_state.h"
#include "measure/cuda/device_peaks.h"
#include "measure/internal/cache_directory.h"
#include "measure/internal/serve_requests.h"

namespace kindred {
namespace {

using nlohmann::json;

json ToJson(const DeviceFacts& f) {
  return {{"index", f.index},
          {"name", f.name},
          {"uuid", f.uuid},
          {"arch", f.arch},
          {"driver", f.driver},
          {"driver_release", f.release},
          {"memory_bytes", f.memory_bytes},
          {"l2_bytes", f.l2_bytes},
          {"sms", f.sms},
          {"clock_ghz", f.clock_ghz},
          {"shared_bytes_per_block", f.shared_bytes_per_block},
          {"shared_bytes_per_sm", f.shared_bytes_per_sm},
          {"registers_per_sm", f.registers_per_sm},
          {"warp", f.warp},
          {"threads_per_block", f.threads_per_block},
          {"threads_per_sm", f.threads_per_sm},
          {"blocks_per_sm", f.blocks_per_sm},
          {"timer", f.timer},
          {"timer_reason", f.timer_reason}};
}

Answer More(const json& value) {
  Answer answer;
  answer.more = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return answer;
}

Answer Peaks(Device& device, const std::string& cubin) {
  std::ifstream file(cubin, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(file), {});
  const auto peaks = MeasurePeaks(device, image);
  if (!peaks) return FailedAnswer(peaks.error());
  return More({{"copy_gbps", peaks->copy_gbps},
               {"f32_gflops", peaks->f32_gflops},
               {"f64_gflops", peaks->f64_gflops},
               {"f16_gflops", peaks->f16_gflops},
               {"i8_gops", peaks->i8_gops}});
}

Answer Replayed(CudaWorkerState& state, const SequenceRequest& request) {
  const auto times = state.sequence().Run(request);
  if (!times) return FailedAnswer(times.error());
  return More({{"graph_ns", times->graph_ns},
               {"launched_ns", times->launched_ns},
               {"kernels_ns", times->kernels_ns},
               {"timer_reason", state.device().facts().timer_reason}});
}

Answer Serve(std::optional<CudaWorkerState>& state, const json& request) {
  const std::string what = request.at("do");
  if (what == "list") {
    const auto all = Device::List();
    if (!all) return FailedAnswer(all.error());
    json list = json::array();
    for (const DeviceFacts& facts : *all) list.push_back(ToJson(facts));
    return More(list);
  }
  if (what == "device") {
    auto device = Device::Take(request.at("index"), request.value("trace", true));
    if (!device) return FailedAnswer(device.error());
    state.emplace(std::move(*device));
    return More(ToJson(state->device().facts()));
  }
  if (!state) return FailedAnswer(Internal("a CUDA worker was asked before it had a device"));
  if (what == "peaks") return Peaks(state->device(), request.at("cubin"));
  if (what == "open") return AnswerOf(state->Open(OpenRequestFrom(request)));
  if (what == "load_reference") return AnswerOf(state->LoadReference(request.at("file")));
  if (what == "open_buffers") return AnswerOf(state->OpenBuffers(OpenBuffersRequestFrom(request)));
  if (what == "take_reference") return state->TakeReference(TakeReferenceRequestFrom(request));
  if (what == "sequence_part") return AnswerOf(state->sequence().Add(SequencePartFrom(request)));
  if (what == "sequence") return Replayed(*state, SequenceRequestFrom(request));
  if (what == "profile") {
    const auto counted = state->Profile(ProfileRequestFrom(request));
    return counted ? More(json(*counted)) : FailedAnswer(counted.error());
  }
  if (what != "candidate")
    return FailedAnswer(Internal("the CUDA worker knows no request '" + what + "'"));
  Result<Answer> answer = state->Measure(CandidateRequestFrom(request));
  return answer ? std::move(*answer) : FailedAnswer(answer.error());
}

}  // namespace

int RunCudaWorker() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // Should memory run out, this process goes, not the one that started it. Refusal does no harm.
  (void)WriteFile("/proc/self/oom_score_adj", "1000").has_value();

  // Never destroyed: the driver tidies up after the process, and a dead context bears no calls.
  auto& state = *new std::optional<CudaWorkerState>;
  return ServeRequests([&state](const json& request) { return Serve(state, request); });
}

}  // namespace kindred
