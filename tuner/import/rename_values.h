// Nodes and bodies put into another place of a model, where their values have other names.
#pragma once

#include <map>
#include <string>

#include "tuner/import/onnx_model.h"

namespace kindred {

// By name in the old place. "" for a value that is not there: an optional input left away.
using NewNames = std::map<std::string, std::string>;

std::string NewName(const NewNames& names, const std::string& name);

// Inputs, outputs, what bodies capture, and the reads of it inside the bodies.
void RenameValues(const NewNames& names, OnnxNode& node);

// The body with `prefix` before the names of what it makes, and `names` for what it captures.
OnnxGraph RenamedBody(OnnxGraph body, NewNames names, const std::string& prefix);

}  // namespace kindred
