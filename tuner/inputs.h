// What a tuning run is given: models, workload files and zoo files, read and checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuner/import/import.h"

namespace kindred {

struct TuningInput {
  std::string path;
  ImportedModel model;
  double weight = 1;    // how often the model runs, relative to the others
  double priority = 1;  // multiplies its weight when trials are shared out
};

// `paths` are MODEL.onnx, WORKLOAD.kd or ZOO.json files ({"models": [{"path", "dims": {}, "weight",
// "priority"}]}, paths relative to the file). `dims` binds symbolic dimensions of all models; a
// zoo's own come first. Errors: unreadable, another ending, a malformed zoo (with the entry), and
// those of import.
Result<std::vector<TuningInput>> ReadInputs(const std::vector<std::string>& paths,
                                            const std::map<std::string, std::int64_t>& dims);

// One model by its ending (.onnx or .kd).
Result<ImportedModel> ReadModel(const std::string& path,
                                const std::map<std::string, std::int64_t>& dims);

// "batch=1": a dimension's name and its value.
Result<std::map<std::string, std::int64_t>> ParseDims(const std::vector<std::string>& bindings);

}  // namespace kindred
