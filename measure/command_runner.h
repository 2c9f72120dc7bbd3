// Objectives that a program of the user's measures: it is run once per configuration and prints
// what it found. And programs of the user's that judge what a kernel wrote. docs/users_kernels.md.
//
// Such a program gets a process group of its own, no descriptors but its output's, /dev/null as its
// input, and a deadline; when that has passed, or the program has ended, the group is killed.
#pragma once

#include <memory>
#include <string>

#include "measure/kernel_runner.h"
#include "schedules/user/user_command.h"

namespace kindred {

struct CommandOptions {
  std::string folder;  // where the program runs
  double timeout_s = 60;
  bool maximise = false;
  std::string unit = "ms";  // of the objective
};

// What the program's standard output says, the whole of it or its last line being a JSON object:
//   {"time_ms": T or [T, ..]}   {"objective": X or [X, ..], "unit": "J"}   {"invalid": "why"}
// All numbers must be above zero, and the unit, where it is said, that of the options; times are in
// ms. median_ns is T or X, of what is maximised 1 / X, times 1e6.
Outcome OutcomeOf(const std::string& output, const CommandOptions& options);

// A KernelRunner that needs no reference. Error (kBadInput): the folder is none.
Result<std::unique_ptr<KernelRunner>> MakeCommandRunner(CommandOptions options);

}  // namespace kindred
