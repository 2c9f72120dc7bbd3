#include "tests/bench/peers/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace kindred {
namespace {

constexpr double kBurstNs = 1e6;
constexpr std::size_t kLeastRounds = 5, kRounds = 10;
constexpr double kStandardError = 0.005;

using Clock = std::chrono::steady_clock;

double Burst(const Contestant& contestant, std::int64_t runs) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < runs; ++i) contestant.run();
  const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
  return spent.count() / static_cast<double>(runs);
}

double RelativeStandardError(const std::vector<double>& samples) {
  const double count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / (count - 1) / count) / mean;
}

bool AllSettled(const std::vector<Timing>& timings) {
  return std::all_of(timings.begin(), timings.end(), [](const Timing& timing) {
    return RelativeStandardError(timing.samples_ns) < kStandardError;
  });
}

}  // namespace

double Timing::Minimum() const { return *std::min_element(samples_ns.begin(), samples_ns.end()); }

double Timing::Median() const {
  std::vector<double> sorted = samples_ns;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::vector<Timing> TimeInterleaved(const std::vector<Contestant>& contestants, double seconds) {
  const std::size_t count = contestants.size();
  std::vector<Timing> timings(count);
  for (std::size_t i = 0; i < count; ++i) {
    contestants[i].run();
    double once = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 3; ++attempt) once = std::min(once, Burst(contestants[i], 1));
    timings[i].runs_per_sample = static_cast<std::int64_t>(kBurstNs / once) + 1;
  }
  const auto start = Clock::now();
  for (std::size_t round = 0;; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t i = (round + turn) % count;
      contestants[i].run();
      timings[i].samples_ns.push_back(Burst(contestants[i], timings[i].runs_per_sample));
    }
    const std::chrono::duration<double> spent = Clock::now() - start;
    const std::size_t done = round + 1;
    if (done >= kRounds && AllSettled(timings)) break;
    if (done >= kLeastRounds && spent.count() > seconds) break;
  }
  return timings;
}

}  // namespace kindred
