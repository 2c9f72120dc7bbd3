// The end of a tuning run: a table per subgraph and each model's total, for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tuner/session.h"

namespace kindred {

std::string TuneReportText(const TuningSession& session);

// {"models": [{"model", "path", "dims", "total": {"untuned_ns", "best_ns", "complete"}, "coverage",
//              "sharing", "import"}],
//  "sharing": {"subgraphs", "tasks", "shared", "families", "saved_trials"},
//  "target", "session", "wall_s", "trials", "new_trials", "interrupted",
//  "tasks": [{"key", "name", "family", "count", "runs", "uses", "flop", "bytes", "untuned_ns",
//             "best_ns", "trials", "failed", "failures", "left_out", "untuned_message"}],
//  "time": {"build_s", "run_s", "search_s", "train_s", "other_s"}}
nlohmann::ordered_json TuneReportJson(const TuningSession& session);

}  // namespace kindred
