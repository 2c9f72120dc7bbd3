#include "measure/cuda/nvrtc.h"

#include <cstddef>

namespace kindred {

// From the reference manual of NVRTC; every function returns 0 for success.
struct Nvrtc::Functions {
  using Program = void*;
  int (*version)(int* major, int* minor);
  const char* (*error_text)(int code);
  int (*architecture_count)(int* count);
  int (*architectures)(int* architectures);
  int (*create)(Program* program, const char* code, const char* name, int headers,
                const char* const* header_texts, const char* const* header_names);
  int (*destroy)(Program* program);
  int (*compile)(Program program, int count, const char* const* options);
  int (*log_size)(Program program, std::size_t* bytes);
  int (*log)(Program program, char* text);
  int (*cubin_size)(Program program, std::size_t* bytes);
  int (*cubin)(Program program, char* bytes);
  int (*add_name)(Program program, const char* name);
  int (*lowered_name)(Program program, const char* name, const char** lowered);
};

Result<std::unique_ptr<Nvrtc>> Nvrtc::Load() {
  const std::string names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                               "libnvrtc.so"};
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  KINDRED_TRY(nvrtc->library_, DynamicLibrary::Open(names, "NVRTC", "nvidia-cuda-nvrtc"));
  Functions f = {};
  const char* absent = nullptr;
  const auto find = [&]<typename R, typename... A>(R (*&function)(A...), const char* name) {
    function = nvrtc->library_->Find<R(A...)>(name);
    if (function == nullptr) absent = name;
  };
  find(f.version, "nvrtcVersion");
  find(f.error_text, "nvrtcGetErrorString");
  find(f.architecture_count, "nvrtcGetNumSupportedArchs");
  find(f.architectures, "nvrtcGetSupportedArchs");
  find(f.create, "nvrtcCreateProgram");
  find(f.destroy, "nvrtcDestroyProgram");
  find(f.compile, "nvrtcCompileProgram");
  find(f.log_size, "nvrtcGetProgramLogSize");
  find(f.log, "nvrtcGetProgramLog");
  find(f.cubin_size, "nvrtcGetCUBINSize");
  find(f.cubin, "nvrtcGetCUBIN");
  find(f.add_name, "nvrtcAddNameExpression");
  find(f.lowered_name, "nvrtcGetLoweredName");
  if (absent != nullptr)
    return Environment(nvrtc->path() + " has no " + absent + ": NVRTC 11.2 or newer is needed");
  int major = 0, minor = 0, count = 0;
  if (f.version(&major, &minor) != 0 || f.architecture_count(&count) != 0 || count <= 0)
    return Environment(nvrtc->path() + " does not say what it can do");
  nvrtc->architectures_.resize(static_cast<std::size_t>(count));
  if (f.architectures(nvrtc->architectures_.data()) != 0)
    return Environment(nvrtc->path() + " does not say for what it compiles");
  nvrtc->version_ = std::to_string(major) + "." + std::to_string(minor);
  nvrtc->functions_ = std::make_shared<const Functions>(f);
  return nvrtc;
}

Result<NvrtcResult> Nvrtc::Compile(const std::string& code, std::span<const std::string> options,
                                   std::span<const std::string> names) const {
  const Functions& f = *functions_;
  Functions::Program program = nullptr;
  if (const int failed = f.create(&program, code.c_str(), "kernel.cu", 0, nullptr, nullptr);
      failed != 0)
    return Internal(std::string("NVRTC cannot begin: ") + f.error_text(failed));
  for (const std::string& name : names) {
    if (const int failed = f.add_name(program, name.c_str()); failed != 0)
      return Internal("NVRTC does not take the name " + name + ": " + f.error_text(failed));
  }
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  NvrtcResult result;
  const int failed = f.compile(program, static_cast<int>(texts.size()), texts.data());
  std::size_t bytes = 0;
  if (f.log_size(program, &bytes) == 0 && bytes > 1) {
    result.log.resize(bytes);
    if (f.log(program, result.log.data()) != 0) result.log.clear();
    while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  }
  if (failed == 0 && f.cubin_size(program, &bytes) == 0 && bytes > 0) {
    result.cubin.resize(bytes);
    result.ok = f.cubin(program, result.cubin.data()) == 0;
  }
  for (const std::string& name : names) {
    const char* lowered = nullptr;
    if (!result.ok) break;
    result.ok = f.lowered_name(program, name.c_str(), &lowered) == 0 && lowered != nullptr;
    if (result.ok)
      result.lowered.emplace_back(lowered);
    else
      result.log = "error: the source has no kernel " + name;
  }
  if (!result.ok && result.log.empty()) result.log = f.error_text(failed);
  f.destroy(&program);
  return result;
}

}  // namespace kindred
