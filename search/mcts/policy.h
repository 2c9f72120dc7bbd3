// Policy: what is known of single choices, whatever stands around them (all moves as first, as in
// RAVE).
//
// Mean and maximum of the rewards of all candidates that made a choice. It orders children that
// were never visited, and completes paths below the tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace kindred {

class Policy {
 public:
  void Add(std::span<const std::uint64_t> marks, double reward) {
    for (const std::uint64_t mark : marks) {
      Entry& entry = entries_[mark];
      entry.sum += reward;
      entry.max = std::max(entry.max, reward);
      entry.count += 1;
    }
    sum_ += reward;
    count_ += 1;
  }

  // Expected reward of a choice; that of all choices where it was never made.
  double Estimate(std::uint64_t mark) const {
    const double prior = count_ > 0 ? sum_ / count_ : 0.5;
    const auto found = entries_.find(mark);
    if (found == entries_.end()) return prior;
    const Entry& entry = found->second;
    const double mean = (entry.sum + kShrinkage * prior) / (entry.count + kShrinkage);
    return 0.5 * mean +
           0.5 * (entry.max * entry.count + kShrinkage * prior) / (entry.count + kShrinkage);
  }

 private:
  static constexpr double kShrinkage = 2;
  struct Entry {
    double sum = 0, max = 0, count = 0;
  };
  std::unordered_map<std::uint64_t, Entry> entries_;
  double sum_ = 0, count_ = 0;
};

}  // namespace kindred
