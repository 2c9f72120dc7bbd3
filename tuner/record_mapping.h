// Maps what the tuner works with to the log's records and back. The log knows nothing of schedules;
// this is the only place that knows both.
#pragma once

#include <map>
#include <string>

#include "database/records.h"
#include "schedules/canonical.h"
#include "schedules/kernel.h"
#include "schedules/outcome.h"
#include "schedules/space.h"
#include "schedules/target.h"

namespace kindred {

// The record's id is the target's id with a digest of what makes it this device: "cpu@1f2e3d4c".
TargetRecord ToRecord(const Target& target);
// Error kBadInput: the description lacks a field or is not JSON.
Result<Target> ToTarget(const TargetRecord& record);

WorkloadRecord ToRecord(const CanonicalWorkload& canonical, const std::string& name);

// The kernel's source, steps and arguments (in the canonical workload's names).
KernelRecord ToRecord(const KernelSource& kernel, const Workload& canonical);
Result<KernelSource> ToKernel(const KernelRecord& record);

// Where a trial stands and what it came from; the outcome fills the rest.
struct TrialOrigin {
  std::string session;
  std::int64_t round = 0, position = 0;
  std::string workload;  // key
  std::string target;    // record id
  std::string searcher;
  double predicted_ns = 0;
  std::string kernel;               // hash
  std::string cache_state = "hot";  // the target's: that of trials which were not timed
};
TrialRecord ToRecord(const TrialOrigin& origin, const Candidate& candidate,
                     const KernelSource& kernel, const Outcome& outcome);
// Hardware counters of a trial, by name.
ProfileRecord ToRecord(std::int64_t trial, const std::map<std::string, double>& metrics, bool cold,
                       const std::string& driver);
// Error kUnsupported: a status that this version does not know.
Result<Outcome> ToOutcome(const TrialRecord& record);

// The row of a schedule that was measured again in a final choice, not of a trial of a search.
bool IsRemeasurement(const TrialRecord& record);

std::int64_t NowMs();

}  // namespace kindred
