#include "measure/cuda/kernel_call.h"

#include <nlohmann/json.hpp>

#include "measure/internal/workload_data.h"

namespace kindred {

KernelCall CallOf(const KernelSource& source, const std::string& cubin, const Workload& workload) {
  const std::vector<std::int64_t> extents = MeasuredExtents(workload);
  KernelCall call;
  call.library = cubin;
  call.arguments = source.arguments;
  call.workspace_bytes = source.workspace_bytes;
  for (const KernelStep& step : source.steps)
    call.launches.push_back(
        {step.entry, GridOf(step, extents), step.block, step.shared_bytes, step.parameters});
  return call;
}

std::string DriverOf(const std::string& device) {
  const auto facts = nlohmann::json::parse(device);
  const std::string release = facts.at("driver_release"), cuda = facts.at("driver");
  return release.empty() ? "CUDA " + cuda : release + " (CUDA " + cuda + ")";
}

NvrtcBuilderOptions NvrtcOptions(const Target& target, const CudaRunnerOptions& options) {
  NvrtcBuilderOptions build;
  build.cache_directory = options.cache_directory + "/cubin";
  build.architecture = target.gpu.arch;
  build.program = options.program;
  build.jobs = options.build_jobs;
  build.timeout_s = options.limits.build_timeout_s;
  return build;
}

}  // namespace kindred
