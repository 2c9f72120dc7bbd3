// A model without its weights, to be given away: what the import needs of it and nothing else.
//
// Kept are the graph, names, types and shapes, and the data that shapes or workloads depend on:
// integers (of up to kLargestConstant elements, and unless they are quantised weights), single
// numbers, and the few floats that operators take as shapes (scales of Resize). The data of all
// other tensors are left out; a tensor without them says so (kStrippedLocation). Also left out:
// training information, documentation strings, metadata, fields that this version does not know,
// and long lists in attributes of operators that are not ONNX's own; of classical models (ai.onnx.ml)
// the integers and the modes of nodes stay, which are their shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

struct StrippedTensor {
  std::string name;
  bool kept = false;
  std::string reason;  // why it was kept, or ""
};

struct StripReport {
  std::int64_t bytes_before = 0;  // of the model and of its external data
  std::int64_t bytes_after = 0;
  std::vector<StrippedTensor> tensors;

  int kept() const;
  int dropped() const { return static_cast<int>(tensors.size()) - kept(); }
};

// Writes the model at `path` without its weights to `out`, as a whole or not at all. The import
// finds the same in both. Errors: those of reading the model; `out` is the model itself or cannot
// be written.
Result<StripReport> StripOnnx(const std::string& path, const std::string& out);

}  // namespace kindred
