#include "tuner/families.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kindred {
namespace {

std::vector<double> Mean(std::span<const FamilyDescriptor> tasks, const std::vector<int>& members) {
  std::vector<double> mean(tasks[static_cast<std::size_t>(members[0])].descriptors.size(), 0.0);
  for (const int m : members) {
    const auto& d = tasks[static_cast<std::size_t>(m)].descriptors;
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += d[i];
  }
  for (double& x : mean) x /= static_cast<double>(members.size());
  return mean;
}

// Tasks that move together, at the mean of their descriptors.
struct Point {
  std::vector<int> tasks;  // ascending
  std::vector<double> descriptors;
  int cohort = 0;
};

// The tasks of one structure as points, in the order of their descriptors.
std::vector<Point> Points(std::span<const FamilyDescriptor> tasks, const std::vector<int>& ids,
                          std::span<const std::pair<int, int>> links,
                          std::span<const int> cohorts) {
  std::map<int, int> parent, cohort;  // the cohort of a root
  for (const int id : ids) {
    parent[id] = id;
    cohort[id] = cohorts.empty() ? 0 : cohorts[static_cast<std::size_t>(id)];
  }
  const auto root = [&](int id) {
    while (parent[id] != id) id = parent[id] = parent[parent[id]];
    return id;
  };
  const auto join = [&](int a, int b) {
    a = root(a), b = root(b);
    if (cohort[a] != 0 && cohort[b] != 0 && cohort[a] != cohort[b]) return;
    cohort[b] = std::max(cohort[a], cohort[b]);
    parent[a] = b;
  };
  std::map<int, int> first;
  for (const int id : ids)
    if (cohort[id] != 0) join(id, first.try_emplace(cohort[id], id).first->second);
  for (const auto& [a, b] : links)
    if (parent.contains(a) && parent.contains(b)) join(a, b);
  std::map<int, Point> by_root;
  for (const int id : ids) by_root[root(id)].tasks.push_back(id);
  std::vector<Point> points;
  for (auto& [id, point] : by_root) {
    point.descriptors = Mean(tasks, point.tasks);
    point.cohort = cohort[id];
    points.push_back(std::move(point));
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.descriptors != b.descriptors ? a.descriptors < b.descriptors : a.tasks < b.tasks;
  });
  return points;
}

// DP-means on the points of one structure, visited in order.
std::vector<Family> Cluster(std::span<const FamilyDescriptor> tasks,
                            const std::vector<Point>& points, const FamilyOptions& options) {
  std::vector<Family> families(1);
  for (const Point& point : points)
    families[0].members.insert(families[0].members.end(), point.tasks.begin(), point.tasks.end());
  families[0].centre = Mean(tasks, families[0].members);
  const double limit = options.radius * options.radius;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    std::vector<std::vector<int>> assigned(families.size());
    std::vector<int> cohorts(families.size(), 0);
    for (const Point& point : points) {
      std::size_t best = 0;
      double best_distance = INFINITY;
      for (std::size_t f = 0; f < families.size(); ++f) {
        if (point.cohort != 0 && cohorts[f] != 0) continue;  // another's
        const double distance = SquaredDistance(point.descriptors, families[f].centre);
        if (distance < best_distance) best = f, best_distance = distance;
      }
      if (best_distance > limit) {
        families.emplace_back().centre = point.descriptors;
        assigned.emplace_back();
        cohorts.push_back(0);
        best = families.size() - 1;
      }
      cohorts[best] = std::max(cohorts[best], point.cohort);
      assigned[best].insert(assigned[best].end(), point.tasks.begin(), point.tasks.end());
    }
    std::vector<Family> next;
    for (std::size_t f = 0; f < families.size(); ++f) {
      if (assigned[f].empty()) continue;
      Family& family = next.emplace_back();
      family.members = assigned[f];
      family.centre = Mean(tasks, family.members);
    }
    const bool settled =
        next.size() == families.size() &&
        std::equal(next.begin(), next.end(), families.begin(),
                   [](const Family& a, const Family& b) { return a.members == b.members; });
    families = std::move(next);
    if (settled) break;
  }
  return families;
}

}  // namespace

double SquaredDistance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

std::vector<Family> FormFamilies(std::span<const FamilyDescriptor> tasks,
                                 std::span<const std::pair<int, int>> links,
                                 std::span<const int> cohorts, const FamilyOptions& options) {
  std::map<std::string, std::vector<int>> by_structure;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    by_structure[tasks[i].structure.Hex()].push_back(static_cast<int>(i));
  std::vector<Family> families;
  for (const auto& [structure, ids] : by_structure) {
    int ordinal = 0;
    for (Family& family : Cluster(tasks, Points(tasks, ids, links, cohorts), options)) {
      const FamilyDescriptor& first = tasks[static_cast<std::size_t>(family.members[0])];
      family.id = structure.substr(0, 8) + "." + std::to_string(ordinal++);
      family.structure = first.structure;
      family.structure_text = first.structure_text;
      std::sort(family.members.begin(), family.members.end());
      families.push_back(std::move(family));
    }
  }
  return families;
}

}  // namespace kindred
