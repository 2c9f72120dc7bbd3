// Brings a graph's nodes into an order where producers stand before uses.
#pragma once

#include "tuner/import/onnx_model.h"

namespace kindred {

// Keeps the file's order where that is possible. Errors (kBadInput): a value produced twice, a
// value that nothing produces, a cycle; each names the nodes.
// `path` stands before messages. A `nested` graph may read values of the graphs around it: names
// that it does not know are passed over.
Result<void> SortNodes(const std::string& path, OnnxGraph& graph, bool nested = false);

}  // namespace kindred
