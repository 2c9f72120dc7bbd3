// Runs an imported model through the interpreter of workloads: every use of every task once its
// inputs are there.
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
};

// The model's outputs by name. `path` is the model's file, whose weights are read. Errors: an
// output that no task makes, a weight without data.
Result<NamedValues> RunImported(const std::string& path, const ImportedModel& model,
                                const NamedValues& inputs, const RunOptions& options = {});

}  // namespace kindred
