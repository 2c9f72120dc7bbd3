// What the subcommands share.
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

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

Result<InputOptions> ToInputOptions(const ModelOptions& options) {
  InputOptions inputs;
  KINDRED_TRY(inputs.dims, ParseDims(options.dims));
  inputs.trips = options.trips;
  inputs.instances = options.merge;
  return inputs;
}

}  // namespace kindred
