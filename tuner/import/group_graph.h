// The graph of groups while they grow: who reads what, and whether a merge would close a cycle.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tuner/import/graph.h"

namespace kindred {

class GroupGraph {
 public:
  explicit GroupGraph(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const Unit& unit(int u) const { return graph_.units[static_cast<std::size_t>(u)]; }
  // Units that read the storage, ascending; prepared ones are not among them.
  const std::vector<int>& Readers(int storage) const {
    return readers_[static_cast<std::size_t>(storage)];
  }
  // The unit that makes the storage while the model runs, -1 if none does.
  int Maker(int storage) const;

  // Not yet in a group, and something to group.
  bool Free(int u) const;
  // Free, and of the same scope as the others.
  bool CanJoin(int u, const std::vector<int>& units) const {
    return Free(u) && unit(u).scope == unit(units.front()).scope;
  }
  void Commit(const std::vector<int>& units);
  int GroupOf(int u) const { return group_[static_cast<std::size_t>(u)]; }

  // Storage ids made by `units` and read elsewhere.
  std::set<int> Escaping(const std::vector<int>& units) const;
  // True if no path leaves `units` and comes back (through other groups as they are now).
  bool Convex(const std::vector<int>& units) const;

 private:
  // The last unit from which a path may lead to unit `last` or one before it: units stand in
  // topological order, so that only a group can lead back.
  int LastThatComesBack(int last) const;

  const Graph& graph_;
  std::vector<std::vector<int>> readers_;  // by storage
  std::vector<int> group_;                 // by unit; -1: none yet
  std::vector<std::vector<int>> members_;  // by group
  std::map<int, int> spans_;  // first and last units of groups, overlapping ones together
  // By unit: what the walk of Convex at hand knows of it. Not for several threads.
  mutable std::vector<std::int64_t> marks_;
  mutable std::int64_t walk_ = 0;
};

}  // namespace kindred
