// Random rewrites of a workload that leave its computation, and by the promises of
// docs/workload_language.md ("Canonical form and key") its key, as they are.
//
// Rewrites make their nodes without the folding builders, so that what a builder would fold away is
// seen by Canonicalize.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "schedules/base/seed.h"
#include "schedules/workload.h"

namespace kindred {

// A workload, and where the tensors of the one that it was made from are now.
struct Disguised {
  Workload workload;
  std::vector<int> tensors;  // id here of tensor i there; -1: no longer here
};

// `workload` itself: every tensor in its place.
Disguised Undisguised(const Workload& workload);

struct RewriteKind {
  std::string_view name;
  // false: found no place to rewrite, nothing is changed.
  bool (*apply)(Disguised& disguised, Random& random);
};

std::span<const RewriteKind> RewriteKinds();

}  // namespace kindred
