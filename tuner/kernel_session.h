// A tuning session of one user's kernel.
//
// Invariants
// - A session is (kernel, space, target, seed, searcher, batch); its id is the digest of these.
//   Budgets are no part of it: the same command with more trials goes on where it was.
// - Every finished trial is in the log before the next one is measured.
// - Decisions depend on the seed and the outcomes in the order of proposal: a resumed session makes
//   them again from the log.
// - What is right is what the reference function writes, or, without one, the first configuration
//   that runs; of a resumed session the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "database/tuning_log.h"
#include "measure/kernel_runner.h"
#include "schedules/target.h"
#include "tuner/kernel_input.h"
#include "tuner/progress.h"

namespace kindred {

struct KernelTuneOptions {
  std::int64_t trials = 0;  // 0: no such bound
  double time_s = 0;        // of this run; 0: no such bound
  std::uint64_t seed = 0;
  std::string searcher = "surrogate";
  int batch = 8;
};

struct KernelTuneReport {
  std::string key, family, session, name, target;
  std::size_t configurations = 0;
  std::int64_t trials = 0, new_trials = 0, failed = 0;
  std::map<std::string, std::int64_t> failures;  // by status
  std::string reference;    // "function NAME", or the configuration that is one
  double reference_ns = 0;  // of a function; 0: not timed
  double best_ns = 0;       // validated; 0: none
  std::string best;         // configuration as JSON
  // Of a command: best_ns is the objective times 1e6, or 1e6 over it where that is maximised.
  std::string unit;
  bool command = false, maximise = false;
  bool interrupted = false, exhausted = false;
  double wall_s = 0;
};

// Errors: those of log and runner; unknown searcher; kBadInput: the reference does not compile or
// run, or the kernel does not compile in any configuration that was tried (all trials are in the
// log).
Result<KernelTuneReport> TuneKernel(const KernelInput& input, const Target& target,
                                    const KernelTuneOptions& options, KernelRunner& runner,
                                    TuningLog& log, const std::function<bool()>& stop,
                                    Progress& progress);

}  // namespace kindred
