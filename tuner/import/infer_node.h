// Types and shapes of one node's outputs by ONNX's own inference (libonnx 1.12, operator sets up to
// 17).
#pragma once

#include <string>
#include <vector>

#include "tuner/import/onnx_model.h"

namespace kindred {

// The newest operator set whose operators libonnx 1.12 knows.
inline constexpr int kNewestOpset = 17;

struct NodeInput {
  std::string name;      // "" where an optional input is left away
  int element_type = 0;  // 0: unknown
  bool has_shape = false;
  Shape shape;
  ConstantPtr constant;  // known data, or null
};

struct InferredType {
  int element_type = 0;  // 0: unknown
  bool has_shape = false;
  Shape shape;
};

// Errors (kBadInput): the node contradicts its operator's definition in its attributes or number of
// inputs. Operators that libonnx does not know pass.
Result<void> VerifyNode(const OnnxModel& model, const OnnxNode& node);

// One entry per output of the node, which VerifyNode has passed. What cannot be told (an operator
// of another domain or a newer operator set, a shape that depends on data) comes back as unknown.
// Errors (kBadInput): element types or shapes that do not fit.
Result<std::vector<InferredType>> InferNode(const OnnxModel& model, const OnnxNode& node,
                                            const std::vector<NodeInput>& inputs);

}  // namespace kindred
