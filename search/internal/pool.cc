#include "search/internal/pool.h"

#include <utility>

namespace kindred {
namespace {

constexpr std::size_t kRememberedKeys = 1 << 17;
constexpr int kMostMisses = 20000;

std::uint64_t HashOfPath(const SampledPath& path) {
  std::uint64_t hash = path.marks.size();
  for (const std::uint64_t mark : path.marks) hash = Random(hash ^ mark)();
  return hash;
}

}  // namespace

Pool::Pool(const Space& space, const CostModel* model, PathSampler& sampler, History& history,
           LoweringMemo& lowering)
    : space_(space), model_(model), sampler_(sampler), history_(history), lowering_(lowering) {}

Pool::~Pool() {
  for (std::size_t i = retired_.size(); i-- > 0;) sampler_.Revive(retired_[i]);
}

std::optional<std::size_t> Pool::Add(SampledPath path, Origin origin) {
  const std::uint64_t hash = HashOfPath(path);
  const auto retire = [&]() -> std::optional<std::size_t> {
    ++misses_;
    sampler_.Retire(path);
    retired_.push_back(std::move(path));
    return std::nullopt;
  };
  // What is known of a program's key: proposed before, in this pool, or new (an empty optional's
  // value).
  const auto known = [&](const Hash128& key) -> std::optional<std::optional<std::size_t>> {
    if (history_.Contains(key)) return retire();
    const auto entry = index_.find(key);
    if (entry == index_.end()) return std::nullopt;
    ++misses_;
    return std::optional(entry->second);
  };
  if (lowering_.failed.contains(hash)) return retire();
  if (const auto remembered = lowering_.keys.find(hash); remembered != lowering_.keys.end())
    if (const auto found = known(remembered->second)) return *found;
  Result<Candidate> lowered = space_.Lower(path.path);
  if (!lowered) {
    lowering_.errors.push_back(lowered.error());
    lowering_.failed.insert(hash);
    return retire();
  }
  if (lowering_.keys.size() >= kRememberedKeys) lowering_.keys.clear();
  lowering_.keys[hash] = lowered->key;
  if (const auto found = known(lowered->key)) return *found;
  misses_ = 0;
  index_.emplace(lowered->key, entries_.size());
  entries_.push_back({std::move(path), std::move(*lowered), {}, origin, false});
  return entries_.size() - 1;
}

void Pool::Score() {
  if (scored_ == entries_.size() || model_ == nullptr) return;
  std::vector<const Candidate*> fresh;
  for (std::size_t i = scored_; i < entries_.size(); ++i) fresh.push_back(&entries_[i].candidate);
  const std::vector<Prediction> predictions = model_->Predict(fresh);
  for (std::size_t i = scored_; i < entries_.size(); ++i)
    entries_[i].prediction = predictions[i - scored_];
  scored_ = entries_.size();
}

Candidate Pool::Take(std::size_t index) {
  PoolEntry& entry = entries_[index];
  entry.taken = true;
  history_.Propose(entry.path, entry.candidate.key, entry.prediction.ns);
  return entry.candidate;
}

void FillUniformly(const Space& space, PathSampler& sampler, History& history,
                   LoweringMemo& lowering, Random& random, int n, std::vector<Candidate>& batch) {
  Pool pool(space, nullptr, sampler, history, lowering);
  while (static_cast<int>(batch.size()) < n && pool.misses() < kMostMisses) {
    std::optional<SampledPath> path = sampler.DrawRandom(random);
    if (!path) return;
    const std::optional<std::size_t> entry = pool.Add(std::move(*path), Origin::kRandom);
    if (entry) batch.push_back(pool.Take(*entry));
  }
}

}  // namespace kindred
