// The queue of tuning jobs and the one tuner process that works it.
//
// Jobs live in the log. A job that was running when the service ended is queued again at its start:
// the tuner goes on from what the log holds. The queue's thread starts the next job when the last
// has ended; a job of higher priority waits for the running one.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "database/tuning_log.h"
#include "tuner/service/model_store.h"

namespace kindred {

struct JobQueueOptions {
  std::string log;    // path
  std::string cache;  // directory
};

class JobQueue {
 public:
  // All must outlive the queue. Requeues what was running. Error: the log's.
  JobQueue(TuningLog& log, const ModelStore& store, JobQueueOptions options)
      : log_(log), store_(store), options_(std::move(options)) {}
  ~JobQueue();
  Result<void> Start();

  // Takes a job into the queue; gives it its id and its time.
  Result<JobRecord> Add(JobRecord job);
  // kNotFound: no such job. A finished one stays as it is.
  Result<JobRecord> Cancel(const std::string& id);
  // How far the job's session has come: JSON object, empty before it began.
  Result<std::string> ProgressOf(const JobRecord& job) const;

 private:
  void Work();
  Result<void> RunJob(JobRecord job);
  Result<void> Save(const JobRecord& job);
  std::vector<std::string> CommandOf(const JobRecord& job, const std::string& zoo) const;
  // Waits; true: the queue is to stop, or the job to be cancelled.
  bool Interrupted(std::chrono::milliseconds pause);

  TuningLog& log_;
  const ModelStore& store_;
  const JobQueueOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, woken_ = false;
  std::string running_;  // id
  bool cancel_ = false;  // the running one
  std::thread thread_;
};

}  // namespace kindred
