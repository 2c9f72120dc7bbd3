#include "cost_model/internal/feature_values.h"

#include <algorithm>
#include <cmath>

#include "cost_model/internal/feature_list.h"
#include "cost_model/prior.h"

namespace kindred {

double Log(double x) { return std::log2(1 + std::max(0.0, x)); }

double LogRatio(double x, double to) {
  if (!(x > 0)) return -12;
  return std::clamp(std::log2(x / std::max(to, 1e-30)), -12.0, 20.0);
}

void DescribeWorkload(const Workload& workload, const Target& target, std::span<float> out) {
  const auto set = [&](Feature feature, double value) {
    out[static_cast<std::size_t>(feature)] = static_cast<float>(value);
  };
  const double flop = static_cast<double>(Flop(workload));
  const double bytes = static_cast<double>(CompulsoryBytes(workload));
  set(kLogFlop, Log(flop));
  set(kLogBytes, Log(bytes));
  set(kIntensity, LogRatio(flop + 1, bytes));
  set(kLogRoofline, Log(RooflineNs(workload, target)));
  set(kMemoryBound, LogRatio(bytes / target.memory_gbps, flop / target.peak_f32_gflops + 1));
  set(kStages, static_cast<double>(workload.stages.size()));
  const Stage* anchor = nullptr;
  double most = -1;
  for (const Stage& stage : workload.stages) {
    double points = 1;
    for (const Axis& axis : stage.axes) points *= static_cast<double>(axis.extent.value);
    if (points > most) {
      most = points;
      anchor = &stage;
    }
  }
  if (!anchor) return;
  set(kElementBytes, ByteSize(workload.tensors[static_cast<std::size_t>(anchor->tensor)].type));
  const auto extent = [&](int from_end, int begin, int end) {
    const int at = end - 1 - from_end;
    return at >= begin
               ? Log(static_cast<double>(anchor->axes[static_cast<std::size_t>(at)].extent.value))
               : 0;
  };
  const int spatial = anchor->spatial, all = static_cast<int>(anchor->axes.size());
  set(kSpatial0, extent(0, 0, spatial));
  set(kSpatial1, extent(1, 0, spatial));
  set(kSpatial2, extent(2, 0, spatial));
  set(kReduction0, extent(0, spatial, all));
  set(kReduction1, extent(1, spatial, all));
  double rest = 0;
  for (int i = 3; i < spatial; ++i) rest += extent(i, 0, spatial);
  set(kSpatialRest, rest);
  rest = 0;
  for (int i = 2; i < all - spatial; ++i) rest += extent(i, spatial, all);
  set(kReductionRest, rest);
}

}  // namespace kindred
