// kindred device: what the target offers. Also home of what the commands share.
#include <cstdlib>

#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/runner.h"
#include "tuner/commands/commands.h"
#include "tuner/record_mapping.h"

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

int RunDevice(const DeviceCommand& command) {
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  const auto target = FindTarget(command.target, cache);
  if (!target) return Fail(target.error());
  const Target& t = *target;
  if (command.json) {
    fmt::print("{}\n", nlohmann::json::parse(ToRecord(t).description).dump(2));
    return 0;
  }
  fmt::print("target           {}\n", t.id);
  fmt::print("model            {}\n", t.model);
  fmt::print("cores            {} (this target uses {} thread{})\n", t.cores, t.threads,
             t.threads == 1 ? "" : "s");
  fmt::print("vectors          {} registers of {} bytes{}\n", t.vector_registers, t.vector_bytes,
             t.fused_multiply_add ? ", fused multiply-add" : "");
  fmt::print("caches           L1 {} KiB, L2 {} KiB, L3 {} KiB\n", t.l1_bytes >> 10,
             t.l2_bytes >> 10, t.l3_bytes >> 10);
  fmt::print("compilers        {}\n", fmt::join(t.compilers, ", "));
  fmt::print("measured peaks   f32 {:.0f} GFLOP/s, f64 {:.0f} GFLOP/s, i8 {:.0f} Gop/s\n",
             t.peak_f32_gflops, t.peak_f64_gflops, t.peak_i8_gops);
  fmt::print("                 L1 {:.0f} GB/s, L2 {:.0f} GB/s, memory {:.1f} GB/s\n", t.l1_gbps,
             t.l2_gbps, t.memory_gbps);
  return 0;
}

}  // namespace kindred
