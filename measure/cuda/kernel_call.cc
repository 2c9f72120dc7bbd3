#include "measure/cuda/kernel_call.h"

#include <nlohmann/json.hpp>

namespace kindred {

KernelCall CallOf(const KernelSource& source, const BuiltKernel& built,
                  std::span<const std::int64_t> extents) {
  KernelCall call;
  call.library = built.library;
  call.arguments = source.arguments;
  call.workspace_bytes = source.workspace_bytes;
  for (std::size_t i = 0; i < source.steps.size(); ++i) {
    const KernelStep& step = source.steps[i];
    call.launches.push_back({i < built.lowered.size() ? built.lowered[i] : step.entry,
                             GridOf(step, extents), step.block, step.shared_bytes,
                             step.parameters});
  }
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
