// FinalRace: which of a task's fastest schedules is the fastest?
//
// Screening measures a schedule once, and the least of many noisy medians is a lucky one. In a race
// all contenders are measured again in passes, each once per pass, so that whatever changes on the
// machine from pass to pass meets all of them. The winner has the least median of its pooled
// samples. The race is settled when each other contender is either separated from the winner, or
// surely less than kEqual slower: paired differences of the passes' medians, one-sided t-test at
// 95%. Pure: measures nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace kindred {

class FinalRace {
 public:
  static constexpr double kEqual = 0.005;

  // Adds a contender; its number, from 0.
  std::size_t Enter();
  // Samples of a contender's measurement in pass `pass` (ns, at least one).
  void Add(std::size_t contender, int pass, const std::vector<double>& samples);
  // It failed: it cannot win.
  void Fail(std::size_t contender) { contenders_[contender].failed = true; }

  bool failed(std::size_t contender) const { return contenders_[contender].failed; }
  const std::vector<double>& samples(std::size_t contender) const {
    return contenders_[contender].samples;
  }
  int passes(std::size_t contender) const {
    return static_cast<int>(contenders_[contender].passes.size());
  }
  // The numbers of those that have not failed.
  std::vector<std::size_t> Running() const;
  // Least pooled median; of equals the first. Not to be called when all have failed.
  std::size_t Winner() const;
  double MedianNs(std::size_t contender) const;
  // False before the second pass of a contender that runs.
  bool Settled() const;

 private:
  struct Pass {
    int number;
    double log_median, error;  // error: relative, of the median
  };
  struct Contender {
    std::vector<Pass> passes;
    std::vector<double> samples;  // of all passes
    bool failed = false;
  };
  static bool Decided(const Contender& winner, const Contender& other);

  std::vector<Contender> contenders_;
};

}  // namespace kindred
