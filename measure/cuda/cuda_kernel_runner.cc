#include "measure/cuda/cuda_kernel_runner.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "measure/cuda/nvrtc_builder.h"
#include "measure/internal/buffer_protocol.h"
#include "measure/internal/kernel_worker.h"

namespace kindred {
namespace {

KernelCall CallOf(const BuiltKernel& built, const KernelSource& source) {
  KernelCall call;
  call.library = built.library;
  call.arguments = source.arguments;
  call.workspace_bytes = source.workspace_bytes;
  for (std::size_t i = 0; i < source.steps.size(); ++i) {
    const KernelStep& step = source.steps[i];
    call.launches.push_back({i < built.lowered.size() ? built.lowered[i] : step.entry,
                             GridOf(step, {}), step.block, step.shared_bytes, step.parameters});
  }
  return call;
}

}  // namespace

Result<std::unique_ptr<KernelRunner>> MakeCudaKernelRunner(const Target& target, KernelTask task,
                                                           const CudaRunnerOptions& options) {
  KINDRED_TRY(const std::vector<int> devices, CudaDevicesOf(target.id, options.program));
  if (devices.size() != 1)
    return BadInput(target.id +
                    " are several devices; a kernel is tuned on one: say --target cuda:" +
                    std::to_string(devices.front()));
  KINDRED_CHECK(CheckBufferFiles(task));
  NvrtcBuilderOptions build;
  build.cache_directory = options.cache_directory + "/cubin";
  build.architecture = target.gpu.arch;
  build.program = options.program;
  build.jobs = options.build_jobs;
  build.timeout_s = options.limits.build_timeout_s;
  KINDRED_TRY(std::shared_ptr<NvrtcBuilder> builder, NvrtcBuilder::Make(std::move(build)));
  OpenBuffersRequest open;
  open.buffers = std::move(task.buffers);
  open.seed = task.seed;
  const nlohmann::json take = {{"do", "device"}, {"index", devices.front()}};

  KernelDevice device;
  device.program = options.program;
  device.role = "cuda-worker";
  device.opening = {take.dump() + "\n", ToJson(open).dump() + "\n"};
  device.save_to = task.save_to;
  device.limits = options.limits;
  device.cold = options.cold;
  device.build = [builder](std::span<const KernelSource> sources,
                           const std::function<bool()>& stop) {
    return builder->Build(sources, stop);
  };
  device.call = CallOf;
  device.compiler = [builder](const KernelSource&) -> Result<std::string> {
    return builder->compiler();
  };
  auto runner = std::make_unique<WorkerKernelRunner>(std::move(device));
  KINDRED_CHECK(runner->Start());
  return std::unique_ptr<KernelRunner>(std::move(runner));
}

}  // namespace kindred
