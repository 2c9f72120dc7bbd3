// A search over a recorded space: the recording stands in for the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/recorded/recording.h"
#include "schedules/user/t1_spec.h"
#include "search/configuration_searcher.h"

namespace kindred {

// What is searched, and what becomes of each configuration.
struct RecordedSpace {
  ParameterSpace space;
  std::vector<double> ms;                       // by configuration of the space; 0: fails
  std::vector<std::vector<double>> samples_ms;  // of each; empty where they are not recorded
  double optimum_ms = 0;                        // least of them
  std::size_t recorded = 0;                     // configurations of the space with an entry
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

// What another device's recording says of the space's configurations, as searchers take it. What
// failed there is as slow as the slowest. Errors (kBadInput): a parameter of the space is not in
// the recording; they have no configuration in common.
Result<std::vector<double>> TimesOf(const Recording& elsewhere, const ParameterSpace& space);

struct ReplayOptions {
  std::string searcher = "surrogate";
  int budget = 200;
  // An evaluation gives one of the recorded samples, drawn, not their mean; the best so far is then
  // the mean of what gave the least.
  bool noise = false;
  TimesElsewhere elsewhere = {};
};

// At most `budget` evaluations, none twice; fewer where the space has no more. Error: unknown
// searcher.
Result<ReplayRun> Replay(const RecordedSpace& recorded, const ReplayOptions& options,
                         std::uint64_t seed);

// Median over the runs after `evaluations` of them (a run that ended earlier counts with its last);
// 0: more than half of the runs had found nothing.
double MedianRatio(const std::vector<ReplayRun>& runs, std::size_t evaluations);

}  // namespace kindred
