#include "tuner/final_race.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "measure/timing.h"

namespace kindred {
namespace {

// Student's t, one-sided 95%, by degrees of freedom from 1; normal beyond.
double Quantile(std::size_t degrees) {
  constexpr std::array kTable = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833};
  return degrees <= kTable.size() ? kTable[degrees - 1] : 1.645;
}

}  // namespace

std::size_t FinalRace::Enter() {
  contenders_.emplace_back();
  return contenders_.size() - 1;
}

void FinalRace::Add(std::size_t contender, int pass, const std::vector<double>& samples) {
  Contender& one = contenders_[contender];
  one.passes.push_back({pass, std::log(Median(samples)), RelativeErrorOfMedian(samples)});
  one.samples.insert(one.samples.end(), samples.begin(), samples.end());
}

std::vector<std::size_t> FinalRace::Running() const {
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < contenders_.size(); ++i)
    if (!contenders_[i].failed) running.push_back(i);
  return running;
}

double FinalRace::MedianNs(std::size_t contender) const {
  return Median(contenders_[contender].samples);
}

std::size_t FinalRace::Winner() const {
  std::size_t winner = contenders_.size();
  for (const std::size_t i : Running())
    if (!contenders_[i].samples.empty() &&
        (winner == contenders_.size() || MedianNs(i) < MedianNs(winner)))
      winner = i;
  return winner;
}

bool FinalRace::Decided(const Contender& winner, const Contender& other) {
  std::vector<double> slower;  // log ratio in each pass that both had
  double errors = 0;
  for (const Pass& a : winner.passes)
    for (const Pass& b : other.passes) {
      if (a.number != b.number) continue;
      slower.push_back(b.log_median - a.log_median);
      errors += a.error * a.error + b.error * b.error;
    }
  if (slower.size() < 2) return false;
  const auto count = static_cast<double>(slower.size());
  double mean = 0, variance = 0;
  for (const double one : slower) mean += one / count;
  for (const double one : slower) variance += (one - mean) * (one - mean) / (count - 1);
  // The passes may agree by chance better than their own samples do.
  const double error = std::max(std::sqrt(variance / count), std::sqrt(errors) / count);
  const double reach = Quantile(slower.size() - 1) * error;
  return mean > reach || mean + reach < kEqual;
}

bool FinalRace::Settled() const {
  const std::vector<std::size_t> running = Running();
  if (running.size() < 2) return true;
  const std::size_t winner = Winner();
  if (winner == contenders_.size()) return false;
  return std::all_of(running.begin(), running.end(), [&](std::size_t other) {
    return other == winner || Decided(contenders_[winner], contenders_[other]);
  });
}

}  // namespace kindred
