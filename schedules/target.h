// Target: what a device offers, as plain data. measure/ probes it; schedules/ and cost_model/ only
// read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kindred {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

// What a CUDA device offers.
struct GpuLimits {
  std::string arch = "sm_80";  // as NVRTC and ptxas call it: "sm_90a"
  int sms = 1;
  std::int64_t shared_bytes_per_block = 48 << 10;  // the most a block can ask for
  std::int64_t shared_bytes_per_sm = 100 << 10;
  int registers_per_sm = 65536;
  int registers_per_thread = 255;
  int warp = 32;
  int threads_per_block = 1024;
  int threads_per_sm = 1536;
  int blocks_per_sm = 16;
  double clock_ghz = 1;
  double peak_f16_gflops =
      0;  // multiply-adds of packed pairs outside of tensor cores; 0: not known
};

struct Target {
  // "cpu", "cpu:threads=8", "cuda:0", ...: part of every key in the log. `cpu` is one thread.
  std::string id = "cpu";
  DeviceKind kind = DeviceKind::kCpu;
  int threads = 1;

  std::string model;  // "Intel(R) Xeon(R) ...", for provenance
  int cores = 1;
  // CPU: bytes of a vector register (64 for AVX-512), number of them, whether multiply-add is
  // fused.
  int vector_bytes = 32;
  int vector_registers = 16;
  bool fused_multiply_add = true;
  bool f16_arithmetic = false;
  std::int64_t l1_bytes = 32 << 10;  // data, per core
  std::int64_t l2_bytes = 1 << 20;   // per core
  std::int64_t l3_bytes = 32 << 20;  // shared

  GpuLimits gpu;  // kCuda; l2_bytes, the peaks and memory_gbps hold for both kinds

  // C compilers that sketches may ask for; the first, gcc, is always among them.
  std::vector<std::string> compilers = {"gcc"};

  // Measured peaks of the whole target (all its threads), frozen with the log. 1e9 operations or
  // bytes / s.
  double peak_f32_gflops = 50;
  double peak_f64_gflops = 25;
  double peak_i8_gops = 50;
  double l1_gbps = 100;
  double l2_gbps = 50;
  double memory_gbps = 10;

  int VectorLanes(int element_bytes) const { return vector_bytes / element_bytes; }
};

}  // namespace kindred
