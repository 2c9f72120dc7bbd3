// A search over a recorded space: the recording stands in for the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/recorded/recording.h"
#include "schedules/user/t1_spec.h"

namespace kindred {

// What is searched, and what becomes of each configuration.
struct RecordedSpace {
  ParameterSpace space;
  std::vector<double> ms;    // by configuration of the space; 0: fails
  double optimum_ms = 0;     // least of them
  std::size_t recorded = 0;  // configurations of the space with an entry
};

// With `spec` its legal configurations, of which those without an entry fail; else those with an
// entry. Errors (kBadInput): the space is empty, parameters of the two differ, nothing ever
// succeeded.
Result<RecordedSpace> MakeRecordedSpace(const Recording& recording,
                                        const std::optional<T1Space>& spec);

struct ReplayRun {
  std::uint64_t seed = 0;
  // Best so far over the optimum after each evaluation; 0 while nothing succeeded.
  std::vector<double> ratio;
};

// At most `budget` evaluations, none twice; fewer where the space has no more. Error: unknown
// searcher.
Result<ReplayRun> Replay(const RecordedSpace& recorded, std::string_view searcher, int budget,
                         std::uint64_t seed);

// Median over the runs after `evaluations` of them (a run that ended earlier counts with its last);
// 0: more than half of the runs had found nothing.
double MedianRatio(const std::vector<ReplayRun>& runs, std::size_t evaluations);

}  // namespace kindred
