// Names of subgraphs, for people: "conv2d 3x3 64->64 56x56 + relu".
#pragma once

#include <string>

#include "tuner/import/onnx_model.h"
#include "tuner/import/partition.h"

namespace kindred {

std::string NameOf(const Graph& graph, const Group& group);

}  // namespace kindred
