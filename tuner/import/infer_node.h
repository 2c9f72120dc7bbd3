// Types and shapes of one node's outputs by ONNX's own inference (libonnx 1.12, operator sets up to
// 17); newer nodes are put to it as what they would be there (infer_newer.h).
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

// Whether libonnx has the node's operator in its operator set, or in the newest that it knows.
bool KnownToLibrary(const OnnxNode& node);

// How many inputs the operator's definition requires, as far as it is known; else 1.
int LeastInputs(const OnnxNode& node);

// Errors (kBadInput): the node contradicts its operator's definition in its attributes or number of
// inputs. Operators and operator sets of which nothing is known pass.
Result<void> VerifyNode(const OnnxModel& model, const OnnxNode& node);

// One entry per output of the node, which VerifyNode has passed. What cannot be told (an operator
// of another domain, a shape that depends on data) comes back as unknown. Errors (kBadInput):
// element types or shapes that do not fit. They are told only where libonnx has the node's own
// operator set, the types of all inputs are known, and the model has written the node
// (`of_model`): expansions mix types more freely.
Result<std::vector<InferredType>> InferNode(const OnnxModel& model, const OnnxNode& node,
                                            const std::vector<NodeInput>& inputs, bool of_model);

}  // namespace kindred
