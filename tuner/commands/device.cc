// kindred device: what the target offers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/commands/commands.h"
#include "tuner/record_mapping.h"

namespace kindred {

int RunDevice(const DeviceCommand& command) {
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  const auto target = ProbeCpuTarget(command.target, cache, command.probe);
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
