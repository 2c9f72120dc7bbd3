#include "tuner/import/group_graph.h"

#include <algorithm>

namespace kindred {

GroupGraph::GroupGraph(const Graph& graph)
    : graph_(graph), readers_(graph.values.size()), group_(graph.units.size(), -1) {
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (graph.units[u].prepared) continue;
    for (const int storage : graph.units[u].reads)
      readers_[static_cast<std::size_t>(storage)].push_back(static_cast<int>(u));
  }
}

int GroupGraph::Maker(int storage) const {
  const int u = graph_.values[static_cast<std::size_t>(storage)].unit;
  return u >= 0 && !unit(u).prepared ? u : -1;
}

bool GroupGraph::Free(int u) const {
  return group_[static_cast<std::size_t>(u)] < 0 && !unit(u).prepared && !unit(u).stages.empty();
}

void GroupGraph::Commit(const std::vector<int>& units) {
  for (const int u : units) group_[static_cast<std::size_t>(u)] = static_cast<int>(members_.size());
  members_.push_back(units);
}

std::set<int> GroupGraph::Escaping(const std::vector<int>& units) const {
  std::set<int> escaping;
  for (const int u : units)
    for (const int storage : unit(u).values) {
      bool outside = graph_.values[static_cast<std::size_t>(storage)].model_output;
      for (const int reader : Readers(storage))
        outside = outside || std::find(units.begin(), units.end(), reader) == units.end();
      if (outside) escaping.insert(storage);
    }
  return escaping;
}

bool GroupGraph::Convex(const std::vector<int>& units) const {
  std::vector<char> seen(graph_.units.size(), 0);  // 1: reached from the group, outside of it
  std::vector<char> inside(graph_.units.size(), 0);
  for (const int u : units) inside[static_cast<std::size_t>(u)] = 1;
  std::vector<int> open;
  const auto follow = [&](int u) {
    for (const int storage : unit(u).values)
      for (const int reader : Readers(storage))
        if (!inside[static_cast<std::size_t>(reader)] && !seen[static_cast<std::size_t>(reader)]) {
          seen[static_cast<std::size_t>(reader)] = 1;
          open.push_back(reader);
        }
  };
  for (const int u : units) follow(u);
  while (!open.empty()) {
    const int u = open.back();
    open.pop_back();
    const auto visit = [&](int member) -> bool {
      for (const int storage : unit(member).values)
        for (const int reader : Readers(storage))
          if (inside[static_cast<std::size_t>(reader)]) return false;
      seen[static_cast<std::size_t>(member)] = 1;
      follow(member);
      return true;
    };
    const int group = GroupOf(u);
    if (group < 0) {
      if (!visit(u)) return false;
      continue;
    }
    for (const int member : members_[static_cast<std::size_t>(group)])
      if (!visit(member)) return false;
  }
  return true;
}

}  // namespace kindred
