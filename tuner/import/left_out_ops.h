// Operators that are left to the compiler on purpose, and why.
#pragma once

#include <string>

#include "tuner/import/onnx_model.h"

namespace kindred {

// Why a node whose operator has no lowering is left out: what its operator needs that the workload
// language does not have, or that no such operator is known.
std::string WhyNoForm(const OnnxNode& node);

}  // namespace kindred
