#include "schedules/target_json.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kindred {

using nlohmann::json;

namespace {

json GpuToJson(const GpuLimits& g) {
  return {{"arch", g.arch},
          {"sms", g.sms},
          {"shared_bytes_per_block", g.shared_bytes_per_block},
          {"shared_bytes_per_sm", g.shared_bytes_per_sm},
          {"registers_per_sm", g.registers_per_sm},
          {"registers_per_thread", g.registers_per_thread},
          {"warp", g.warp},
          {"threads_per_block", g.threads_per_block},
          {"threads_per_sm", g.threads_per_sm},
          {"blocks_per_sm", g.blocks_per_sm},
          {"clock_ghz", g.clock_ghz},
          {"peak_f16_gflops", g.peak_f16_gflops}};
}

GpuLimits GpuFromJson(const json& d) {
  GpuLimits g;
  g.arch = d.at("arch");
  g.sms = d.at("sms");
  g.shared_bytes_per_block = d.at("shared_bytes_per_block");
  g.shared_bytes_per_sm = d.at("shared_bytes_per_sm");
  g.registers_per_sm = d.at("registers_per_sm");
  g.registers_per_thread = d.at("registers_per_thread");
  g.warp = d.at("warp");
  g.threads_per_block = d.at("threads_per_block");
  g.threads_per_sm = d.at("threads_per_sm");
  g.blocks_per_sm = d.at("blocks_per_sm");
  g.clock_ghz = d.at("clock_ghz");
  g.peak_f16_gflops = d.value("peak_f16_gflops", 0.0);
  return g;
}

}  // namespace

json TargetToJson(const Target& t) {
  json j = {{"kind", t.kind == DeviceKind::kCpu ? "cpu" : "cuda"},
            {"id", t.id},
            {"threads", t.threads},
            {"model", t.model},
            {"cores", t.cores},
            {"vector_bytes", t.vector_bytes},
            {"vector_registers", t.vector_registers},
            {"fused_multiply_add", t.fused_multiply_add},
            {"f16_arithmetic", t.f16_arithmetic},
            {"l1_bytes", t.l1_bytes},
            {"l2_bytes", t.l2_bytes},
            {"l3_bytes", t.l3_bytes},
            {"compilers", t.compilers},
            {"peak_f32_gflops", t.peak_f32_gflops},
            {"peak_f64_gflops", t.peak_f64_gflops},
            {"peak_i8_gops", t.peak_i8_gops},
            {"l1_gbps", t.l1_gbps},
            {"l2_gbps", t.l2_gbps},
            {"memory_gbps", t.memory_gbps}};
  if (t.kind == DeviceKind::kCuda) j["gpu"] = GpuToJson(t.gpu);
  return j;
}

Result<Target> TargetFromJson(const json& d) {
  if (!d.is_object()) return BadInput("it is not a JSON object");
  try {
    Target t;
    t.id = d.at("id");
    t.kind = d.at("kind") == "cpu" ? DeviceKind::kCpu : DeviceKind::kCuda;
    t.threads = d.at("threads");
    t.model = d.at("model");
    t.cores = d.at("cores");
    t.vector_bytes = d.at("vector_bytes");
    t.vector_registers = d.at("vector_registers");
    t.fused_multiply_add = d.at("fused_multiply_add");
    t.f16_arithmetic = d.at("f16_arithmetic");
    t.l1_bytes = d.at("l1_bytes");
    t.l2_bytes = d.at("l2_bytes");
    t.l3_bytes = d.at("l3_bytes");
    // Logs that do not tell were made where both compilers were offered.
    t.compilers = d.value("compilers", std::vector<std::string>{"gcc", "clang"});
    t.peak_f32_gflops = d.at("peak_f32_gflops");
    t.peak_f64_gflops = d.at("peak_f64_gflops");
    t.peak_i8_gops = d.at("peak_i8_gops");
    t.l1_gbps = d.at("l1_gbps");
    t.l2_gbps = d.at("l2_gbps");
    t.memory_gbps = d.at("memory_gbps");
    if (t.kind == DeviceKind::kCuda) t.gpu = GpuFromJson(d.at("gpu"));
    return t;
  } catch (const json::exception& error) {
    return BadInput(std::string("it is incomplete: ") + error.what());
  }
}

}  // namespace kindred
