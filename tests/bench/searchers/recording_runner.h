// RecordingRunner: a Runner that looks kernels up in a record and measures only what is missing.
//
// What it measures it measures with the same test data and the same patience whoever asks: a kernel
// is given up only above eight times the record's best (where every searcher's reward is zero), not
// above twice what the asking session happens to know. The asker is told kAbandoned by the usual
// rule, from the recorded time.
#pragma once

#include <cstddef>

#include "measure/runner.h"
#include "tests/bench/searchers/measurement_record.h"

namespace kindred::bench {

// How a workload and a kernel are named in the record.
std::string WorkloadHash(const Workload& canonical);
std::string KernelHash(const KernelSource& kernel, const Workload& canonical);

class RecordingRunner final : public Runner {
 public:
  // `inner` may be null: then a kernel that is not in the record is an error (kNotFound). Both must
  // outlive the runner.
  RecordingRunner(Runner* inner, MeasurementRecord& record) : inner_(inner), record_(record) {}

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override;
  MeasureTimes times() const override { return inner_ ? inner_->times() : MeasureTimes(); }
  std::size_t measured() const { return measured_; }

 private:
  Result<void> MeasureMissing(const MeasureJob& job, const std::string& workload,
                              const std::vector<std::string>& kernels,
                              const std::function<bool()>& stop);

  Runner* inner_;
  MeasurementRecord& record_;
  std::size_t measured_ = 0;
};

}  // namespace kindred::bench
