#include "schedules/canonical.h"

#include <string>
#include <utility>
#include <vector>

#include "schedules/internal/canonical_passes.h"
#include "schedules/text_form.h"

namespace kindred {

namespace {

// ids[i] becomes before[ids[i]].
void Compose(const std::vector<int>& before, std::vector<int>& ids) {
  for (int& id : ids) id = before[static_cast<std::size_t>(id)];
}

// One run of all passes. `source` as in OrderWorkload.
Workload RunPasses(const Workload& workload, std::vector<int>& source) {
  Workload work = workload;
  NormalizeExpressions(work);
  DropDeadStages(work);
  DropUnitAxes(work);
  NormalizeExpressions(work);
  DropDeadStages(work);
  MergeEqualStages(work);
  // What is inlined first must not depend on the order in which stages were written.
  std::vector<int> first;
  work = OrderWorkload(work, first);
  InlinePointwise(work);
  MergeAxes(work);
  work = OrderWorkload(work, source);
  Compose(first, source);
  return work;
}

// Passes open the way for each other (ordered axes make equal stages visible), so they run to a
// fixed point; two runs nearly always suffice.
constexpr int kMaxRuns = 6;

}  // namespace

CanonicalWorkload Canonicalize(const Workload& workload) {
  CanonicalWorkload canonical;
  std::vector<int> source;
  canonical.workload = RunPasses(workload, source);
  std::string text = PrintWorkload(canonical.workload);
  for (int run = 1; run < kMaxRuns; ++run) {
    std::vector<int> step;
    Workload next = RunPasses(canonical.workload, step);
    std::string next_text = PrintWorkload(next);
    Compose(source, step);
    canonical.workload = std::move(next);
    source = std::move(step);
    if (std::exchange(text, std::move(next_text)) == text) break;
  }
  // The version of the form and of the language: keys of different versions never meet.
  canonical.key = HashOf("kd1\n" + text);
  for (const int argument : ArgumentTensors(canonical.workload))
    canonical.arguments.push_back(source[static_cast<std::size_t>(argument)]);
  return canonical;
}

}  // namespace kindred
