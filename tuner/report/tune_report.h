// The end of a tuning run: a table per subgraph and each model's total, for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tuner/session.h"

namespace kindred {

std::string TuneReportText(const TuningSession& session);

// {"models": [{"model", "total": {"untuned_ns", "best_ns"}, "coverage": {"nodes", "tunable"}}],
//  "target", "wall_s", "trials",
//  "tasks": [{"key", "name", "family", "count", "uses", "flop", "bytes", "untuned_ns", "best_ns",
//             "trials", "failed"}],
//  "time": {"build_s", "run_s", "search_s", "train_s", "other_s"}}
nlohmann::ordered_json TuneReportJson(const TuningSession& session);

}  // namespace kindred
