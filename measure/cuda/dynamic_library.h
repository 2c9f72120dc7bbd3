// Shared libraries of NVIDIA that are opened at run time: the program starts without them.
//
// A library is searched for in the folders of $KINDRED_CUDA_LIBRARIES (separated by colons) where
// that is set, and nowhere else then; otherwise
//   1. where the loader looks by itself ($LD_LIBRARY_PATH, the program's RPATH, the system)
//   2. in a toolkit: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, in lib64 and lib
//   3. in PyPI's wheels (nvidia-cuda-nvrtc, -cupti, ...): below the site-packages of $VIRTUAL_ENV,
//      of cuda-venv beside the program or up to two folders above it (scripts/setup makes
//      build/cuda-venv), of ~/.local and of the system's Python
// A toolkit's stubs are never opened. A library that was opened stays: NVIDIA's do not bear to be
// closed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

class DynamicLibrary {
 public:
  // The first of `names` (sonames, best first) in the first folder that has one of them. Error
  // (kEnvironment): none can be opened; one line, with what the last attempt said where there was
  // one. `what` and `wheel` are for that message: "NVRTC", "nvidia-cuda-nvrtc".
  static Result<std::unique_ptr<DynamicLibrary>> Open(std::span<const std::string> names,
                                                      const std::string& what,
                                                      const std::string& wheel);
  const std::string& path() const { return path_; }  // of the file

  // nullptr: it has no such function.
  template <typename Function>
  Function* Find(const char* symbol) const {
    return reinterpret_cast<Function*>(FindAddress(symbol));
  }

 private:
  DynamicLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* FindAddress(const char* symbol) const;

  void* handle_;
  std::string path_;
};

// The folders that are searched beside the loader's own and that exist, in order.
std::vector<std::string> CudaLibraryFolders();

}  // namespace kindred
