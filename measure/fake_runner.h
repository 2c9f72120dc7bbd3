// A Runner without a machine: made-up times, the same for the same sources. For tests of what
// stands above it (search signatures, determinism, resume).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "measure/runner.h"

namespace kindred {

struct FakeRunnerOptions {
  // Time of a candidate; by default FakeTime(source, seed).
  std::function<double(const KernelSource&)> time_ns = {};
  std::uint64_t seed = 0;
  // Share of candidates that fail, chosen by the source's hash among all failures that a run can
  // have.
  double failure_share = 0;
  // Scripted outcomes, by the number of the candidate over all calls (from 0). They come before all
  // else.
  std::map<std::int64_t, Outcome> scripted = {};
  // The call with this number (from 0) returns an Error; -1: none.
  std::int64_t error_at_call = -1;
};

// Between 1e5 and 1e6 ns, uniform over the hash of the source's code.
double FakeTime(const KernelSource& source, std::uint64_t seed);

class FakeRunner : public Runner {
 public:
  explicit FakeRunner(FakeRunnerOptions options = {}) : options_(std::move(options)) {}

  Result<std::vector<Outcome>> Measure(const MeasureJob& job,
                                       const std::function<bool()>& stop) override;
  // A made-up tenth of a second per build and per run.
  MeasureTimes times() const override { return times_; }

  std::int64_t measured() const { return measured_; }
  std::int64_t calls() const { return calls_; }

 private:
  Outcome OutcomeOf(const MeasureJob& job, const KernelSource& source) const;

  FakeRunnerOptions options_;
  MeasureTimes times_;
  std::int64_t measured_ = 0, calls_ = 0;
};

}  // namespace kindred
