// Types and shapes of nodes of operator sets that libonnx 1.12 does not know.
//
// Most operators mean the same for shapes as they did in operator set 17: AsOlder writes the node
// as it would have been then. Others, where a left-out node's shape matters to those behind it, are
// inferred here.
#pragma once

#include <optional>
#include <vector>

#include "tuner/import/infer_node.h"

namespace kindred {

struct OlderNode {
  OnnxNode node;
  std::vector<NodeInput> inputs;
};

// nullopt: operator set 17 has nothing with these outputs, or what decides is not known.
std::optional<OlderNode> AsOlder(const OnnxNode& node, const std::vector<NodeInput>& inputs);

// nullopt: an operator that is not inferred here; else an entry per output.
std::optional<std::vector<InferredType>> InferNewer(const OnnxNode& node,
                                                    const std::vector<NodeInput>& inputs);

}  // namespace kindred
