// From an ONNX model to the import's graph: one pass over the nodes in order, in which shapes are
// inferred, shape arithmetic is folded, views disappear, batch normalisations move into
// convolutions' weights, and every other node becomes units of stages or is left out with its
// reason. A fused operator is expanded (expand.h) into nodes of simpler
// operators first. All shapes are known numbers from the first node on, because symbolic
// dimensions are bound before.
#pragma once

#include <map>

#include "tuner/import/graph.h"
#include "tuner/import/onnx_model.h"

namespace kindred {

// `inputs`: the shapes of the model's inputs (bind_dims.h). `trips`: as in ImportOptions. Errors
// (kBadInput): a node that contradicts its operator.
Result<Graph> BuildGraph(const OnnxModel& model, const std::map<std::string, Shape>& inputs,
                         double trips);

}  // namespace kindred
