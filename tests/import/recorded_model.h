// A model of tests/models with the outputs that another implementation computed for it
// (tests/models/README.md, "Records").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/import/run_model.h"

namespace kindred {

struct RecordedModel {
  std::string path;  // of the .onnx file
  std::map<std::string, std::int64_t> dims;
  NamedValues inputs, outputs;
  double tolerance = 2e-5;  // of floats, relative above 1, absolute below
};

// `folder`: below tests/models. The record must be there and well formed.
RecordedModel ReadRecorded(const std::string& folder, const std::string& name);

// Names of the models with a record, sorted.
std::vector<std::string> RecordedNames(const std::string& folder);

// "" or the first value that differs; integers must be equal.
std::string DifferenceFrom(const RecordedModel& recorded, const NamedValues& outputs);

}  // namespace kindred
