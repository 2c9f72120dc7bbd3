// Hardware counters of what won: the best kernel of each workload is run again, after the rounds of
// a session, and what was counted is kept beside its trial.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "database/tuning_log.h"
#include "measure/cuda/cuda_profiler.h"
#include "schedules/base/result.h"
#include "tuner/progress.h"

namespace kindred {

// Of the `workloads` (keys) on the target (record id); those that are profiled already are left as
// they are. A failure to count is a note; the same one twice ends the counting. The result is how
// many were profiled now. Errors: those of the log.
Result<int> ProfileWinners(const std::vector<std::string>& workloads, const std::string& target,
                           CudaProfiler& profiler, std::uint64_t seed,
                           const std::function<bool()>& stop, TuningLog& log, Progress& progress);

}  // namespace kindred
