#include "search/internal/history.h"

#include <algorithm>

namespace kindred {

void History::Propose(const SampledPath& path, const Hash128& key, double predicted_ns) {
  sampler_.Retire(path);
  index_.emplace(key, trials_.size());
  trials_.push_back({path, key, false, 0, predicted_ns});
}

void History::Observe(std::span<const Candidate> candidates, std::span<const Outcome> outcomes) {
  for (std::size_t i = 0; i < candidates.size() && i < outcomes.size(); ++i) {
    const auto found = index_.find(candidates[i].key);
    if (found == index_.end()) {
      Trial trial;
      trial.key = candidates[i].key;
      if (std::optional<SampledPath> path = sampler_.Exact(candidates[i].path)) {
        sampler_.Retire(*path);
        trial.path = std::move(*path);
      }
      index_.emplace(trial.key, trials_.size());
      trials_.push_back(std::move(trial));
      Record(trials_.back(), outcomes[i]);
    } else {
      Record(trials_[found->second], outcomes[i]);
    }
  }
}

void History::Record(Trial& trial, const Outcome& outcome) {
  trial.known = true;
  trial.ns = outcome.Timed() && outcome.median_ns > 0 ? outcome.median_ns : 0;
  if (trial.ns > 0 && (best_ns_ == 0 || trial.ns < best_ns_)) {
    best_ns_ = trial.ns;
    outcomes_since_best_ = 0;
  } else if (++outcomes_since_best_ >= static_cast<std::size_t>(stale_trials_)) {
    outcomes_since_best_ = 0;
    era_ = static_cast<std::size_t>(&trial - trials_.data()) + 1;
  }
}

std::vector<std::size_t> History::Best(std::size_t count) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials_.size(); ++i)
    if (trials_[i].known && trials_[i].ns > 0 && !trials_[i].path.options.empty())
      order.push_back(i);
  const auto faster = [&](std::size_t a, std::size_t b) {
    return trials_[a].ns != trials_[b].ns ? trials_[a].ns < trials_[b].ns : a < b;
  };
  const std::size_t kept = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    faster);
  order.resize(kept);
  return order;
}

}  // namespace kindred
