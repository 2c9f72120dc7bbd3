// Binds a model's symbolic dimensions.
#pragma once

#include <map>

#include "tuner/import/onnx_model.h"

namespace kindred {

// The shapes of the model's inputs (initializers among them left away), by input name. A dimension
// that has no name in the model is called "input:index", e.g. "x:0". Errors (kBadInput): unbound
// dimensions, an extent below 1. Names that the model does not have are passed over; `used` gets
// the others.
Result<std::map<std::string, Shape>> BindDims(const OnnxModel& model,
                                              const std::map<std::string, std::int64_t>& dims,
                                              std::map<std::string, std::int64_t>& used);

}  // namespace kindred
