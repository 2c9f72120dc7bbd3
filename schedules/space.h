// Space: the tree of schedule decisions of one workload on one target; the one interface search
// knows.
//
// Given the choices so far, a space names the next decision and its legal options. Options are
// computed from the path, the workload and the target, so an illegal child never appears, and every
// complete path lowers. What can be derived is not a decision. A space is immutable after
// construction and may be used by several threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedules/base/hash.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct Decision {
  std::string name;                   // "sketch", "register_rows", "k_block", ...
  std::vector<std::int64_t> options;  // values, distinct, at least one
  std::vector<std::string>
      labels;  // empty, or one per option where values are mere numbers of names
};

struct Choice {
  std::string decision;
  std::int64_t value = 0;
  std::string label;  // empty where the value speaks for itself
  bool operator==(const Choice&) const = default;
};

// The decisions so far, in order.
using Path = std::vector<Choice>;

// A complete path and what it lowers to.
struct Candidate {
  Path path;
  Hash128 key;  // of the lowered program: equal programs, equal keys (transpositions)
  std::shared_ptr<const Program> program;
};

class Space {
 public:
  virtual ~Space() = default;

  // nullopt when `path` is complete. `path` must be made of options this space offered.
  virtual std::optional<Decision> Next(const Path& path) const = 0;

  // Lowers a complete path. Errors (kInternal) are defects of a sketch, reported as such.
  virtual Result<Candidate> Lower(const Path& path) const = 0;

  // The path here that resembles a path of a sibling's space most: each decision takes the
  // sibling's value where it is legal, else the nearest option.
  virtual Path Adapt(const Path& sibling) const;
};

// The space of all sketches that apply to a canonical workload. Never empty: the generic sketch
// always applies.
std::unique_ptr<Space> MakeSpace(const Workload& canonical, const Target& target);

// {"decision": value or label, ...} in order, as stored in the log; and back (each choice checked
// against the space's options; error kBadInput names the first that does not fit).
std::string PathToJson(const Path& path);
Result<Path> PathFromJson(const Space& space, std::string_view json);

}  // namespace kindred
