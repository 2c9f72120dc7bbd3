// Why a schedule won: what was measured for one workload on one target, decision by decision.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "database/tuning_log.h"

namespace kindred {

// {"key", "name", "target", "text", "untuned_ns", "roofline_ns", "trials", "failed",
//  "ranking": [{"trial", "median_ns", "low_ns", "high_ns", "predicted_ns", "schedule"}],
//  "separated": whether the winner's interval lies below the runner-up's,
//  "decisions": [{"name", "chosen", "values": [{"value", "trials", "best_ns"}]}]}
// `low_ns` and `high_ns` bound the median with 95% confidence (order statistics of the samples).
// Decisions are ordered by what a wrong value costs: the best time with another value over the
// winner's. Errors: kNotFound where the log has no valid trial of the workload on the target (its
// id or the name that a person types).
Result<nlohmann::ordered_json> ExplainSchedule(const TuningLog& log, const std::string& key,
                                               const std::string& target);

std::string ExplanationText(const nlohmann::ordered_json& explanation);

}  // namespace kindred
