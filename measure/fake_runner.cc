#include "measure/fake_runner.h"

#include "schedules/base/hash.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr Status kFailures[] = {Status::kBuildError,  Status::kBuildTimeout, Status::kCrash,
                                Status::kRunTimeout,  Status::kOutOfMemory,  Status::kWrongAnswer,
                                Status::kOutOfBounds, Status::kRunError};
constexpr int kSamples = 10;

Random StreamOf(const KernelSource& source, std::uint64_t seed, std::string_view purpose) {
  return Random(DeriveSeed(seed, purpose, HashOf(source.code).low));
}

}  // namespace

double FakeTime(const KernelSource& source, std::uint64_t seed) {
  return 1e5 + 9e5 * StreamOf(source, seed, "fake time").Uniform();
}

Outcome FakeRunner::OutcomeOf(const MeasureJob& job, const KernelSource& source) const {
  if (const auto scripted = options_.scripted.find(measured_); scripted != options_.scripted.end())
    return scripted->second;
  Outcome outcome;
  Random random = StreamOf(source, options_.seed, "fake failure");
  if (!job.reference && random.Uniform() < options_.failure_share) {
    outcome.status = kFailures[random.Below(std::size(kFailures))];
    outcome.message = "made up: " + std::string(Name(outcome.status));
    return outcome;
  }
  const double time = options_.time_ns ? options_.time_ns(source) : FakeTime(source, options_.seed);
  outcome.validated = true;
  outcome.median_ns = time;
  outcome.control_ns = 2e4;
  const bool far = job.incumbent_ns > 0 && !job.reference &&
                   time > job.incumbent_ns * MeasureLimits{}.abandon_ratio;
  outcome.status = far ? Status::kAbandoned : Status::kOk;
  outcome.samples.assign(far ? 1 : kSamples, time);
  outcome.build_s = outcome.run_s = 0.1;
  outcome.facts.code_bytes = static_cast<std::int64_t>(source.code.size());
  return outcome;
}

Result<std::vector<Outcome>> FakeRunner::Measure(const MeasureJob& job,
                                                 const std::function<bool()>& stop) {
  if (calls_++ == options_.error_at_call) return Environment("made up: no machine");
  std::vector<Outcome> outcomes;
  for (const KernelSource& source : job.candidates) {
    if (stop && stop()) break;
    outcomes.push_back(OutcomeOf(job, source));
    if (job.finished) job.finished(outcomes.size() - 1, outcomes.back());
    ++measured_;
    times_.build_s += 0.1;
    times_.run_s += 0.1;
  }
  return outcomes;
}

}  // namespace kindred
