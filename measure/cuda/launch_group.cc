#include "measure/cuda/launch_group.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace kindred {
namespace {

constexpr int kMaxDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr std::int64_t kSharedWithoutAsking = 48 << 10;
constexpr CudaResult kInvalidValue = 1;

// What a launch costs the host, and how fast a device writes: generous both, for how long it has to
// be kept busy while a group is queued.
constexpr double kLaunch_us = 6;
constexpr double kFillBytesPer_us = 4e6;
constexpr int kMostHeadStarts = 64;
constexpr int kLaunchesBehindAFlush = 4;

int HeadStarts(const Device& device, int steps, int runs, bool cold) {
  const int uncovered =
      cold ? 1 + runs * std::max(0, steps - kLaunchesBehindAFlush) : (runs + 1) * steps;
  const double fill_us = static_cast<double>(device.flush_bytes()) / kFillBytesPer_us;
  return static_cast<int>(
      std::clamp(std::ceil(uncovered * kLaunch_us / fill_us), 1.0, double{kMostHeadStarts}));
}

// With events around each run, or without.
CudaResult Queue(Device& device, const LoadedKernels& kernels, int runs, bool cold, bool events) {
  CudaResult code = device.Flush(HeadStarts(device, kernels.launches(), runs, cold));
  if (code == 0 && !cold) code = kernels.Launch();
  for (int run = 0; run < runs && code == 0; ++run) {
    const auto pair = 2 * static_cast<std::size_t>(run);
    if (cold) code = device.Flush(1);
    if (code == 0 && events) code = device.Record(pair);
    if (code == 0) code = kernels.Launch();
    if (code == 0 && events) code = device.Record(pair + 1);
  }
  if (code == 0) code = device.api().stream_synchronize(device.stream());
  return code;
}

// The runs' times from the records of a group; empty: they are not those of the group.
std::vector<double> RunTimes(const std::vector<KernelTimes>& records, int runs, int launches,
                             bool cold) {
  const auto per_run = static_cast<std::size_t>(launches);
  const std::size_t uncounted = cold ? 0 : per_run;
  std::vector<double> times;
  if (records.size() != uncounted + per_run * static_cast<std::size_t>(runs)) return times;
  for (std::size_t at = uncounted; at < records.size(); at += per_run) {
    const KernelTimes &first = records[at], &last = records[at + per_run - 1];
    if (first.start_ns == 0 || last.end_ns <= first.start_ns) return {};
    times.push_back(static_cast<double>(last.end_ns - first.start_ns));
  }
  return times;
}

}  // namespace

LoadedKernels::~LoadedKernels() {
  if (module_ != nullptr) device_->api().module_unload(module_);
}

CudaResult LoadedKernels::Load(const Device& device, const std::string& image,
                               std::span<const KernelLaunch> launches,
                               std::span<const CudaPointer> arguments, CudaPointer workspace,
                               std::span<const std::int64_t> extents) {
  using Kind = KernelStep::Parameter::Kind;
  device_ = &device;
  const DriverApi& api = device.api();
  if (const CudaResult code = api.module_load(&module_, image.c_str()); code != 0) return code;
  for (const KernelLaunch& launch : launches) {
    Prepared& prepared = launches_.emplace_back();
    prepared.launch = launch;
    for (const std::int64_t blocks : launch.grid)
      if (blocks <= 0 || blocks > std::numeric_limits<int>::max()) return kInvalidValue;
    CudaResult code = api.module_function(&prepared.function, module_, launch.entry.c_str());
    if (code == 0 && launch.shared_bytes > kSharedWithoutAsking)
      code = api.function_set(prepared.function, kMaxDynamicSharedBytes,
                              static_cast<int>(launch.shared_bytes));
    if (code != 0) return code;
    for (const KernelStep::Parameter& parameter : launch.parameters) {
      const auto at = static_cast<std::size_t>(parameter.value);
      if (parameter.kind == Kind::kArgument)
        prepared.values.push_back(arguments[at]);
      else if (parameter.kind == Kind::kWorkspace)
        prepared.values.push_back(workspace + at);
      else if (parameter.kind == Kind::kConstant)
        prepared.values.push_back(static_cast<std::uint64_t>(parameter.value));
      else
        prepared.values.push_back(static_cast<std::uint64_t>(extents[at]));
    }
  }
  return 0;
}

CudaResult LoadedKernels::FillConstant(const std::string& name,
                                       std::span<const std::byte> bytes) const {
  CudaPointer to = 0;
  std::size_t size = 0;
  const CudaResult code = device_->api().module_global(&to, &size, module_, name.c_str());
  if (code != 0) return code;
  if (size != bytes.size()) return kInvalidValue;
  return device_->api().copy_to_device(to, bytes.data(), bytes.size());
}

CudaResult LoadedKernels::Launch() const {
  for (const Prepared& p : launches_) {
    std::vector<void*> parameters;
    for (const std::uint64_t& value : p.values)
      parameters.push_back(const_cast<std::uint64_t*>(&value));
    const auto grid = [&p](std::size_t i) { return static_cast<unsigned>(p.launch.grid[i]); };
    const auto block = [&p](std::size_t i) { return static_cast<unsigned>(p.launch.block[i]); };
    const CudaResult code =
        device_->api().launch(p.function, grid(0), grid(1), grid(2), block(0), block(1), block(2),
                              static_cast<unsigned>(p.launch.shared_bytes), device_->stream(),
                              parameters.data(), nullptr);
    if (code != 0) return code;
  }
  return 0;
}

GroupTimes RunGroup(Device& device, const LoadedKernels& kernels, int runs, bool cold) {
  GroupTimes times;
  if (device.cupti() != nullptr) {
    // Records of what was launched before do not belong to this group.
    const auto earlier = device.cupti()->Take();
    if (earlier) times.code = Queue(device, kernels, runs, cold, false);
    if (times.code != 0) return times;
    const auto records = earlier ? device.cupti()->Take() : earlier;
    if (records) times.run_ns = RunTimes(*records, runs, kernels.launches(), cold);
    if (!times.run_ns.empty()) return times;
    device.StopCupti(!records
                         ? records.error().message
                         : "CUPTI gave " + std::to_string(records->size()) + " usable records of " +
                               std::to_string((runs + (cold ? 0 : 1)) * kernels.launches()));
  }
  times.code = Queue(device, kernels, runs, cold, true);
  for (int run = 0; run < runs && times.code == 0; ++run) {
    const auto pair = 2 * static_cast<std::size_t>(run);
    times.code = device.Between(pair, pair + 1, &times.run_ns.emplace_back());
  }
  return times;
}

}  // namespace kindred
