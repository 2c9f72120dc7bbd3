// Trials as JSON lines: one self-contained line per trial, with its workload, target, session,
// task, family and kernel.
//
// Exporting, importing into an empty log and exporting again gives the same bytes.
// docs/log_schema.md describes the fields.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "database/tuning_log.h"
#include "schedules/base/result.h"

namespace kindred {

// Writes the trials that pass `filter`, by id; returns how many. Errors: those of the log;
// kEnvironment where `out` fails.
Result<std::int64_t> ExportJsonLines(const TuningLog& log, const TrialFilter& filter,
                                     std::ostream& out);

// Appends all trials of `in` in one transaction, or none. Trials that are stored already are
// skipped, and what is stored is never replaced. `source` names the input in messages. Errors:
// kBadInput with the line number.
Result<AppendSummary> ImportJsonLines(std::istream& in, const std::string& source, TuningLog& log);

}  // namespace kindred
