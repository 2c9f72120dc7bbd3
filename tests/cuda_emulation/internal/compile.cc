#include "tests/cuda_emulation/internal/compile.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/cuda_emulation/device_texts.h"

namespace kindred::cuda_emulation {
namespace {

constexpr std::string_view kKernelFile = "kernel.cu";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Emitted kernels bring a prelude that knows the emulation; others are users'.
bool IsUsers(std::string_view source) {
  return source.find("KINDRED_CUDA_EMULATION") == std::string_view::npos;
}

// Dynamic shared memory is declared in C++'s place for external arrays.
std::string WithDynamicShared(const std::string& source) {
  static const std::regex declaration(
      R"(extern\s+__shared__\s+(?:__align__\s*\(\s*\w+\s*\)\s+)?([\w:<>\s]*[\w>])\s+(\w+)\s*\[\s*\]\s*;)");
  return std::regex_replace(source, declaration, "KD_DYNAMIC_SHARED($1, $2);");
}

std::string UnitText(std::span<const std::string> entries, bool of_user) {
  std::string text = fmt::format(
      "{}#include \"tests/cuda_emulation/device.h\"\n{}#include \"{}\"\n"
      "extern \"C\" KD_NOT_SEEN void kd_emulation_bind(const KdEmulationHost* host) {{\n"
      "  kd_emulation_host = host;\n}}\n",
      of_user ? "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n" : "",
      of_user ? "#include \"tests/cuda_emulation/user_language.h\"\n" : "", kKernelFile);
  for (const std::string& entry : entries)
    text += fmt::format(
        "extern \"C\" KD_NOT_SEEN void kd_emulation_call_{0}(void** arguments) {{\n"
        "  kd_emulation_call({0}, arguments);\n}}\n"
        "extern \"C\" KD_NOT_SEEN unsigned kd_emulation_describe_{0}(KdEmulationParameter* all, unsigned room) {{\n"
        "  return kd_emulation_describe({0}, all, room);\n}}\n",
        entry);
  return text;
}

Result<void> Shell(const std::string& command, const std::string& log) {
  if (std::system(fmt::format("{} 2> {}", command, log).c_str()) == 0) return {};
  if (std::system("g++ --version > /dev/null 2>&1") != 0)
    return Environment("CUDA emulation: g++ is not on PATH; install it");
  return BadInput(fmt::format("CUDA emulation: the kernel does not compile:\n{}",
                              ReadFile(log).substr(0, 4000)));
}

}  // namespace

Result<std::unique_ptr<Library>> Library::Compile(std::string_view source,
                                                  std::span<const std::string> entries,
                                                  std::span<const std::string> include_paths) {
  namespace fs = std::filesystem;
  std::unique_ptr<Library> library(new Library);
  std::string pattern = (fs::temp_directory_path() / "kindred-emulation-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    return Environment(fmt::format("CUDA emulation: cannot make a folder {}", pattern));
  library->folder_ = pattern;
  std::error_code failed;
  fs::create_directories(library->folder_ + "/tests/cuda_emulation", failed);
  const auto write = [&](std::string_view name, std::string_view text) {
    std::ofstream(fmt::format("{}/{}", library->folder_, name)) << text;
  };
  write("tests/cuda_emulation/device.h", kDeviceText);
  write("tests/cuda_emulation/device_interface.h", kDeviceInterfaceText);
  const bool of_user = IsUsers(source);
  write("tests/cuda_emulation/user_language.h", kUserLanguageText);
  write(kKernelFile, of_user ? WithDynamicShared(std::string(source)) : std::string(source));
  write("unit.cc", UnitText(entries, of_user));

  std::string paths;
  for (const std::string& path : include_paths) paths += fmt::format(" '-I{}'", path);
  // Read accesses are not merged across calls, and nothing is assumed that CUDA does not promise.
  const std::string compile = fmt::format(
      "cd {} && g++ -std=c++17 -O1 -g1 -w -fno-diagnostics-show-caret -fPIC -fsanitize=thread -fno-strict-aliasing -fno-gnu-unique "
      "--param tsan-instrument-func-entry-exit=0 -DKINDRED_CUDA_EMULATION -I.{} -c unit.cc -o unit.o",
      library->folder_, paths);
  KINDRED_CHECK(Shell(compile, library->folder_ + "/log"));
  KINDRED_CHECK(Shell(
      fmt::format("cd {} && g++ -shared -Wl,-Bsymbolic unit.o -o unit.so -lm", library->folder_),
      library->folder_ + "/log"));
  library->handle_ = dlopen((library->folder_ + "/unit.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr)
    return BadInput(fmt::format("CUDA emulation: the kernel does not link: {}", dlerror()));
  return library;
}

Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void* Library::Symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

int Library::LineOf(const void* pc) const {
  Dl_info info = {};
  if (pc == nullptr || dladdr(pc, &info) == 0) return 0;
  // `pc` is a return address; the call lies before it.
  const auto offset = static_cast<const char*>(pc) - static_cast<const char*>(info.dli_fbase) - 1;
  const std::string command =
      fmt::format("addr2line -i -e {}/unit.so {:#x} 2> /dev/null", folder_, offset);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return 0;
  int line = 0;  // of the outermost function, which is the last: inlined ones stand before it
  std::array<char, 512> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    const std::string_view text(buffer.data());
    const std::size_t at = text.find(fmt::format("{}:", kKernelFile));
    if (at != std::string_view::npos) line = std::atoi(buffer.data() + at + kKernelFile.size() + 1);
  }
  pclose(pipe);
  return line;
}

}  // namespace kindred::cuda_emulation
