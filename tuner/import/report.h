// What `kindred import` prints.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tuner/import/import.h"

namespace kindred {

// A table of subgraphs (name, key, count, FLOP, bytes), their text forms, totals, coverage, and
// every node left out with its reason.
std::string DescribeImport(const ImportedModel& model);

// {"model", "coverage": {"nodes", "tunable", "left_out": [{"node", "op", "reason"}]},
//  "dims", "tasks": [{"key", "name", "count", "runs", "flop", "bytes", "text"}]}
nlohmann::json ImportToJson(const ImportedModel& model);

}  // namespace kindred
