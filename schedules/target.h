// Target: what a device offers, as plain data. measure/ probes it; schedules/ and cost_model/ only
// read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kindred {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

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
