#include "tests/fuzz/fuzz_target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace kindred::fuzz {

void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::string MemoryFile(std::string_view bytes) {
  static const int file = ::memfd_create("kindred_fuzz", MFD_CLOEXEC);
  Require(file >= 0 && ::ftruncate(file, 0) == 0, "a file in memory");
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written =
        ::pwrite(file, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    Require(written > 0, "writing to a file in memory");
    at += static_cast<std::size_t>(written);
  }
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace kindred::fuzz
