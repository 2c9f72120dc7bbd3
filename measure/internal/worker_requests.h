// Requests to a worker that are not about a candidate.
#pragma once

#include <cstdint>
#include <string>

#include "measure/internal/worker_process.h"
#include "schedules/base/result.h"

namespace kindred {

// A request that must succeed: anything else is an error of the runner, which begins with `what`.
// Its kind is kEnvironment where the worker is gone, kInternal where it answered or took too long.
// The answer's `more`.
Result<std::string> Must(WorkerProcess& worker, const std::string& line, double timeout_s,
                         const std::string& what);

// Processes that the system has killed for want of memory, since it started; 0 where it does not
// tell.
std::int64_t OutOfMemoryKills();

}  // namespace kindred
