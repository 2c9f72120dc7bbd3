// The targets that a service answers for: those of its machine, probed once each, and those that
// its log knows from other machines.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "database/tuning_log.h"
#include "schedules/base/mutex.h"
#include "schedules/target.h"

namespace kindred {

class ServedTargets {
 public:
  using Probe = std::function<Result<Target>(const std::string& name)>;
  ServedTargets(const TuningLog& log, Probe probe) : log_(log), probe_(std::move(probe)) {}

  // "cpu", "cpu:threads=2", or a device of the log, "cpu@1f0c2d3e". The first call for a name may
  // take seconds. Errors: kBadInput names the targets there are.
  Result<Target> Find(const std::string& name);

 private:
  const TuningLog& log_;
  const Probe probe_;
  Mutex mutex_;
  std::map<std::string, Target> found_ KINDRED_GUARDED_BY(mutex_);
};

}  // namespace kindred
