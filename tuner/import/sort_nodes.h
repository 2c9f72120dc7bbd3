// Brings a model's nodes into an order where producers stand before uses.
#pragma once

#include "tuner/import/onnx_model.h"

namespace kindred {

// Keeps the file's order where that is possible. Errors (kBadInput): a value produced twice, a
// value that nothing produces, a cycle; each names the nodes.
Result<void> SortNodes(OnnxModel& model);

}  // namespace kindred
