// What measurements say of families: their quality, and corrections of the first guess.
//
// A member is served by its family if an ensemble that has seen only the other members ranks its
// candidates (leave one shape out) better than the prior alone. A family whose member is ranked
// clearly worse than by the prior splits: into the members that the misled one teaches better than
// the rest does, and the rest. Two families of one structure merge if each one's ensemble ranks the
// other's members clearly better than the prior. Deterministic.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost_model/taught_ranks.h"
#include "tuner/families.h"

namespace kindred {

// Timed candidates that a member must have to be judged, and its family must have beside them.
inline constexpr std::size_t kEvidenceSamples = 24;

struct MemberQuality {
  double taught = 0, prior = 0;  // rank correlations
};

// By member; nullopt: too few samples to tell.
Result<std::vector<std::optional<MemberQuality>>> LeaveOneShapeOut(
    std::span<const TaskSamples* const> members);

struct FamilyChange {
  bool split = false;               // else two were merged
  std::vector<std::string> before;  // ids
  std::vector<int> moved;           // split: tasks that now stand apart
  MemberQuality quality;            // split: of the misled member; merge: mean of all members
};

struct FamilyVerdict {
  std::vector<int> cohorts;  // by task, as FormFamilies takes them
  std::vector<FamilyChange> changes;
};

// `samples` by task. `cohorts` by task: who has one was put there by a person and is not moved.
Result<FamilyVerdict> JudgeFamilies(std::span<const Family> families,
                                    std::span<const TaskSamples> samples, std::vector<int> cohorts);

}  // namespace kindred
