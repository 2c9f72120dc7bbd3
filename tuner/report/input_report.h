// What the reports of `kindred import` and `kindred tune` say of their inputs: coverage, what is
// left out and why, and what the models share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tuner/distinct_tasks.h"

namespace kindred {

struct LeftOutReason {
  std::string op;  // empty: whatever reads a node that is left out
  std::string reason;
  int nodes = 0, models = 0;
};
// Most nodes first.
std::vector<LeftOutReason> LeftOutByReason(std::span<const TuningInput> inputs);

// "left out: 12 TopK: ...", a line each; empty where nothing is left out.
std::string LeftOutText(std::span<const TuningInput> inputs);

// "98.3%" of the compute nodes.
std::string CoverageText(const ImportedModel& model);

// "412 subgraphs in 20 models, 160 of them different, in 61 families; 23 of these in two or more
// models, " and what that saved.
std::string SharingText(const Sharing& sharing, const std::string& saved);

// {"subgraphs", "tasks", "shared", "families"}
nlohmann::ordered_json SharingJson(const ModelSharing& sharing);

// {"nodes", "tunable", "reasons": [{"op", "reason", "nodes"}]}
nlohmann::ordered_json CoverageJson(const TuningInput& input);

// {"seconds", "peak_bytes"}: what the import took.
nlohmann::ordered_json ImportCostJson(const TuningInput& input);

}  // namespace kindred
