// From units to a workload: their stages put together, views composed into indices, cheap stages
// written into their readers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedules/workload.h"
#include "tuner/import/graph.h"

namespace kindred {

struct Assembled {
  Workload workload;
  // For each tensor of the workload: the value (its storage) in the graph.
  std::vector<int> values;
};

// `units` in topological order; `outputs`: storage ids of values that are read outside. Errors
// (kUnsupported): a view whose index arithmetic has no plain form, a stage that the workload
// language cannot check.
Result<Assembled> Assemble(const Graph& graph, const std::vector<int>& units,
                           const std::set<int>& outputs);

}  // namespace kindred
