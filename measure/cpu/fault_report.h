// Turns a signal in a candidate into an answer that names the cause, then ends the process.
//
// A worker has one of these at most, and everything the handler touches lies in static memory: it
// makes no allocation, takes no lock and writes one line to the answers' descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kindred {

// Exit code of a worker that has answered with the cause of its end.
inline constexpr int kReportedFault = 86;

// Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, on a stack of their own. Answers go to
// `fd`.
void InstallFaultReport(int fd);

// Memory that the handler can name. `data` lies within [begin, end).
struct NamedRegion {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool read_only = false;
};

void ClearRegions();
// Names beyond 47 characters are cut; regions beyond 64 are not named.
void AddRegion(const NamedRegion& region, const std::string& name);

// What the candidate is doing, for the message: "in its first run". Must be a string literal.
void SetStage(const char* stage);

}  // namespace kindred
