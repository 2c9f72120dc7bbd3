// Users' kernels on this machine's CPU.
#include "measure/kernel_runner.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "measure/internal/buffer_protocol.h"
#include "measure/internal/cpu_info.h"
#include "measure/internal/kernel_worker.h"

namespace kindred {

Result<std::unique_ptr<KernelRunner>> MakeKernelRunner(const Target& target, KernelTask task,
                                                       CpuRunnerOptions options) {
  KINDRED_CHECK(CheckBufferFiles(task));
  BuilderOptions build;
  build.cache_directory = options.cache_directory + "/build";
  build.jobs = options.build_jobs;
  build.timeout_s = options.limits.build_timeout_s;
  KINDRED_TRY(std::shared_ptr<Builder> builder, Builder::Make(std::move(build)));
  const std::vector<int> allowed = AllowedCpus();
  const auto count =
      std::min(allowed.size(), static_cast<std::size_t>(std::max(1, target.threads)));
  OpenBuffersRequest open;
  open.buffers = std::move(task.buffers);
  open.seed = task.seed;
  open.cpus.assign(allowed.end() - static_cast<std::ptrdiff_t>(count), allowed.end());

  KernelDevice device;
  device.program = options.worker_program;
  device.role = "worker";
  device.opening = {ToJson(open).dump() + "\n"};
  device.save_to = task.save_to;
  device.limits = options.limits;
  device.build = [builder](std::span<const KernelSource> sources,
                           const std::function<bool()>& stop) {
    return builder->Build(sources, stop);
  };
  device.call = [](const BuiltKernel& built, const KernelSource& source) {
    return KernelCall{built.library,          built.entry, built.prepare_entry, source.arguments,
                      source.workspace_bytes, {}};
  };
  device.compiler = [](const KernelSource& source) -> Result<std::string> {
    KINDRED_TRY(const CompilerInfo compiler, FindCompiler(source.compiler));
    return compiler.version;
  };
  return std::unique_ptr<KernelRunner>(new WorkerKernelRunner(std::move(device)));
}

}  // namespace kindred
