#include "measure/cuda/cuda_sequence.h"

#include <nlohmann/json.hpp>

#include "measure/cuda/kernel_call.h"
#include "measure/internal/worker_requests.h"
#include "measure/internal/workload_data.h"
#include "measure/timing.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

constexpr double kTimeout_s = 120;

// A worker of its own; the answer to the whole sequence.
Result<std::string> Ask(const CudaRunnerOptions& options, int device, bool trace,
                        const std::vector<SequencePart>& parts, const std::vector<int>& order,
                        std::string* driver) {
  KINDRED_TRY(WorkerProcess worker, WorkerProcess::Start(options.program, "cuda-worker"));
  const auto ask = [&](const nlohmann::json& request) {
    return Must(worker, request.dump() + "\n", kTimeout_s, "no sequence was replayed");
  };
  KINDRED_TRY(const std::string facts,
              ask({{"do", "device"}, {"index", device}, {"trace", trace}}));
  *driver = DriverOf(facts);
  for (const SequencePart& part : parts) KINDRED_CHECK(ask(ToJson(part)));
  return ask(ToJson(SequenceRequest{order, options.limits}));
}

}  // namespace

Result<SequenceTimes> ReplaySequence(const Target& target, const CudaRunnerOptions& options,
                                     const std::vector<SequencedKernel>& kernels,
                                     const std::vector<int>& order, std::uint64_t seed) {
  KINDRED_TRY(const std::vector<int> devices, CudaDevicesOf(target.id, options.program));
  KINDRED_TRY(const auto builder, NvrtcBuilder::Make(NvrtcOptions(target, options)));
  std::vector<KernelSource> sources;
  for (const SequencedKernel& one : kernels) sources.push_back(one.kernel);
  KINDRED_TRY(const auto built, builder->Build(sources));
  std::vector<SequencePart> parts;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (built[i].status != Status::kOk) return Internal(built[i].message);
    SequencePart& part = parts.emplace_back();
    part.open.workload = PrintWorkload(kernels[i].workload);
    part.open.seed = seed;
    part.call = CallOf(kernels[i].kernel, built[i], MeasuredExtents(kernels[i].workload));
  }
  SequenceTimes times;
  for (const int index : order)
    times.launches +=
        static_cast<std::int64_t>(kernels[static_cast<std::size_t>(index)].kernel.steps.size());
  KINDRED_TRY(const std::string timed_text,
              Ask(options, devices.front(), false, parts, order, &times.driver));
  const auto timed = nlohmann::json::parse(timed_text);
  times.graph_samples = timed.at("graph_ns").get<std::vector<double>>();
  times.graph_ns = Median(times.graph_samples);
  times.launched_ns = Median(timed.at("launched_ns").get<std::vector<double>>());
  const auto traced = Ask(options, devices.front(), true, parts, order, &times.driver);
  if (!traced) {
    times.untraced = traced.error().message;
    return times;
  }
  const auto alone = nlohmann::json::parse(*traced);
  times.kernels_ns = alone.at("kernels_ns");
  if (times.kernels_ns == 0) times.untraced = alone.at("timer_reason");
  return times;
}

}  // namespace kindred
