#include "tests/bench/searchers/recording_runner.h"

#include <fmt/format.h>

#include "schedules/text_form.h"
#include "tuner/record_mapping.h"

namespace kindred::bench {
namespace {

constexpr double kPatience = 8;  // times the best

}  // namespace

std::string WorkloadHash(const Workload& canonical) {
  return HashOf(PrintWorkload(canonical)).Hex();
}

std::string KernelHash(const KernelSource& kernel, const Workload& canonical) {
  return ToRecord(kernel, canonical).hash;
}

Result<void> RecordingRunner::MeasureMissing(const MeasureJob& job, const std::string& workload,
                                             const std::vector<std::string>& kernels,
                                             const std::function<bool()>& stop) {
  std::vector<KernelSource> missing;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (record_.Find(workload, kernels[i])) continue;
    missing.push_back(job.candidates[i]);
    names.push_back(kernels[i]);
  }
  if (missing.empty()) return {};
  if (!inner_)
    return NotFound(
        fmt::format("the record lacks {} of the kernels that a search proposed: it was made with "
                    "another version of the search or of the spaces; measure them with --record",
                    missing.size()));
  Result<void> added;
  MeasureJob careful;
  careful.workload = job.workload;
  careful.candidates = missing;
  careful.incumbent_ns = record_.BestNs(workload) * kPatience / MeasureLimits().abandon_ratio;
  careful.reference = job.reference;
  careful.finished = [&](std::size_t index, const Outcome& outcome) {
    if (added) added = record_.Add(workload, names[index], outcome);
    ++measured_;
  };
  KINDRED_CHECK(inner_->Measure(careful, [&] { return !added || stop(); }));
  return added;
}

Result<std::vector<Outcome>> RecordingRunner::Measure(const MeasureJob& job,
                                                      const std::function<bool()>& stop) {
  const std::string workload = WorkloadHash(*job.workload);
  std::vector<std::string> kernels;
  for (const KernelSource& kernel : job.candidates)
    kernels.push_back(KernelHash(kernel, *job.workload));
  KINDRED_CHECK(MeasureMissing(job, workload, kernels, stop));
  const double limit = job.incumbent_ns * MeasureLimits().abandon_ratio;
  std::vector<Outcome> outcomes;
  for (const std::string& kernel : kernels) {
    const Outcome* known = record_.Find(workload, kernel);
    if (!known) break;  // stopped
    Outcome outcome = *known;
    if (outcome.Timed())
      outcome.status = !job.reference && limit > 0 && outcome.median_ns > limit ? Status::kAbandoned
                                                                                : Status::kOk;
    if (job.finished) job.finished(outcomes.size(), outcome);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace kindred::bench
