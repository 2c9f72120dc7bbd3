// Targets by their names: what a command says with --target, and what can be measured there.
//
//   cpu, cpu:threads=N   this machine's processors, peaks measured
//   h200, a100, ...      a GPU as its data sheet describes it: for building and predicting without
//   it
#pragma once

#include <memory>
#include <string>

#include "measure/runner.h"
#include "schedules/base/result.h"
#include "schedules/target.h"

namespace kindred {

// For --help: "cpu, cpu:threads=N, ...".
std::string TargetNames();

// `cache`: directory of what was measured of devices; `anew`: measured again all the same. Errors:
// kBadInput for a name that says nothing (lists those there are); kEnvironment where the device is
// not there.
Result<Target> ResolveTarget(const std::string& name, const std::string& cache, bool anew = false);

// Whether there is a device behind the target. Error (kBadInput): it is a mere description; says
// what to do.
Result<void> CheckMeasurable(const Target& target);

// Error: as CheckMeasurable, and those of the runner.
Result<std::unique_ptr<Runner>> MakeRunner(const Target& target, const std::string& cache,
                                           const MeasureLimits& limits);

}  // namespace kindred
