// Trials of one workload as results in the T4 format of the auto-tuning community: what other
// tuners, and `kindred replay`, read.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "database/tuning_log.h"
#include "schedules/base/result.h"

namespace kindred {

// One object; times in milliseconds; of each configuration the last trial on `target` (an id or a
// name; empty: the only one there is). Returns how many. Errors: kNotFound (no such workload, no
// trials); kBadInput (trials on several targets, none named); those of the log; kEnvironment where
// `out` fails.
Result<std::int64_t> ExportT4(const TuningLog& log, const std::string& workload,
                              const std::string& target, std::ostream& out);

}  // namespace kindred
