// Features of a lowered program: numbers that tell how long it will take, normalised by the
// device's peaks so that they carry over to other shapes and devices.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// Every program for a kind of device gives the same number of features in the same order; names for
// reports. Those of CPUs are the first of those of CUDA.
std::span<const std::string_view> FeatureNames(DeviceKind kind);

struct WorkloadFacts {
  double flop = 0;
  double bytes = 0;  // that must move at least
  double roofline_ns = 1;
};

// What the features of all programs of one workload on one target share: describe it once, extract
// often. Target and workload outlive it.
class FeatureExtractor {
 public:
  FeatureExtractor(const Workload& canonical, const Target& target);
  std::vector<float> Extract(const Program& program) const;

 private:
  const Target& target_;
  std::vector<float> workload_;  // all features, those of the workload set
  WorkloadFacts facts_;
};

// For one program.
std::vector<float> ExtractFeatures(const Program& program, const Workload& canonical,
                                   const Target& target);

}  // namespace kindred
