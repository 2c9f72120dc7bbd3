// A tuning session from its beginning to its end, as benchmarks run it.
#pragma once

#include <vector>

#include "database/tuning_log.h"
#include "tuner/session.h"

namespace kindred::bench {

// The session's trials in order; `log` is the one that it was opened with. Errors: those of both.
inline Result<std::vector<TrialRecord>> TuneQuietly(TuningSession& session, const TuningLog& log) {
  Progress progress(Progress::Style::kQuiet);
  KINDRED_CHECK(session.Run([] { return false; }, progress));
  TrialFilter filter;
  filter.session = session.id();
  return log.Trials(filter);
}

}  // namespace kindred::bench
