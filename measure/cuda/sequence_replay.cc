#include "measure/cuda/sequence_replay.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "measure/cuda/device_buffer.h"
#include "measure/cuda/host_clock.h"
#include "measure/cuda/launch_group.h"
#include "measure/internal/workload_data.h"

namespace kindred {
namespace {

constexpr int kCaptureThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr int kTracedRuns = 5;

}  // namespace

struct SequenceReplay::Part {
  std::map<int, DeviceBuffer> buffers;  // by tensor id
  DeviceBuffer workspace;
  LoadedKernels kernels;
};

struct SequenceReplay::Graph {
  const DriverApi& api;
  void *graph = nullptr, *executable = nullptr;
  ~Graph() {
    if (executable != nullptr) api.graph_executable_destroy(executable);
    if (graph != nullptr) api.graph_destroy(graph);
  }
};

SequenceReplay::SequenceReplay(Device& device) : device_(device) {}
SequenceReplay::~SequenceReplay() = default;

Result<void> SequenceReplay::Check(CudaResult code, const char* doing) const {
  if (code == 0) return {};
  return Environment(device_.api().Text(code) + " " + doing);
}

Result<void> SequenceReplay::Add(const SequencePart& part) {
  auto made = std::make_unique<Part>();
  KINDRED_TRY(const WorkloadData data, OpenWorkload(part.open));
  const auto take = [&](int tensor, const GuardedBuffer& host, bool written) -> Result<void> {
    DeviceBuffer& buffer = made->buffers[tensor];
    CudaResult code =
        DeviceBuffer::Make(device_.api(), device_.stream(), host.name(), host.bytes(), &buffer);
    if (code == 0) code = written ? buffer.Fill(0) : buffer.Write(host.span());
    return Check(code, "for a buffer of a sequence");
  };
  for (const auto& [tensor, host] : data.inputs) KINDRED_CHECK(take(tensor, host, false));
  for (const auto& [tensor, host] : data.outputs) KINDRED_CHECK(take(tensor, host, true));
  if (part.call.workspace_bytes > 0)
    KINDRED_CHECK(Check(DeviceBuffer::Make(device_.api(), device_.stream(), "the workspace",
                                           part.call.workspace_bytes, &made->workspace),
                        "for a workspace of a sequence"));
  std::vector<CudaPointer> arguments;
  for (const KernelArgument& argument : part.call.arguments) {
    const auto found = made->buffers.find(argument.tensor);
    if (found == made->buffers.end())
      return Internal("argument " + argument.name + " of a kernel is no tensor of its workload");
    arguments.push_back(found->second.data());
  }
  std::ifstream file(part.call.library, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(file), {});
  if (image.empty()) return Internal("there is no cubin " + part.call.library);
  KINDRED_CHECK(Check(made->kernels.Load(device_, image, part.call.launches, arguments,
                                         made->workspace.data(), data.extents),
                      "when a kernel was loaded"));
  parts_.push_back(std::move(made));
  return {};
}

CudaResult SequenceReplay::LaunchAll(const std::vector<int>& order) const {
  for (const int index : order)
    if (const CudaResult code = parts_[static_cast<std::size_t>(index)]->kernels.Launch();
        code != 0)
      return code;
  return 0;
}

CudaResult SequenceReplay::Waited(CudaResult code) const {
  return code == 0 ? device_.api().stream_synchronize(device_.stream()) : code;
}

// Each run is a sample. Runs are queued behind a fill of memory, so that the first has no gap.
Result<std::vector<double>> SequenceReplay::Timed(const MeasureLimits& limits,
                                                  const std::function<CudaResult()>& run) {
  CudaResult code = 0;
  TimedDevice timed = OnHostClock(device_);
  timed.run_group = [&](int runs) -> std::optional<std::vector<double>> {
    std::vector<double> times;
    code = device_.Flush(1);
    for (int i = 0; i < runs && code == 0; ++i) {
      code = device_.Record(2 * static_cast<std::size_t>(i));
      if (code == 0) code = run();
      if (code == 0) code = device_.Record(2 * static_cast<std::size_t>(i) + 1);
    }
    code = Waited(code);
    for (int i = 0; i < runs && code == 0; ++i)
      code = device_.Between(2 * static_cast<std::size_t>(i), 2 * static_cast<std::size_t>(i) + 1,
                             &times.emplace_back());
    if (code != 0) return std::nullopt;
    return times;
  };
  TimingRequest request;
  request.limits = limits;
  request.limits.minimum_sample_ns = 0;
  request.never_abandon = true;
  const DeviceTiming timing = TakeDeviceSamples(request, timed);
  KINDRED_CHECK(Check(code, "in a repeated run of a sequence"));
  return timing.samples;
}

Result<double> SequenceReplay::Traced(std::size_t kernels, const std::function<CudaResult()>& run) {
  std::vector<double> busy_ns;
  KINDRED_CHECK(device_.cupti()->Take());
  for (int i = 0; i < kTracedRuns; ++i) {
    KINDRED_CHECK(Check(Waited(run()), "in a traced run of a sequence"));
    KINDRED_TRY(const auto records, device_.cupti()->Take());
    if (records.size() != kernels)
      return Environment("CUPTI gave " + std::to_string(records.size()) + " records of " +
                         std::to_string(kernels) + " kernels of a graph");
    double busy = 0;
    for (const KernelTimes& kernel : records)
      busy += static_cast<double>(kernel.end_ns - kernel.start_ns);
    busy_ns.push_back(busy);
  }
  return Median(std::move(busy_ns));
}

Result<SequenceTiming> SequenceReplay::Run(const SequenceRequest& request) {
  const DriverApi& api = device_.api();
  std::size_t kernels = 0;
  for (const int index : request.order) {
    if (index < 0 || static_cast<std::size_t>(index) >= parts_.size())
      return Internal("a sequence names a part that it does not have");
    kernels +=
        static_cast<std::size_t>(parts_[static_cast<std::size_t>(index)]->kernels.launches());
  }
  const auto launch_all = [&] { return LaunchAll(request.order); };
  // Outside of a capture first: what a kernel does wrong shows here.
  KINDRED_CHECK(Check(Waited(launch_all()), "in the first run of a sequence"));

  Graph graph{api};
  KINDRED_CHECK(Check(api.capture_begin(device_.stream(), kCaptureThreadLocal),
                      "when a graph was to be captured"));
  const CudaResult launched = launch_all();
  const CudaResult captured = api.capture_end(device_.stream(), &graph.graph);
  KINDRED_CHECK(Check(launched != 0 ? launched : captured, "when a graph was captured"));
  KINDRED_CHECK(Check(api.graph_instantiate(&graph.executable, graph.graph, 0),
                      "when a graph was instantiated"));
  const auto replay = [&] { return api.graph_launch(graph.executable, device_.stream()); };

  SequenceTiming timing;
  if (device_.cupti() != nullptr) {
    KINDRED_TRY(timing.kernels_ns, Traced(kernels, replay));
    return timing;
  }
  KINDRED_TRY(timing.graph_ns, Timed(request.limits, replay));
  KINDRED_TRY(timing.launched_ns, Timed(request.limits, launch_all));
  return timing;
}

}  // namespace kindred
