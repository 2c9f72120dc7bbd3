#include "tuner/profile_winners.h"

#include "schedules/text_form.h"
#include "tuner/record_mapping.h"

namespace kindred {

Result<int> ProfileWinners(const std::vector<std::string>& workloads, const std::string& target,
                           CudaProfiler& profiler, std::uint64_t seed,
                           const std::function<bool()>& stop, TuningLog& log, Progress& progress) {
  int profiled = 0;
  std::string last;
  for (const std::string& key : workloads) {
    if (stop()) break;
    KINDRED_TRY(const auto best, log.BestSchedule(key, target));
    if (!best) continue;
    KINDRED_TRY(const auto known, log.FindProfile(best->id));
    if (known) continue;
    KINDRED_TRY(const auto record, log.FindKernel(best->kernel));
    KINDRED_TRY(const auto workload, log.FindWorkload(key));
    if (!record || !workload) continue;
    KINDRED_TRY(const KernelSource kernel, ToKernel(*record));
    KINDRED_TRY(const Workload canonical, ParseWorkload(workload->text, key));
    const auto counted = profiler.Profile(canonical, kernel, seed);
    if (!counted) {
      if (counted.error().message == last) break;
      last = counted.error().message;
      progress.Note(last);
      continue;
    }
    LogBatch batch;
    batch.profiles.push_back(ToRecord(best->id, *counted, profiler.cold(), profiler.driver()));
    KINDRED_CHECK(log.Append(batch));
    ++profiled;
  }
  return profiled;
}

}  // namespace kindred
