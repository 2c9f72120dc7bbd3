// What the driver says of devices, and what they reach: asked of a worker process.

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/device_peaks.h"
#include "measure/cuda/nvrtc_builder.h"
#include "measure/internal/cache_directory.h"
#include "measure/internal/worker_process.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr double kTimeout_s = 120;
constexpr std::string_view kPrefix = "cuda:";

// The answer's `more`. Error (kEnvironment): what the worker said, one line.
Result<std::string> Ask(WorkerProcess& worker, const json& request) {
  const WorkerProcess::Reply reply = worker.Ask(request.dump() + "\n", kTimeout_s);
  if (reply.end != WorkerProcess::End::kAnswered)
    return Environment("the CUDA worker process ended: " + reply.cause);
  if (reply.answer.failed) return Environment(reply.answer.outcome.message);
  return reply.answer.more;
}

Target TargetFrom(const std::string& id, const json& device) {
  Target t;
  t.id = id;
  t.kind = DeviceKind::kCuda;
  t.model = device.at("name");
  t.l2_bytes = device.at("l2_bytes");
  GpuLimits& g = t.gpu;
  g.arch = device.at("arch");
  g.sms = device.at("sms");
  g.shared_bytes_per_block = device.at("shared_bytes_per_block");
  g.shared_bytes_per_sm = device.at("shared_bytes_per_sm");
  g.registers_per_sm = device.at("registers_per_sm");
  g.warp = device.at("warp");
  g.threads_per_block = device.at("threads_per_block");
  g.threads_per_sm = device.at("threads_per_sm");
  g.blocks_per_sm = device.at("blocks_per_sm");
  g.clock_ghz = device.at("clock_ghz");
  return t;
}

void SetPeaks(const json& peaks, Target* t) {
  t->memory_gbps = peaks.at("copy_gbps");
  t->peak_f32_gflops = peaks.at("f32_gflops");
  t->peak_f64_gflops = peaks.at("f64_gflops");
  t->peak_i8_gops = peaks.at("i8_gops");
  t->gpu.peak_f16_gflops = peaks.at("f16_gflops");
}

}  // namespace

Result<std::vector<CudaDevice>> ListCudaDevices(const std::string& program) {
  KINDRED_TRY(WorkerProcess worker, WorkerProcess::Start(program, "cuda-worker"));
  KINDRED_TRY(const std::string list_text, Ask(worker, {{"do", "list"}}));
  const json list = json::parse(list_text);
  std::vector<CudaDevice> devices;
  for (const json& d : list)
    devices.push_back({d.at("index"), d.at("name"), d.at("uuid"), d.at("arch")});
  return devices;
}

Result<std::vector<int>> CudaDevicesOf(const std::string& id, const std::string& program) {
  std::set<int> named;
  const std::string_view list = std::string_view(id).substr(std::min(id.size(), kPrefix.size()));
  if (id == "cuda:all") {
    KINDRED_TRY(const auto devices, ListCudaDevices(program));
    for (const CudaDevice& device : devices) {
      if (device.name != devices.front().name)
        return Environment("cuda:all: " + device.name + " (cuda:" + std::to_string(device.index) +
                           ") is not of the kind of " + devices.front().name +
                           "; name devices of one kind, say cuda:0,1");
      named.insert(device.index);
    }
    return std::vector<int>(named.begin(), named.end());
  }
  const char* at = list.data();
  const char* const end = at + list.size();
  bool good = id.starts_with(kPrefix) && at != end;
  while (good && at != end) {
    int index = 0;
    const auto [stop, error] = std::from_chars(at, end, index);
    good = error == std::errc() && index >= 0 && (stop == end || (*stop == ',' && stop + 1 != end));
    if (good) named.insert(index);
    at = good && stop != end ? stop + 1 : end;
  }
  if (!good)
    return BadInput("'" + id + "' names no CUDA device: write cuda:0, cuda:0,1 or cuda:all");
  return std::vector<int>(named.begin(), named.end());
}

Result<Target> ProbeCudaTarget(const std::string& id, const std::string& cache_directory,
                               const std::string& program, bool anew) {
  KINDRED_TRY(const std::vector<int> indices, CudaDevicesOf(id, program));
  KINDRED_TRY(WorkerProcess worker, WorkerProcess::Start(program, "cuda-worker"));
  KINDRED_TRY(const std::string device_text,
              Ask(worker, {{"do", "device"}, {"index", indices.front()}}));
  const json device = json::parse(device_text);
  Target target = TargetFrom(id, device);
  if (indices.size() > 1) {
    KINDRED_TRY(const auto all, ListCudaDevices(program));
    for (const int index : indices)
      if (static_cast<std::size_t>(index) >= all.size() ||
          all[static_cast<std::size_t>(index)].name != target.model)
        return Environment(id + ": there is no cuda:" + std::to_string(index) + " of the kind of " +
                           target.model);
  }
  KINDRED_TRY(const CacheDirectory cache, CacheDirectory::Open(cache_directory + "/peaks"));
  const std::string name =
      device.at("uuid").get<std::string>() + "-" + device.at("driver").get<std::string>() + ".json";
  if (const auto kept = anew ? std::nullopt : cache.Read(name)) {
    const json peaks = json::parse(*kept, nullptr, false);
    if (peaks.is_object() && peaks.contains("f16_gflops")) {
      SetPeaks(peaks, &target);
      return target;
    }
  }
  NvrtcBuilderOptions build;
  build.cache_directory = cache_directory + "/cubin";
  build.architecture = target.gpu.arch;
  build.program = program;
  build.jobs = 1;
  KINDRED_TRY(auto builder, NvrtcBuilder::Make(std::move(build)));
  // A driver runs what a compiler of its own major version or an older one has made.
  const std::string driver = device.at("driver");
  const std::string compiler = builder->compiler().substr(builder->compiler().find(' ') + 1);
  if (std::atoi(compiler.c_str()) > std::atoi(driver.c_str()))
    return Environment("the driver is for CUDA " + driver + ", older than NVRTC " + compiler +
                       ": install a newer driver, or an NVRTC of its version");
  const KernelSource source = PeakSource();
  KINDRED_TRY(const auto built, builder->Build(std::span(&source, 1)));
  if (built.front().status != Status::kOk)
    return Internal("the kernels that measure peaks do not compile: " + built.front().message);
  KINDRED_TRY(const std::string peaks_text,
              Ask(worker, {{"do", "peaks"}, {"cubin", built.front().library}}));
  const json peaks = json::parse(peaks_text);
  SetPeaks(peaks, &target);
  KINDRED_CHECK(cache.Write(name, peaks.dump()));
  return target;
}

}  // namespace kindred
