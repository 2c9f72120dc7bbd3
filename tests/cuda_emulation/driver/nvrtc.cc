// libnvrtc.so.13 of the emulated device: a "cubin" is the text itself, which the emulated driver
// compiles for the host.
#include <cstddef>
#include <cstring>
#include <string>

#include "tests/cuda_emulation/driver/driver.h"

namespace {

struct Program {
  std::string text;
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
  *program = new Program{text};
  return 0;
}
KINDRED_EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
KINDRED_EXPORT int nvrtcCompileProgram(Program*, int, const char* const*) { return 0; }
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
