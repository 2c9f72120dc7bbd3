// Cuts the graph's units into groups, each to become one workload.
//
// Three passes, each of which keeps the graph of groups free of cycles (groups are convex):
//   1. contractions and windows take transpositions of their operands, then the pointwise units
//   behind them;
//   2. row reductions grow along rows: pointwise units and reductions over the same trailing axes;
//   3. what is left (pointwise and movement) grows from its last unit backwards.
// Every unit that is neither prepared nor left out is in exactly one group.
#pragma once

#include <set>
#include <vector>

#include "tuner/import/graph.h"

namespace kindred {

struct Group {
  std::vector<int> units;  // in topological order
  int anchor = -1;         // the unit that the group grew from
  std::set<int> outputs;   // storage ids of values read outside
};

// In topological order of the groups.
std::vector<Group> Partition(const Graph& graph);

}  // namespace kindred
