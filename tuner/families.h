// Families: which tasks share a cost model and each other's winners.
//
// Tasks of one structure whose descriptors lie near each other form a family; how many families
// there are follows from the data: DP-means (Kulis, Jordan: Revisiting k-means, ICML 2012), whose
// only parameter is the distance from which on a task opens a family of its own.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedules/canonical.h"

namespace kindred {

struct Family {
  std::string id;  // "<first 8 digits of the structure>.<ordinal>"
  Hash128 structure;
  std::string structure_text;  // for people
  std::vector<double> centre;  // mean of the members' descriptors
  std::vector<int> members;    // indices into the descriptors given
};

// Between two tasks, or a task and a centre, of one structure.
double SquaredDistance(const std::vector<double>& a, const std::vector<double>& b);

struct FamilyOptions {
  // Distance, in the descriptors' units (mostly log2), beyond which a new family opens: 6 is a
  // factor of 64 in one extent, or of 8 in four of them.
  double radius = 6;
  int iterations = 32;
};

// Every index appears in exactly one family. `links`: pairs of indices that belong to one family;
// those of different structures are passed over. `cohorts`, by index or empty: tasks of one
// structure and one cohort are in one family, those of two never are, whatever the links; 0: free.
// Deterministic; independent of the order of `tasks` up to the order of members.
std::vector<Family> FormFamilies(std::span<const FamilyDescriptor> tasks,
                                 std::span<const std::pair<int, int>> links = {},
                                 std::span<const int> cohorts = {},
                                 const FamilyOptions& options = {});

}  // namespace kindred
