// Random changes of a workload, most of which give another computation.
#pragma once

#include <span>
#include <string_view>

#include "schedules/base/seed.h"
#include "schedules/workload.h"

namespace kindred {

struct ChangeKind {
  std::string_view name;
  // false: found nothing to change. The result need not satisfy CheckWorkload, and need not differ
  // from what it was (CertainlyDiffer tells).
  bool (*apply)(Workload& workload, Random& random);
};

std::span<const ChangeKind> ChangeKinds();

}  // namespace kindred
