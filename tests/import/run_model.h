// Runs an imported model: every use of every task once its inputs are there, and the bodies of If,
// Loop and Scan as often as these say.
#pragma once

#include <map>
#include <string>

#include "schedules/base/result.h"
#include "tests/schedules/interpreter.h"
#include "tuner/import/import.h"

namespace kindred {

using NamedValues = std::map<std::string, TensorValues>;

struct RunOptions {
  bool canonical = false;  // run the canonical forms instead of the workloads as imported
  // Run compiled reference programs (schedules/lower_reference.h), what candidates are judged by,
  // instead of the interpreter.
  bool reference = false;
};

// The model's outputs by name. `path` is the model's file, whose weights are read. Errors: an
// output that no task makes, a weight without data, a reference program that does not compile.
Result<NamedValues> RunImported(const std::string& path, const ImportedModel& model,
                                const NamedValues& inputs, const RunOptions& options = {});

}  // namespace kindred
