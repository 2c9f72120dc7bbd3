// How a workload's outputs will be judged: the reference program, and which elements it computes.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "measure/internal/protocol.h"
#include "schedules/kernel.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

// Above this a reference computes a sample of the outputs: in plain loops of f64 it is about a
// second.
inline constexpr std::int64_t kReferenceFlopLimit = 1'000'000'000;
// The same for the elements of all stages: each takes 16 bytes twice, value and bound.
inline constexpr std::int64_t kReferenceElementLimit = 16'000'000;

struct ReferencePlan {
  KernelSource source;  // LowerReference(WithErrorBounds(workload or a sample of it))
  OpenRequest open;     // all but the processors
  std::vector<ComputeReferenceRequest::Output> outputs;
  std::string file_name;  // of its results: from the source, the seed and the sample
};

ReferencePlan PlanReference(const Workload& workload, std::uint64_t seed, const Target& target);

inline constexpr double kReferenceBuildTimeout_s = 120;
inline constexpr double kReferenceRunTimeout_s = 300;
inline constexpr std::int64_t kReferenceCacheBytes = 1ll << 30;

// The plans that were asked for lately. A reference stays until the next call.
class ReferencePlans {
 public:
  // `target` is the processor that runs the reference programs.
  explicit ReferencePlans(Target target) : target_(std::move(target)) {}
  const ReferencePlan& For(const Workload& workload, std::uint64_t seed);

 private:
  const Target target_;
  std::unordered_map<std::string, ReferencePlan> plans_;
};

}  // namespace kindred
