#include "tests/cuda_emulation/driver/modules.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace kindred::cuda_emulation {
namespace {

// Times have to be different and to follow the work, no more.
constexpr double kLaunch_ns = 2000;
constexpr double kAccess_ns = 0.25;
constexpr double kThread_ns = 0.5;

// What is static of shared memory must lie in the first of it, as ptxas says.
constexpr std::size_t kStaticShared = 48 << 10;
// What the emulated compiler writes into the text for what is no text (nvrtc.cc).
constexpr std::string_view kPath = "//kd-include ", kName = "constexpr auto ";

bool IsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::vector<std::string> EntriesOf(const std::string& source) {
  constexpr std::string_view kBegin = "extern \"C\" __global__", kBounds = "__launch_bounds__";
  std::vector<std::string> entries;
  for (std::size_t at = source.find(kBegin); at != std::string::npos;
       at = source.find(kBegin, at + 1)) {
    std::size_t open = source.find('(', at);
    const std::size_t bounds = source.find(kBounds, at);
    if (bounds < open) open = source.find('(', source.find(')', open));
    if (open == std::string::npos) break;
    std::size_t end = open;
    while (end > at && !IsName(source[end - 1])) --end;
    std::size_t begin = end;
    while (begin > at && IsName(source[begin - 1])) --begin;
    entries.push_back(source.substr(begin, end - begin));
  }
  const std::string marked = std::string(kName) + std::string(kLoweredName);
  for (std::size_t at = source.find(marked); at != std::string::npos;
       at = source.find(marked, at + 1)) {
    const std::size_t begin = at + kName.size();
    entries.push_back(source.substr(begin, source.find(' ', begin) - begin));
  }
  return entries;
}

Result<std::unique_ptr<DeviceModule>> LoadModule(const std::string& source) {
  auto loaded = std::make_unique<DeviceModule>();
  loaded->source = source;
  std::vector<std::string> paths;
  for (std::size_t at = 0; source.compare(at, kPath.size(), kPath) == 0;) {
    const std::size_t end = source.find('\n', at);
    paths.push_back(source.substr(at + kPath.size(), end - at - kPath.size()));
    at = end + 1;
  }
  KINDRED_TRY(loaded->module, Module::Compile(source, EntriesOf(source), paths));
  if (const std::size_t bytes = loaded->module->SharedBytes(); bytes > kStaticShared)
    return BadInput("the module uses too much shared data (" + std::to_string(bytes) + " bytes, " +
                    std::to_string(kStaticShared) + " max)");
  return loaded;
}

Result<Report> RunFunction(DeviceFunction* function, const Launch& launch, void** parameters,
                           const DeviceMemory& memory) {
  if (function->runs >= kMostRuns) return Report{};
  std::vector<std::uint64_t> values;
  std::set<std::uintptr_t> begins;
  for (std::size_t i = 0; i < function->parameters.size(); ++i) {
    std::memcpy(&values.emplace_back(), parameters[i], sizeof(std::uint64_t));
    if (function->parameters[i].pointer) begins.insert(values.back());
  }
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!function->parameters[i].pointer) {
      arguments.emplace_back(static_cast<std::int64_t>(values[i]));
      continue;
    }
    // Several parameters may point into one allocation: each part ends where the next begins.
    std::size_t bytes = memory.BytesFrom(values[i]);
    const auto next = begins.upper_bound(values[i]);
    if (next != begins.end()) bytes = std::min(bytes, *next - values[i]);
    arguments.emplace_back(std::span(reinterpret_cast<std::byte*>(values[i]), bytes));
  }
  KINDRED_TRY(Report report, function->module->module->Run(function->entry, launch, arguments));
  double threads = 1;
  for (std::size_t i = 0; i < 3; ++i) threads *= launch.grid[i] * launch.block[i];
  function->ns =
      kLaunch_ns + kAccess_ns * static_cast<double>(report.accesses) + kThread_ns * threads;
  ++function->runs;
  return report;
}

}  // namespace kindred::cuda_emulation
