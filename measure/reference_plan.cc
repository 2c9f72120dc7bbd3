#include "measure/reference_plan.h"

#include "measure/internal/sampled_workload.h"
#include "schedules/base/hash.h"
#include "schedules/emit_c.h"
#include "schedules/lower_reference.h"
#include "schedules/text_form.h"
#include "schedules/tolerance.h"

namespace kindred {

ReferencePlan PlanReference(const Workload& workload, std::uint64_t seed, const Target& target) {
  ReferencePlan plan;
  plan.open.workload = PrintWorkload(workload);
  plan.open.seed = seed;

  SampledWorkload sampled = SampleOutputs(workload, kReferenceFlopLimit, kReferenceElementLimit);
  for (auto& input : sampled.index_inputs)
    plan.open.index_inputs.push_back({input.tensor, std::move(input.positions)});
  plan.open.positions = std::move(sampled.positions);

  const ReferenceWorkload reference = WithErrorBounds(sampled.workload);
  plan.source = EmitC(LowerReference(reference.workload), reference.workload, target);
  for (const auto& output : reference.outputs)
    plan.outputs.push_back({output.value, output.bound, output.choices});
  plan.file_name =
      HashOf(plan.open.workload + "\n" + std::to_string(seed) + "\n" + plan.source.code).Hex() +
      ".ref";
  return plan;
}

namespace {
constexpr std::size_t kPlansKept = 64;
}  // namespace

const ReferencePlan& ReferencePlans::For(const Workload& workload, std::uint64_t seed) {
  const std::string key = std::to_string(seed) + "\n" + PrintWorkload(workload);
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    if (plans_.size() >= kPlansKept) plans_.clear();
    found = plans_.emplace(key, PlanReference(workload, seed, target_)).first;
  }
  return found->second;
}

}  // namespace kindred
