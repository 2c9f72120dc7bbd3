// kindred device: what the target offers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/commands/commands.h"
#include "tuner/record_mapping.h"
#include "tuner/targets.h"

namespace kindred {

namespace {

void PrintCpu(const Target& t) {
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
}

void PrintGpu(const Target& t) {
  const GpuLimits& g = t.gpu;
  fmt::print("architecture     {}, {} SMs at {:.2f} GHz\n", g.arch, g.sms, g.clock_ghz);
  fmt::print("of an SM         {} threads, {} blocks, {} registers, {} KiB shared memory\n",
             g.threads_per_sm, g.blocks_per_sm, g.registers_per_sm, g.shared_bytes_per_sm >> 10);
  fmt::print("of a block       {} threads, {} KiB shared memory; of a thread {} registers\n",
             g.threads_per_block, g.shared_bytes_per_block >> 10, g.registers_per_thread);
  fmt::print("caches           L2 {:.4g} MiB\n", static_cast<double>(t.l2_bytes) / (1 << 20));
  fmt::print("{}   f32 {:.0f} GFLOP/s, f64 {:.0f} GFLOP/s, i8 {:.0f} Gop/s\n",
             CheckTimed(t) ? "measured peaks" : "data sheet    ", t.peak_f32_gflops,
             t.peak_f64_gflops, t.peak_i8_gops);
  fmt::print("                 L2 {:.0f} GB/s, memory {:.0f} GB/s\n", t.l2_gbps, t.memory_gbps);
}

}  // namespace

int RunDevice(const DeviceCommand& command) {
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  const auto target = ResolveTarget(command.target, cache, command.probe);
  if (!target) return Fail(target.error());
  const Target& t = *target;
  if (command.json) {
    fmt::print("{}\n", nlohmann::json::parse(ToRecord(t).description).dump(2));
    return 0;
  }
  fmt::print("target           {}\n", t.id);
  fmt::print("model            {}\n", t.model);
  t.kind == DeviceKind::kCuda ? PrintGpu(t) : PrintCpu(t);
  return 0;
}

}  // namespace kindred
