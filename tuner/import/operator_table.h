// ONNX's own operators as they are defined since operator set 18, which libonnx 1.12 does not know.
//
// The definitions are facts of ONNX's registry, written by scripts/make_schemas. Only versions are
// there whose number of inputs or outputs or whose attributes differ from the version before.
#pragma once

#include <string>
#include <string_view>

#include "tuner/import/onnx_model.h"

namespace kindred {

// The operator sets that the table covers; of newer ones nothing is known.
inline constexpr int kOldestTabled = 18, kNewestTabled = 28;

struct OperatorDefinition {
  std::string_view name;
  int since;
  int least_inputs, most_inputs, least_outputs, most_outputs;
  // "name:kind" for each, separated by spaces, with "!" behind those that must be there. Kinds:
  // i f s t g p (integer, float, string, tensor, graph, type), in capitals for lists of them.
  std::string_view attributes;
};

// The definition that holds in an operator set, if it is one of the table; nullptr where libonnx's
// of operator set 17 still holds.
const OperatorDefinition* FindNewerDefinition(std::string_view op, int opset);

// How the node contradicts the definition, or "".
std::string Contradiction(const OperatorDefinition& definition, const OnnxNode& node);

}  // namespace kindred
