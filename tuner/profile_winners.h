// Hardware counters of what won: the best kernel of each workload is run again, after the rounds of
// a session, and what was counted is kept beside its trial.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "database/tuning_log.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/workload.h"
#include "tuner/progress.h"

namespace kindred {

struct Counting {
  // Counters of one run by name. Error: one line why there are none.
  std::function<Result<std::map<std::string, double>>(const Workload& canonical,
                                                      const KernelSource& kernel)>
      profile;
  bool cold = true;                     // the caches of the runs that are counted
  std::function<std::string()> driver;  // Outcome::driver; asked after a profile
};

// Of the `workloads` (keys) on the target (record id); those that are profiled already are left as
// they are. A failure to count is a note; the same one twice ends the counting. The result is how
// many were profiled now. Errors: those of the log.
Result<int> ProfileWinners(const std::vector<std::string>& workloads, const std::string& target,
                           const Counting& counting, const std::function<bool()>& stop,
                           TuningLog& log, Progress& progress);

}  // namespace kindred
