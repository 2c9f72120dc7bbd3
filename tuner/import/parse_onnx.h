// Parses a model file.
#pragma once

#include <string>

#include "schedules/base/result.h"

namespace onnx {
class ModelProto;
}

namespace kindred {

// The model without the data of its large tensors (skim_onnx.h). Errors: cannot be read, larger
// than 2 GiB, truncated, not ONNX.
Result<void> ParseOnnx(const std::string& path, onnx::ModelProto& model);

}  // namespace kindred
