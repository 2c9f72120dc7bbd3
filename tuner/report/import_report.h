// What `kindred import` prints of one or several models.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tuner/inputs.h"

namespace kindred {

// One model in full (DescribeImport); of several a table with a row for each and one for all, what
// they share, and what is left out by reason.
std::string ImportReportText(std::span<const TuningInput> inputs);

// {"models": [{"model", "path", "dims", "coverage", "tasks", "sharing", "import"}],
//  "sharing": {"subgraphs", "tasks", "shared", "families", "saved_tasks"}}
nlohmann::ordered_json ImportReportJson(std::span<const TuningInput> inputs);

}  // namespace kindred
