#include "tuner/targets.h"

#include <fmt/format.h>

#include "schedules/cuda_targets.h"

namespace kindred {

std::string TargetNames() {
  return fmt::format(
      "cpu, cpu:threads=N, or the description of a GPU for building and predicting without it ({})",
      KnownCudaTargets());
}

Result<Target> ResolveTarget(const std::string& name, const std::string& cache, bool anew) {
  if (name == "cpu" || name.starts_with("cpu:")) return ProbeCpuTarget(name, cache, anew);
  if (auto named = NamedCudaTarget(name)) return std::move(*named);
  return BadInput(fmt::format("unknown target '{}'; there are {}", name, TargetNames()));
}

Result<void> CheckMeasurable(const Target& target) {
  if (!NamedCudaTarget(target.id)) return {};
  return BadInput(fmt::format(
      "target '{}' is the description of a device, not a device: it serves device, query, predict "
      "and serve, but nothing can be measured on it",
      target.id));
}

Result<std::unique_ptr<Runner>> MakeRunner(const Target& target, const std::string& cache,
                                           const MeasureLimits& limits) {
  KINDRED_CHECK(CheckMeasurable(target));
  CpuRunnerOptions options;
  options.cache_directory = cache;
  options.worker_program = "/proc/self/exe";
  options.limits = limits;
  return MakeCpuRunner(target, std::move(options));
}

}  // namespace kindred
