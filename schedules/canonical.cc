#include "schedules/canonical.h"

#include "schedules/internal/canonical_passes.h"
#include "schedules/text_form.h"

namespace kindred {

CanonicalWorkload Canonicalize(const Workload& workload) {
  Workload work = workload;
  work.name.clear();
  NormalizeExpressions(work);
  DropDeadStages(work);
  DropUnitAxes(work);
  NormalizeExpressions(work);
  DropDeadStages(work);
  MergeEqualStages(work);
  InlinePointwise(work);
  MergeAxes(work);
  std::vector<int> source;
  CanonicalWorkload canonical;
  canonical.workload = OrderWorkload(work, source);
  // The version of the form and of the language: keys of different versions never meet.
  canonical.key = HashOf("kd1\n" + PrintWorkload(canonical.workload));
  for (const int argument : ArgumentTensors(canonical.workload))
    canonical.arguments.push_back(source[static_cast<std::size_t>(argument)]);
  return canonical;
}

}  // namespace kindred
