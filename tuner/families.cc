#include "tuner/families.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace kindred {
namespace {

double SquaredDistance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

std::vector<double> Mean(std::span<const FamilyDescriptor> tasks, const std::vector<int>& members) {
  std::vector<double> mean(tasks[static_cast<std::size_t>(members[0])].descriptors.size(), 0.0);
  for (const int m : members) {
    const auto& d = tasks[static_cast<std::size_t>(m)].descriptors;
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += d[i];
  }
  for (double& x : mean) x /= static_cast<double>(members.size());
  return mean;
}

// DP-means on the tasks of one structure. Points are visited in the order of their descriptors.
std::vector<Family> Cluster(std::span<const FamilyDescriptor> tasks, std::vector<int> points,
                            const FamilyOptions& options) {
  std::sort(points.begin(), points.end(), [&](int a, int b) {
    const auto& da = tasks[static_cast<std::size_t>(a)].descriptors;
    const auto& db = tasks[static_cast<std::size_t>(b)].descriptors;
    return da != db ? da < db : a < b;
  });
  std::vector<Family> families(1);
  families[0].members = points;
  families[0].centre = Mean(tasks, points);
  const double limit = options.radius * options.radius;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    std::vector<std::vector<int>> assigned(families.size());
    for (const int point : points) {
      const auto& descriptors = tasks[static_cast<std::size_t>(point)].descriptors;
      std::size_t best = 0;
      double best_distance = INFINITY;
      for (std::size_t f = 0; f < families.size(); ++f) {
        const double distance = SquaredDistance(descriptors, families[f].centre);
        if (distance < best_distance) best = f, best_distance = distance;
      }
      if (best_distance > limit) {
        families.emplace_back().centre = descriptors;
        assigned.emplace_back();
        best = families.size() - 1;
      }
      assigned[best].push_back(point);
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

std::vector<Family> FormFamilies(std::span<const FamilyDescriptor> tasks,
                                 const FamilyOptions& options) {
  std::map<std::string, std::vector<int>> by_structure;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    by_structure[tasks[i].structure.Hex()].push_back(static_cast<int>(i));
  std::vector<Family> families;
  for (const auto& [structure, points] : by_structure) {
    int ordinal = 0;
    for (Family& family : Cluster(tasks, points, options)) {
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
