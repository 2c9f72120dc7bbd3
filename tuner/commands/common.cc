// What the subcommands share.
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "measure/runner.h"
#include "tuner/commands/commands.h"

namespace kindred {

int Fail(const Error& error) {
  fmt::print(stderr, "kindred: {}\n", error.message);
  return ExitCode(error);
}

std::string DefaultCacheDirectory() {
  if (const char* cache = std::getenv("KINDRED_CACHE"); cache != nullptr && *cache != 0)
    return cache;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0)
    return std::string(cache) + "/kindred";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0)
    return std::string(home) + "/.cache/kindred";
  return (std::filesystem::temp_directory_path() / "kindred-cache").string();
}

Result<Target> FindTarget(const std::string& name, const std::string& cache) {
  int threads = 0;
  constexpr std::string_view kPrefix = "cpu:threads=";
  if (name == "cpu") {
    threads = 1;
  } else if (name.starts_with(kPrefix)) {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, threads);
    if (parsed.ec != std::errc{} || parsed.ptr != end) threads = 0;
  }
  if (threads < 1 || threads > 1024)
    return BadInput(fmt::format(
        "unknown target '{}'; known are cpu and cpu:threads=N with N from 1 to 1024", name));
  KINDRED_TRY(const Target target, ProbeCpuTarget(threads == 1 ? "cpu" : name, cache));
  if (threads > target.cores)
    return BadInput(fmt::format("target '{}' asks for {} threads; this machine has {} cores", name,
                                threads, target.cores));
  return target;
}

}  // namespace kindred
