#include "schedules/target_json.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kindred {

using nlohmann::json;

json TargetToJson(const Target& t) {
  return {{"kind", t.kind == DeviceKind::kCpu ? "cpu" : "cuda"},
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
    return t;
  } catch (const json::exception& error) {
    return BadInput(std::string("it is incomplete: ") + error.what());
  }
}

}  // namespace kindred
