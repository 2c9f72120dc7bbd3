// Sources: NVIDIA's data sheets (SMs, clock, memory, L2) and the CUDA C++ Programming Guide's table
// of compute capabilities (shared memory, registers, threads and blocks).
#include "schedules/cuda_targets.h"

#include <array>

namespace kindred {
namespace {

struct Device {
  std::string_view name, model, arch;
  int sms;
  double boost_ghz;
  std::int64_t shared_kib_per_sm;  // a block can have 1 KiB less
  int threads_per_sm, blocks_per_sm;
  std::int64_t l2_mib;
  double memory_gbps;
  int f32_lanes_per_sm;
  double f64_rate;  // of the f32 rate
};

constexpr std::array<Device, 5> kDevices = {{
    {"a100", "NVIDIA A100-SXM4-80GB", "sm_80", 108, 1.41, 164, 2048, 32, 40, 2039, 64, 0.5},
    {"b200", "NVIDIA B200", "sm_100", 148, 1.965, 228, 2048, 32, 126, 8000, 128, 0.5},
    {"h100", "NVIDIA H100 SXM5", "sm_90a", 132, 1.98, 228, 2048, 32, 50, 3350, 128, 0.5},
    {"h200", "NVIDIA H200", "sm_90a", 132, 1.98, 228, 2048, 32, 50, 4800, 128, 0.5},
    {"rtx4090", "NVIDIA GeForce RTX 4090", "sm_89", 128, 2.52, 100, 1536, 24, 72, 1008, 128,
     1.0 / 64},
}};

}  // namespace

void CompleteCudaTarget(Target& t) {
  t.l2_gbps = 40 * t.gpu.clock_ghz * t.gpu.sms;
  t.l1_gbps = 128 * t.gpu.clock_ghz * t.gpu.sms;
  t.l1_bytes = t.gpu.shared_bytes_per_sm;
  t.l3_bytes = 0;
  t.cores = t.gpu.sms;
  t.compilers = {"nvrtc"};
}

std::optional<Target> NamedCudaTarget(std::string_view name) {
  for (const Device& d : kDevices) {
    if (d.name != name) continue;
    Target t;
    t.id = std::string(name);
    t.kind = DeviceKind::kCuda;
    t.model = std::string(d.model);
    t.gpu.arch = std::string(d.arch);
    t.gpu.sms = d.sms;
    t.gpu.shared_bytes_per_sm = d.shared_kib_per_sm << 10;
    t.gpu.shared_bytes_per_block = (d.shared_kib_per_sm - 1) << 10;
    t.gpu.threads_per_sm = d.threads_per_sm;
    t.gpu.blocks_per_sm = d.blocks_per_sm;
    t.gpu.clock_ghz = d.boost_ghz;
    t.l2_bytes = d.l2_mib << 20;
    t.memory_gbps = d.memory_gbps;
    CompleteCudaTarget(t);
    t.peak_f32_gflops = 2 * d.boost_ghz * d.f32_lanes_per_sm * d.sms;
    t.peak_f64_gflops = t.peak_f32_gflops * d.f64_rate;
    t.peak_i8_gops = 4 * t.peak_f32_gflops;  // dp4a
    return t;
  }
  return std::nullopt;
}

std::string KnownCudaTargets() {
  std::string names;
  for (const Device& d : kDevices) names += (names.empty() ? "" : ", ") + std::string(d.name);
  return names;
}

}  // namespace kindred
