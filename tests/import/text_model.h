// Small ONNX models written as text (libonnx's parser), as files.
#pragma once

#include <map>
#include <string>

#include "schedules/base/result.h"
#include "tuner/import/import.h"

namespace kindred {

// The serialized model of e.g. "agraph (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"; a header
// with IR version 8 and the operator set is put before it.
std::string ModelBytes(const std::string& graph, int opset = 17);

// Writes bytes to a fresh file of the test's temporary folder; returns its path.
std::string WriteFile(const std::string& name, const std::string& bytes);

Result<ImportedModel> ImportText(const std::string& graph, int opset = 17,
                                 const std::map<std::string, std::int64_t>& dims = {});

}  // namespace kindred
