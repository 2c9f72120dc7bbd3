// libnvrtc.so.13 of the emulated device: a "cubin" is the text itself, which the emulated driver
// compiles for the host.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda_emulation/driver/driver.h"

namespace {

struct Program {
  std::string text;
  std::vector<std::string> names, lowered;
};

constexpr int kArchitectures[] = {80, 89, 90, 100};
// A log as ptxas writes it.
constexpr char kLog[] = "ptxas info    : Used 32 registers, used 0 barriers, 0 bytes smem\n";

}  // namespace

KINDRED_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
KINDRED_EXPORT const char* nvrtcGetErrorString(int) { return "an error of the emulated compiler"; }
KINDRED_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(sizeof kArchitectures / sizeof *kArchitectures);
  return 0;
}
KINDRED_EXPORT int nvrtcGetSupportedArchs(int* architectures) {
  std::memcpy(architectures, kArchitectures, sizeof kArchitectures);
  return 0;
}
KINDRED_EXPORT int nvrtcCreateProgram(Program** program, const char* text, const char*, int,
                                      const char* const*, const char* const*) {
  *program = new Program{text, {}, {}};
  return 0;
}
KINDRED_EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
KINDRED_EXPORT int nvrtcAddNameExpression(Program* program, const char* name) {
  program->names.emplace_back(name);
  program->lowered.push_back("kd_entry_" + std::to_string(program->lowered.size()));
  return 0;
}
KINDRED_EXPORT int nvrtcGetLoweredName(Program* program, const char* name, const char** lowered) {
  for (std::size_t i = 0; i < program->names.size(); ++i) {
    if (program->names[i] != name) continue;
    *lowered = program->lowered[i].c_str();
    return 0;
  }
  return 7;  // no such name
}
// What is not text becomes text: include paths (modules.cc reads them), macros, names of instances.
KINDRED_EXPORT int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  std::string paths, macros;
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.starts_with("-I")) paths += "//kd-include " + option.substr(2) + "\n";
    if (!option.starts_with("-D")) continue;
    const std::size_t equal = option.find('=');
    const bool valued = equal != std::string::npos;
    macros += "#define " + option.substr(2, valued ? equal - 2 : equal) + " " +
              (valued ? option.substr(equal + 1) : "1") + "\n";
  }
  if (!paths.empty() || !macros.empty())
    program->text = paths + macros + "#line 1\n" + program->text;
  for (std::size_t i = 0; i < program->names.size(); ++i)
    program->text += "\nconstexpr auto " + program->lowered[i] + " = &" + program->names[i] + ";\n";
  return 0;
}
KINDRED_EXPORT int nvrtcGetProgramLogSize(Program*, std::size_t* bytes) {
  *bytes = sizeof kLog;
  return 0;
}
KINDRED_EXPORT int nvrtcGetProgramLog(Program*, char* log) {
  std::memcpy(log, kLog, sizeof kLog);
  return 0;
}
KINDRED_EXPORT int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  *bytes = program->text.size();
  return 0;
}
KINDRED_EXPORT int nvrtcGetCUBIN(Program* program, char* cubin) {
  std::memcpy(cubin, program->text.data(), program->text.size());
  return 0;
}
