// What a log's trials teach of a workload on a target: lowered anew, as features and times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost_model/taught_ranks.h"
#include "database/tuning_log.h"
#include "schedules/space.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct KnownTrials {
  double roofline_ns = 0;
  std::vector<std::vector<float>> features;
  std::vector<double> ns;  // 0: failed
  Path best;               // validated; empty: none
  double best_ns = 0;

  TaskSamples Samples() const;  // those with a time
};

struct KnownTrialsQuery {
  std::string workload;  // key
  std::string target;    // record id
  std::int64_t epoch = INT64_MAX;
  std::string except_session;
  std::size_t most = 256;  // evenly from those there are
  std::function<std::unique_ptr<Space>(const Workload& canonical, const Target&)> space = MakeSpace;
};

// Trials whose schedules this version does not know are passed over. Errors: the log's.
Result<KnownTrials> ReadKnownTrials(const TuningLog& log, const Workload& canonical,
                                    const Target& device, const KnownTrialsQuery& query);

}  // namespace kindred
