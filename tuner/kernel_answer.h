// The best configuration that the log has of a user's kernel.
#pragma once

#include "database/tuning_log.h"
#include "schedules/target.h"
#include "tuner/kernel_input.h"
#include "tuner/kernel_package.h"

namespace kindred {

// As of `epoch` where that is given. Error (kNotFound): nothing right was measured on this target.
Result<KernelPackage> AnswerKernel(const TuningLog& log, const WorkloadRecord& kernel,
                                   const Target& target, std::optional<std::int64_t> epoch);

}  // namespace kindred
