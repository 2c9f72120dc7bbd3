// Schedules of inputs checked, not timed: what `kindred tune --target cuda-emulated` does. Nothing
// goes into a log, because nothing is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/runner.h"
#include "schedules/target.h"
#include "tuner/inputs.h"
#include "tuner/progress.h"

namespace kindred {

struct CheckedTask {
  std::string key, name;
  std::int64_t checked = 0, right = 0;
  struct Failure {
    std::string schedule, status, message;
  };
  std::vector<Failure> failures;
};

// `schedules` random ones of each distinct task, those of one seed always the same. Once `stop` is
// true, those that were not reached are missing. Errors: those of the runner.
Result<std::vector<CheckedTask>> CheckSchedules(std::vector<TuningInput> inputs,
                                                const Target& target, int schedules,
                                                std::uint64_t seed, Runner& runner,
                                                const std::function<bool()>& stop,
                                                Progress& progress);

std::string CheckedText(const std::vector<CheckedTask>& tasks, const Target& target);
std::string CheckedJson(const std::vector<CheckedTask>& tasks, const Target& target);

}  // namespace kindred
