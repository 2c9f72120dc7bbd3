#include "cost_model/prior.h"

#include <algorithm>
#include <cmath>

#include "cost_model/internal/feature_list.h"

namespace kindred {
namespace {

constexpr double kCallNs = 20;  // of one call of a kernel: no program takes less

// The type in which most of the work is done.
DataType WorkType(const Workload& workload) {
  DataType type = DataType::kF32;
  double most = -1;
  for (const Stage& stage : workload.stages) {
    double points = 1;
    for (const Axis& axis : stage.axes) points *= static_cast<double>(axis.extent.value);
    if (points <= most) continue;
    most = points;
    type = stage.combiner == Combiner::kNone
               ? workload.tensors[static_cast<std::size_t>(stage.tensor)].type
               : stage.accumulator;
  }
  return type;
}

}  // namespace

double RooflineNs(const Workload& canonical, const Target& target) {
  const DataType type = WorkType(canonical);
  const double peak = type == DataType::kF64 ? target.peak_f64_gflops : target.peak_f32_gflops;
  const double compute = static_cast<double>(Flop(canonical)) / std::max(peak, 1e-3);
  const double bytes = static_cast<double>(CompulsoryBytes(canonical));
  double gbps = target.memory_gbps;
  // Runs on CPUs are hot: data that fit a cache come from there. On CUDA devices they are cold.
  if (target.kind == DeviceKind::kCpu) {
    if (bytes <= static_cast<double>(target.l1_bytes))
      gbps = target.l1_gbps;
    else if (bytes <= static_cast<double>(target.l2_bytes))
      gbps = target.l2_gbps;
    else if (bytes <= 0.5 * static_cast<double>(target.l3_bytes))
      gbps = std::sqrt(target.l2_gbps * target.memory_gbps);
  }
  return std::max({compute, bytes / std::max(gbps, 1e-3), 1.0});
}

double PriorNs(std::span<const float> features, const Workload& canonical, const Target& target) {
  return PriorNs(features, RooflineNs(canonical, target));
}

double PriorNs(std::span<const float> features, double roofline_ns) {
  return kCallNs + std::exp2(static_cast<double>(features[kTimeTotal])) * roofline_ns;
}

}  // namespace kindred
