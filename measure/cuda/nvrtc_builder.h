// NvrtcBuilder: CUDA sources in, cubins for one architecture out. The counterpart of
// measure/builder.h, and as that one: content-addressed (key: source, architecture, options,
// version of NVRTC), several processes may share a cache directory, files appear whole or not at
// all.
//
// `jobs` child processes each load NVRTC once and compile kernel after kernel; one that passes its
// deadline is killed and replaced. Works without a GPU. Thread safety: none. Times in seconds,
// sizes in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/builder.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"

namespace kindred {

struct NvrtcBuilderOptions {
  std::string cache_directory;  // made if absent
  std::string architecture;     // "sm_90a": GpuLimits::arch
  std::string program;          // executable that serves `nvrtc` (RunNvrtcProcess)
  int jobs = 2;
  double timeout_s = 30;  // of one source
  std::int64_t cache_limit_bytes = 512ll << 20;
};

class NvrtcBuilder {
 public:
  // Error: (kEnvironment) the directory cannot be made or written, NVRTC is not installed;
  // (kUnsupported) it does not know the architecture.
  static Result<std::unique_ptr<NvrtcBuilder>> Make(NvrtcBuilderOptions options);
  ~NvrtcBuilder();

  // One result per source, in order; once `stop`, polled before each source, is true, the result is
  // shorter: it ends before the first source that was not reached. `library` is the path of the
  // cubin, which holds the entries of all steps under their own names; facts.shared_bytes is the
  // largest static and dynamic shared memory of a step. Error (kEnvironment): as Builder::Build.
  // `on_built` is called for each source as soon as it is built, from threads of the builder's, by
  // one at a time.
  using OnBuilt = std::function<void(std::size_t index, const BuiltKernel& built)>;
  Result<std::vector<BuiltKernel>> Build(std::span<const KernelSource> sources,
                                         const std::function<bool()>& stop = {},
                                         const OnBuilt& on_built = {});

  const std::string& compiler() const;  // "NVRTC 13.0"
  BuilderCounters counters() const;     // compiler_runs: compilations begun

 private:
  struct State;
  explicit NvrtcBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kindred
