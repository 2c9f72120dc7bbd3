// TuningLog: where everything that was measured is kept. The interface of this folder.
//
// Invariants
// - A trial is never changed and never removed; ids rise in the order of writing, and the epoch is
//   the last id.
// - Append() writes all of a batch in one transaction, or nothing. When it returns, a killed
//   process loses none of it.
// - Trials of a session are appended in proposal order: rounds and positions count up from 0
//   without a gap.
//
// Answers: something that is not there is an empty optional or vector, never an error. Errors are
// kEnvironment (disk full, locked, unreadable, damaged) and, in Append, kBadInput (rows that
// contradict what is stored), each with the log's path and what to do.
//
// Threads: one log may be used by several threads; calls take turns. Several processes may have a
// log open, and readers do not wait for a writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/records.h"
#include "schedules/base/result.h"

namespace kindred {

// Rows that are written together. Rows may refer to each other and to what is stored.
struct LogBatch {
  std::vector<TargetRecord>
      targets;  // stored if new; another fingerprint under the same id is an error
  std::vector<WorkloadRecord> workloads;  // stored if new
  std::vector<KernelRecord> kernels;      // stored if new
  std::vector<FamilyRecord> families;     // replaces what is stored; moves members
  std::vector<FamilyPinRecord> pins;      // replaces what is stored, or removes it
  std::vector<SessionRecord> sessions;    // replaces what is stored
  std::vector<TaskRecord> tasks;          // replaces what is stored
  std::vector<ModelRecord> models;        // replaces what is stored
  std::vector<JobRecord> jobs;            // replaces what is stored
  // Added to what is stored: `times` and `weight` (at last_ms) count what is new.
  std::vector<AskedRecord> asked;
  std::vector<TrialRecord> trials;  // ids are ignored; an equal trial is stored already and skipped
  std::vector<ProfileRecord> profiles;  // of trials that are stored; replaces what is stored
  // For rows of another log: families, sessions and tasks that are stored stay as they are.
  bool keep_stored = false;
};

struct AppendSummary {
  std::int64_t added = 0;    // trials
  std::int64_t skipped = 0;  // trials that were stored already
  std::int64_t epoch = 0;    // after the batch
};

// All conditions that are set must hold.
struct TrialFilter {
  std::optional<std::string> session, workload, target, status;
  std::optional<std::string> structure;  // of the workload
  std::int64_t after = 0;                // ids above this
  std::int64_t limit = -1;               // at most so many; -1: all
};

struct LogCounts {
  std::int64_t targets = 0, workloads = 0, families = 0, kernels = 0, sessions = 0, trials = 0,
               failed = 0;
};

class TuningLog {
 public:
  virtual ~TuningLog() = default;

  virtual Result<AppendSummary> Append(const LogBatch& batch) = 0;

  virtual Result<std::optional<TargetRecord>> FindTarget(const std::string& id) const = 0;
  virtual Result<std::optional<WorkloadRecord>> FindWorkload(const std::string& key) const = 0;
  virtual Result<std::optional<KernelRecord>> FindKernel(const std::string& hash) const = 0;
  virtual Result<std::optional<SessionRecord>> FindSession(const std::string& id) const = 0;
  virtual Result<std::optional<ModelRecord>> FindModel(const std::string& target,
                                                       const std::string& name) const = 0;
  // The family that a workload is in now, with its members.
  virtual Result<std::optional<FamilyRecord>> FamilyOf(const std::string& workload) const = 0;

  virtual Result<std::vector<TargetRecord>> Targets() const = 0;        // by id
  virtual Result<std::vector<WorkloadRecord>> Workloads() const = 0;    // by key
  virtual Result<std::vector<FamilyRecord>> Families() const = 0;       // by id
  virtual Result<std::vector<FamilyPinRecord>> FamilyPins() const = 0;  // by workload
  virtual Result<std::vector<SessionRecord>> Sessions() const = 0;      // by start
  virtual Result<std::vector<TaskRecord>> Tasks(
      const std::string& session) const = 0;  // by position
  virtual Result<std::vector<TaskProgress>> Progress(const std::string& session) const = 0;
  virtual Result<std::vector<TrialRecord>> Trials(const TrialFilter& filter) const = 0;  // by id

  virtual Result<std::optional<ProfileRecord>> FindProfile(std::int64_t trial) const = 0;

  virtual Result<std::optional<JobRecord>> FindJob(const std::string& id) const = 0;
  virtual Result<std::vector<JobRecord>> Jobs() const = 0;  // oldest first
  // The next of those queued: highest priority, then oldest.
  virtual Result<std::optional<JobRecord>> NextJob() const = 0;
  // Weights as of the record's own last_ms; by workload and target.
  virtual Result<std::vector<AskedRecord>> Asked() const = 0;

  // The fastest schedule (docs/log_schema.md, best_schedule), from trials up to `epoch` where that
  // is given.
  virtual Result<std::optional<TrialRecord>> BestSchedule(
      const std::string& workload, const std::string& target,
      std::optional<std::int64_t> epoch = {}) const = 0;
  // The best of each workload on a target, by workload.
  virtual Result<std::vector<TrialRecord>> BestSchedules(const std::string& target) const = 0;

  // Workloads that have trials above `after`, each with its target's id, distinct.
  virtual Result<std::vector<std::pair<std::string, std::string>>> MeasuredSince(
      std::int64_t after) const = 0;

  // The id of the last trial ever written; 0 in an empty log.
  virtual Result<std::int64_t> Epoch() const = 0;
  virtual Result<LogCounts> Counts() const = 0;

  // One sentence per thing that is wrong with the stored rows; empty when all is well.
  virtual Result<std::vector<std::string>> Verify() const = 0;
};

}  // namespace kindred
