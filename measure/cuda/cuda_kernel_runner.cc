#include "measure/cuda/cuda_kernel_runner.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "measure/cuda/kernel_call.h"
#include "measure/internal/buffer_protocol.h"
#include "measure/internal/kernel_worker.h"

namespace kindred {

Result<std::unique_ptr<KernelRunner>> MakeCudaKernelRunner(const Target& target, KernelTask task,
                                                           const CudaRunnerOptions& options) {
  KINDRED_TRY(const std::vector<int> devices, CudaDevicesOf(target.id, options.program));
  if (devices.size() != 1)
    return BadInput(target.id +
                    " are several devices; a kernel is tuned on one: say --target cuda:" +
                    std::to_string(devices.front()));
  KINDRED_CHECK(CheckBufferFiles(task));
  KINDRED_TRY(std::shared_ptr<NvrtcBuilder> builder,
              NvrtcBuilder::Make(NvrtcOptions(target, options)));
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
  device.call = [](const BuiltKernel& built, const KernelSource& source) {
    return CallOf(source, built, {});
  };
  device.compiler = [builder](const KernelSource&) -> Result<std::string> {
    return builder->compiler();
  };
  device.driver = DriverOf;
  auto runner = std::make_unique<WorkerKernelRunner>(std::move(device));
  KINDRED_CHECK(runner->Start());
  return std::unique_ptr<KernelRunner>(std::move(runner));
}

}  // namespace kindred
