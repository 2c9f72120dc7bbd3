// What the expansions of ONNX's classical machine-learning operators (ai.onnx.ml) share: their
// parameters stand in attributes, their results are f32 whatever they read.
#pragma once

#include <string>

#include "tuner/import/expand.h"

namespace kindred {

Result<std::string> CastTo(Expander& e, const std::string& x, DataType type);

// The node's attribute post_transform, and whether its scores may be passed on as they are.
Result<std::string> ReadPostTransform(Expander& e);
// `scores` [n, classes] after `transform`.
Result<std::string> PostTransform(Expander& e, const std::string& transform,
                                  const std::string& scores);
// Of a decision between two classes: [n, 2] of the second one's score [n, 1]. The first one's is
// the opposite (`opposite`) or what is missing to 1, and both pass through LOGISTIC.
Result<std::string> BothScores(Expander& e, const std::string& transform, const std::string& second,
                               bool opposite);

// Output 0, where something reads it, from `chosen` [n], the number of each row's class.
// Error (kUnsupported): labels that are no integers.
Result<void> CheckLabels(Expander& e, const std::string& numbers, const std::string& texts,
                         std::size_t classes);
Result<void> AddLabels(Expander& e, const std::string& numbers, const std::string& chosen);

}  // namespace kindred
