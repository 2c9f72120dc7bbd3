#include "measure/cpu/fault_report.h"

#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kindred {
namespace {

constexpr int kRegions = 64;
constexpr std::uintptr_t kNullPage = 1 << 16;

struct Region {
  NamedRegion memory;
  char name[48];
};

std::array<Region, kRegions> g_regions;
int g_region_count = 0;
int g_fd = -1;
const char* g_stage = "";
alignas(64) std::array<char, 64 << 10> g_stack;

void Answer(const char* status, const char* text) {
  static char line[512];
  const int length = std::snprintf(
      line, sizeof(line), "{\"status\":\"%s\",\"message\":\"%s %s\"}\n", status, text, g_stage);
  if (length > 0) {
    const auto bytes = std::min(static_cast<std::size_t>(length), sizeof(line) - 1);
    if (write(g_fd, line, bytes) < 0) _exit(1);
  }
  _exit(kReportedFault);
}

bool IsWrite(const void* context) {
#if defined(__x86_64__)
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return false;
#endif
}

void OnFault(int signal, siginfo_t* info, void* context) {
  static char text[256];
  const bool allocation_failed = errno == ENOMEM;  // the worker clears errno before each run
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  if (signal == SIGSEGV || signal == SIGBUS) {
    const char* verb = IsWrite(context) ? "writes" : "reads";
    for (int i = 0; i < g_region_count; ++i) {
      const NamedRegion& r = g_regions[i].memory;
      if (address < r.begin || address >= r.end) continue;
      if (address < r.data) {
        std::snprintf(text, sizeof(text), "%s %lld bytes before the start of %s", verb,
                      static_cast<long long>(r.data - address), g_regions[i].name);
      } else if (address >= r.data + r.bytes) {
        std::snprintf(text, sizeof(text), "%s %lld bytes past the end of %s", verb,
                      static_cast<long long>(address - r.data - r.bytes), g_regions[i].name);
      } else {
        std::snprintf(text, sizeof(text), "writes to %s, which it may only read, at byte %lld",
                      g_regions[i].name, static_cast<long long>(address - r.data));
      }
      Answer("out_of_bounds", text);
    }
    if (reinterpret_cast<std::uintptr_t>(address) < kNullPage && allocation_failed)
      Answer("out_of_memory", "an allocation failed, and its null pointer was used");
    std::snprintf(text, sizeof(text), "%s at address %p (%s)",
                  signal == SIGSEGV ? "SIGSEGV" : "SIGBUS", info->si_addr, verb);
    Answer("crash", text);
  }
  Answer("crash", signal == SIGFPE   ? "SIGFPE (integer division by zero or overflow)"
                  : signal == SIGILL ? "SIGILL (instruction unknown to this processor)"
                                     : "SIGABRT (aborted)");
}

}  // namespace

void InstallFaultReport(int fd) {
  g_fd = fd;
  stack_t stack = {};
  stack.ss_sp = g_stack.data();
  stack.ss_size = g_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
}

void ClearRegions() { g_region_count = 0; }

void AddRegion(const NamedRegion& region, const std::string& name) {
  if (g_region_count == kRegions) return;
  Region& r = g_regions[g_region_count];
  r.memory = region;
  std::size_t used = 0;
  for (const char c : name) {  // the line is JSON: no quotes, no control characters
    if (used + 1 < sizeof(r.name) && c > ' ' && c < 127 && c != '"' && c != '\\')
      r.name[used++] = c;
  }
  r.name[used] = '\0';
  ++g_region_count;
}

void SetStage(const char* stage) { g_stage = stage; }

}  // namespace kindred
