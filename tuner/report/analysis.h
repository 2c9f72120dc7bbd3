// Offline analysis of a tuning log: what was tried, what won and why, what is left, what is noisy,
// where the tuner's own time went. One JSON value, which the HTML report shows as it is.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "database/tuning_log.h"

namespace kindred {

// {"log", "epoch", "version", "counts": {...},
//  "targets": [{"id", "name", "model", "peak_f32_gflops", "memory_gbps", "subgraphs": [Subgraph],
//               "families": [{"id", "members": [key], "trials", "decisions": [{"name", "values":
//               [{"value", "winners"}]}]}],
//               "models": [{"name", "untuned_ns", "best_ns", "roofline_ns", "subgraphs": [{"key",
//               "count"}], "complete"}]}],
//  "sessions": [{"id", "target", "state", "seed", "version", "started_ms", "updated_ms", "trials",
//                "failed", "options", "time"}],
//  "failures": [{"status", "trials", "example"}],
//  "noise": {"spread": [{"below", "trials"}], "median"},
//  "models": {"trials", "error_log2": {"p10", "p50", "p90"}, "rank_correlation"}}
//
// Subgraph: {"key", "name", "family", "flop", "bytes", "untuned_ns", "best_ns", "roofline_ns",
// "gflops", "trials", "failed", "curve": [[trial, best_ns]], "winner": Schedule, "runner_up":
// Schedule}; Schedule: {"trial", "median_ns", "spread", "predicted_ns", "sketch", "schedule",
// "searcher", "session"}. Times in ns; null: nothing valid was measured. `spread` is the
// interquartile range of the samples over their median.
Result<nlohmann::ordered_json> AnalyzeLog(const TuningLog& log, const std::string& path);

// What changed from `before` to `after`, both of AnalyzeLog: [{"target", "key", "name",
// "before_ns", "after_ns"}] for the subgraphs that both know, biggest change first.
nlohmann::ordered_json CompareAnalyses(const nlohmann::ordered_json& before,
                                       const nlohmann::ordered_json& after);

// One self-contained page: no request leaves it.
std::string AnalysisHtml(const nlohmann::ordered_json& analysis);
// For the terminal.
std::string AnalysisText(const nlohmann::ordered_json& analysis);

}  // namespace kindred
