#include "tuner/import/group_graph.h"

#include <algorithm>
#include <iterator>

namespace kindred {

GroupGraph::GroupGraph(const Graph& graph)
    : graph_(graph),
      readers_(graph.values.size()),
      group_(graph.units.size(), -1),
      marks_(graph.units.size(), 0) {
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
  // Spans that overlap become one.
  auto [low, high] = std::minmax_element(units.begin(), units.end());
  int from = *low, to = *high;
  auto at = spans_.upper_bound(from);
  if (at != spans_.begin() && std::prev(at)->second >= from) --at;
  while (at != spans_.end() && at->first <= to) {
    from = std::min(from, at->first);
    to = std::max(to, at->second);
    at = spans_.erase(at);
  }
  spans_.emplace(from, to);
}

int GroupGraph::LastThatComesBack(int last) const {
  const auto after = spans_.upper_bound(last);
  return after == spans_.begin() ? last : std::max(last, std::prev(after)->second);
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
  enum Mark { kInside, kSeen };
  ++walk_;
  const auto marked = [this](int u, Mark mark) {
    return marks_[static_cast<std::size_t>(u)] == 2 * walk_ + mark;
  };
  const auto set = [this](int u, Mark mark) {
    marks_[static_cast<std::size_t>(u)] = 2 * walk_ + mark;
  };
  for (const int u : units) set(u, kInside);
  const int last = LastThatComesBack(*std::max_element(units.begin(), units.end()));
  std::vector<int> open;  // reached from the group, outside of it
  const auto follow = [&](int u) {
    for (const int storage : unit(u).values)
      for (const int reader : Readers(storage)) {
        if (reader > last || marked(reader, kInside) || marked(reader, kSeen)) continue;
        set(reader, kSeen);
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
          if (marked(reader, kInside)) return false;
      set(member, kSeen);
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
