// The settings that an ablation compares, and what is told of their runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "database/tuning_log.h"
#include "tuner/session.h"

namespace kindred::bench {

struct Setting {
  std::string name;
  TuneOptions options;
};

// The default, and it with one part taken out or exchanged. `names`: only these; empty: all. Error
// kBadInput: there is none of such a name.
Result<std::vector<Setting>> Settings(const std::vector<std::string>& names);

// The trials of a session over several tasks, in order.
using Trials = std::vector<TrialRecord>;

// Fastest right trial of each workload (by its key), ns.
void KeepBest(const Trials& trials, std::map<std::string, double>& best_ns);

// One row of the report; every run tuned all tasks of its entry in `best_ns` (one entry per run:
// the best that is known of each task).
nlohmann::ordered_json Row(const std::string& name, const std::vector<Trials>& runs,
                           const std::vector<std::map<std::string, double>>& best_ns);

// As a line on standard error.
void PrintRow(const nlohmann::ordered_json& row);

}  // namespace kindred::bench
