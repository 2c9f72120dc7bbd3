// Functions that a model defines, written out where they are called.
#pragma once

#include "tuner/import/onnx_model.h"

namespace kindred {

// Replaces every node that calls one of the model's functions, in bodies too, by the function's
// nodes: their attributes that refer to the call's have its values or the function's defaults, and
// their values have names that the model does not have. A function is found by domain, name and
// overload; one with the name of a known operator takes its place. Errors (kBadInput): a function
// that calls itself, more inputs or outputs than it has, an expansion of more than a million nodes.
Result<void> InlineFunctions(OnnxModel& model);

}  // namespace kindred
