// What a tuning run is given: models, workload files and zoo files, read and checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuner/import/import.h"

namespace kindred {

// Values of symbolic dimensions, by name. Each combination of a model's values is a model of its
// own.
using DimValues = std::map<std::string, std::vector<std::int64_t>>;

struct InputOptions {
  DimValues dims;
  // As in ImportOptions.
  double trips = 1;
  int instances = 1;
};

struct TuningInput {
  std::string path;
  ImportedModel model;  // its name says its bindings: "bert [seq=128]"
  double weight = 1;    // how often the model runs, relative to the others
  double priority = 1;  // multiplies its weight when trials are shared out
  double import_s = 0;
  // Resident memory of this process at its peak during the import; 0: the system does not tell.
  std::int64_t import_peak_bytes = 0;
};

// `paths` are MODEL.onnx, WORKLOAD.kd or ZOO.json files ({"models": [{"path", "dims": {}, "weight",
// "priority"}]}, paths relative to the file, values of dims numbers or lists of them). A zoo's own
// dims come before the options'. Names of models are made different by their folders where files
// of one name lie in several. Errors: unreadable, another ending, a malformed zoo (with the entry),
// a dimension that none of the models (or not the zoo's entry) has, instances of a workload file,
// and those of import.
Result<std::vector<TuningInput>> ReadInputs(const std::vector<std::string>& paths,
                                            const InputOptions& options);

// Error (kBadInput): the model does not have one of these dimensions; names it, and those there
// are.
Result<void> CheckDims(const ImportedModel& model, const std::map<std::string, std::int64_t>& dims);

struct NamedWorkload {
  std::string name;
  Workload workload;
};
// A model of workloads that run once each; path and name are `name`.
TuningInput InputOfWorkloads(const std::string& name, std::vector<NamedWorkload> workloads);

// "batch=1", "seq=128,384": a dimension's name and its values. Naming a dimension again adds
// values.
Result<DimValues> ParseDims(const std::vector<std::string>& bindings);

}  // namespace kindred
