// NVRTC: CUDA C++ to a cubin for one architecture, without a GPU and without a toolkit's headers.
// The library is opened at run time (dynamic_library.h); its few functions are declared here.
//
// A compilation cannot be ended from outside: nvrtc_process.h runs them in processes. Thread
// safety: none.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/dynamic_library.h"
#include "schedules/base/result.h"

namespace kindred {

struct NvrtcResult {
  bool ok = false;
  std::string log;                   // of the compiler and of ptxas
  std::string cubin;                 // if ok
  std::vector<std::string> lowered;  // if ok: symbols of the names
};

class Nvrtc {
 public:
  // Error (kEnvironment): it is not installed, or too old (before 11.2).
  static Result<std::unique_ptr<Nvrtc>> Load();

  const std::string& version() const { return version_; }  // "13.0"
  const std::string& path() const { return library_->path(); }
  const std::vector<int>& architectures() const { return architectures_; }  // 80, 90, ...

  // `options` are complete; `names` are kernels' C++ names, "gemm<float, 64>", which are
  // instantiated. Error (kInternal): NVRTC refuses to begin.
  Result<NvrtcResult> Compile(const std::string& code, std::span<const std::string> options,
                              std::span<const std::string> names = {}) const;

 private:
  struct Functions;
  Nvrtc() = default;

  std::unique_ptr<DynamicLibrary> library_;
  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::vector<int> architectures_;
};

}  // namespace kindred
