#include "tuner/targets.h"

#include <cstdlib>

#include <filesystem>

#include <fmt/format.h>

#include "measure/cuda/cuda_kernel_runner.h"
#include "measure/cuda/cuda_runner.h"
#include "schedules/cuda_targets.h"

namespace kindred {
namespace {

constexpr const char* kProgram = "/proc/self/exe";
constexpr const char* kLibraries = "KINDRED_CUDA_LIBRARIES";

// From here on, and for child processes, the driver and the compiler are the emulation's, which lie
// beside the program.
Result<void> UseEmulation() {
  std::error_code code;
  const std::filesystem::path program = std::filesystem::read_symlink(kProgram, code);
  const std::filesystem::path folder = program.parent_path() / "lib" / "cuda_emulated";
  if (!std::filesystem::is_directory(folder, code))
    return BadInput(fmt::format("target '{}': there is no emulation beside the program ({})",
                                kEmulatedTarget, folder.string()));
  setenv(kLibraries, folder.c_str(), 1);
  return {};
}

Result<Target> ResolveCuda(const std::string& name, const std::string& cache, bool anew) {
  auto target = ProbeCudaTarget(name, cache, kProgram, anew);
  if (!target && target.error().kind == ErrorKind::kEnvironment)
    return BadInput(fmt::format("target '{}': {}", name, target.error().message));
  if (target) CompleteCudaTarget(*target);
  return target;
}

Error WithoutADevice(const Target& target) {
  return BadInput(fmt::format(
      "target '{}' is the description of a device, not a device: it serves device, query, predict "
      "and serve, but nothing can be measured on it; --target cuda:0 is a GPU of this machine",
      target.id));
}

CpuRunnerOptions CpuOptions(const RunnerSettings& settings) {
  CpuRunnerOptions options;
  options.cache_directory = settings.cache;
  options.worker_program = kProgram;
  options.limits = settings.limits;
  options.build_jobs = settings.builders;
  return options;
}

CudaRunnerOptions CudaOptions(const RunnerSettings& settings) {
  CudaRunnerOptions options;
  options.cache_directory = settings.cache;
  options.program = kProgram;
  options.limits = settings.limits;
  options.build_jobs = settings.builders;
  return options;
}

}  // namespace

std::string TargetNames() {
  return fmt::format(
      "cpu, cpu:threads=N; cuda:N or cuda:all (GPUs of this machine), cuda-emulated (checks kernels "
      "without a GPU); or the description of a GPU, for building and predicting without it ({})",
      KnownCudaTargets());
}

Result<Target> ResolveTarget(const std::string& name, const std::string& cache, bool anew) {
  if (name == "cpu" || name.starts_with("cpu:")) return ProbeCpuTarget(name, cache, anew);
  if (name.starts_with("cuda:")) return ResolveCuda(name, cache, anew);
  if (name == kEmulatedTarget) {
    KINDRED_CHECK(UseEmulation());
    KINDRED_TRY(Target target, ResolveCuda("cuda:0", cache, anew));
    target.id = kEmulatedTarget;
    return target;
  }
  if (auto named = NamedCudaTarget(name)) return std::move(*named);
  return BadInput(fmt::format("unknown target '{}'; there are {}", name, TargetNames()));
}

Result<void> CheckTimed(const Target& target) {
  if (NamedCudaTarget(target.id)) return WithoutADevice(target);
  if (target.id == kEmulatedTarget)
    return BadInput(fmt::format("target '{}' checks kernels and reports no times", target.id));
  return {};
}

Result<std::unique_ptr<Runner>> MakeRunner(const Target& target, const RunnerSettings& settings) {
  if (NamedCudaTarget(target.id)) return WithoutADevice(target);
  if (target.kind == DeviceKind::kCpu) return MakeCpuRunner(target, CpuOptions(settings));
  Target device = target;
  if (device.id == kEmulatedTarget) device.id = "cuda:0";
  return MakeCudaRunner(device, CudaOptions(settings));
}

Result<std::unique_ptr<KernelRunner>> MakeKernelRunner(const Target& target, KernelTask task,
                                                       const RunnerSettings& settings) {
  KINDRED_CHECK(CheckTimed(target));
  if (target.kind == DeviceKind::kCpu)
    return MakeKernelRunner(target, std::move(task), CpuOptions(settings));
  return MakeCudaKernelRunner(target, std::move(task), CudaOptions(settings));
}

Result<CudaRunnerOptions> CudaDeviceOptions(const Target& target, const RunnerSettings& settings) {
  KINDRED_CHECK(CheckTimed(target));
  if (target.kind != DeviceKind::kCuda)
    return BadInput(fmt::format(
        "target '{}' is no CUDA device, and this needs one: say --target cuda:0", target.id));
  return CudaOptions(settings);
}

Result<std::unique_ptr<CudaProfiler>> MakeProfiler(const Target& target,
                                                   const RunnerSettings& settings) {
  KINDRED_TRY(const CudaRunnerOptions options, CudaDeviceOptions(target, settings));
  return CudaProfiler::Make(target, options);
}

}  // namespace kindred
