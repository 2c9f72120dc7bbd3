// References in files, computed by a CPU worker: for runners whose own workers cannot.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "measure/builder.h"
#include "measure/internal/cache_directory.h"
#include "measure/internal/protocol.h"
#include "measure/internal/worker_process.h"
#include "measure/reference_plan.h"
#include "schedules/base/result.h"

namespace kindred {

// The request that computes a plan's reference, all but the file. Error: it does not compile.
Result<ComputeReferenceRequest> BuildReference(Builder& builder, const ReferencePlan& plan);

// Its worker ends with the thread that called FileOf; another call starts another.
class ReferenceMaker {
 public:
  // `program` serves `worker`. Error (kEnvironment): no compiler, cache directory not writable.
  static Result<std::unique_ptr<ReferenceMaker>> Make(const std::string& cache_directory,
                                                      const std::string& program, int build_jobs);
  // Path of the file with the plan's results; computed where it is not there, or `anew`. Error: the
  // reference cannot be built or run, there is no memory for it.
  Result<std::string> FileOf(const ReferencePlan& plan, bool anew);

 private:
  ReferenceMaker(std::string program, std::unique_ptr<Builder> builder, CacheDirectory files)
      : program_(std::move(program)), builder_(std::move(builder)), files_(std::move(files)) {}

  const std::string program_;
  const std::unique_ptr<Builder> builder_;
  const CacheDirectory files_;
  std::optional<WorkerProcess> worker_;
};

}  // namespace kindred
