// Runs a program of the user's: measure/command_runner.h says how.
#pragma once

#include <string>

#include "measure/command_runner.h"

namespace kindred {

struct UserProgramRun {
  Outcome failure;     // kOk where it ended with exit code 0
  std::string output;  // the end of its standard output
  double wall_s = 0;
};

// Error (kBadInput): there is no such program; (kEnvironment): it cannot be started.
Result<UserProgramRun> RunUserProgram(const UserCommand& command, const std::string& folder,
                                      double timeout_s);

}  // namespace kindred
