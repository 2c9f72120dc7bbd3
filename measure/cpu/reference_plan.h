// How a workload's outputs will be judged: the reference program, and which elements it computes.
#pragma once

#include <cstdint>
#include <string>

#include "measure/cpu/protocol.h"
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

}  // namespace kindred
