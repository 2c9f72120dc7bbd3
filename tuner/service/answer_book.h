// The service's answers, kept as the bytes that go out.
//
// A question is (workload as the asker wrote it, target, epoch, constraints); equal questions are
// answered once. What was measured for a workload drops the answers about it; answers that rest on
// no measurement of their own (sibling, predicted, default) are dropped whenever anything was
// measured. An answer names the log's epoch at which it was made, and has stayed true since.
//
// Threads: Find and Count may be called from any thread and take microseconds; Answer searches the
// log and may run a search (tens of milliseconds), so it belongs on a worker.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "database/tuning_log.h"
#include "schedules/base/hash.h"
#include "schedules/base/mutex.h"
#include "tuner/answer.h"
#include "tuner/service/targets.h"

namespace kindred {

struct Question {
  std::string key;       // of a workload in the log; or
  std::string workload;  // text form
  std::string target = "cpu";
  std::optional<std::int64_t> epoch;
  Constraints constraints;

  Hash128 Digest() const;
};

struct KeptAnswer {
  std::shared_ptr<const std::string> body;  // JSON: ToJson(KernelPackage)
  std::string etag;                         // with its quotes
  std::string workload;                     // key
  std::string target;                       // as asked for
  MatchLevel match = MatchLevel::kDefault;
};
using KeptAnswerPtr = std::shared_ptr<const KeptAnswer>;

class AnswerBook {
 public:
  // Both must outlive the book.
  AnswerBook(TuningLog& log, ServedTargets& targets) : log_(log), targets_(targets) {}

  // nullptr: not answered yet.
  KeptAnswerPtr Find(const Hash128& question) const;
  // Errors: kNotFound (a key that is not in the log), kBadInput (workload or target), those of the
  // log.
  Result<KeptAnswerPtr> Answer(const Question& question);

  // Drops what the log has overtaken.
  Result<void> Refresh();

  // Notes that the answer was given.
  void Count(const KeptAnswer& answer);
  // Writes what was counted to the log, where it becomes the weight of workloads.
  Result<void> WriteCounts();

  std::size_t size() const;
  std::int64_t epoch() const;

 private:
  struct Kept {
    KeptAnswerPtr answer;
    bool pinned = false;  // to an epoch: never overtaken
  };

  Result<Workload> WorkloadOf(const Question& question) const;
  void Keep(const Hash128& question, const KeptAnswerPtr& answer, bool pinned, std::int64_t epoch);

  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  TuningLog& log_;
  ServedTargets& targets_;
  mutable Mutex mutex_;
  std::unordered_map<Hash128, Kept> kept_ KINDRED_GUARDED_BY(mutex_);
  std::size_t bytes_ KINDRED_GUARDED_BY(mutex_) = 0;
  std::int64_t epoch_ KINDRED_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<std::string, std::string>, std::int64_t> counts_ KINDRED_GUARDED_BY(mutex_);
  std::map<std::string, WorkloadRecord> unlogged_ KINDRED_GUARDED_BY(mutex_);
};

}  // namespace kindred
