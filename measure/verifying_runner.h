// What is right is what a program of the user's says of a kernel's outputs.
//
// Each candidate is run once, its arguments are written as NAME.npy into a folder (of a buffer that
// is read and written also NAME.before.npy), and the program is run: exit code 0 means right. What
// the candidate wrote then is what its timed runs are compared with.
#pragma once

#include <memory>

#include "measure/command_runner.h"

namespace kindred {

struct VerifierOptions {
  UserCommand command;  // "{outputs}" in its words, and $KINDRED_OUTPUTS, are the outputs' folder
  std::string folder;   // where the program runs
  double timeout_s = 60;
};

// `kernels` has a task whose save_to is `outputs`, which is removed in the end.
std::unique_ptr<KernelRunner> MakeVerifyingRunner(std::unique_ptr<KernelRunner> kernels,
                                                  std::string outputs, VerifierOptions options);

// A new folder for outputs. Error (kEnvironment): it cannot be made.
Result<std::string> MakeOutputsFolder();

}  // namespace kindred
