#include <algorithm>
#include <cmath>

#include "cost_model/features.h"
#include "cost_model/internal/family_state.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr int kMembers = 3;
constexpr double kFailedBelowBest = 3;  // log2: a failed candidate's reward is zero
constexpr double kFailedWeight = 0.3;
constexpr double kLeastWeight = 0.1;
constexpr double kOffsetShrinkage = 4;  // rows' worth of belief in an offset of zero
constexpr double kPooledGrowth =
    1.2;  // the pooled ensemble is refitted when its rows have grown so much
constexpr std::size_t kMostRows = 3000;  // of one fit
// L2 penalty of leaf values. What a few trials of each task teach is mostly noise beside the prior
// (docs/benchmarks/README.md): leaves of few rows stay near zero.
constexpr double kLambda = 10;

}  // namespace

double FamilyModels::State::LabelOf(const TrainingRow& row) const {
  if (!row.failed) return row.label;
  const Task& task = tasks[static_cast<std::size_t>(row.task)];
  return std::min(task.worst, task.best - kFailedBelowBest);
}

double FamilyModels::State::WeightOf(const TrainingRow& row) const {
  const Task& task = tasks[static_cast<std::size_t>(row.task)];
  const double trust = task.source == 0 ? 1 : sources.at(task.source).weight;
  if (row.failed) return kFailedWeight * trust;
  return std::max(kLeastWeight, std::exp2(row.label - task.best)) * trust;
}

void FamilyModels::State::AddLayers(int family, std::span<const float> features,
                                    std::span<double> margins, std::span<double> doubt) {
  const std::size_t columns = FeatureNames(target.kind).size();
  if (!pooled.members.empty()) Keep(pooled.members[0].AddTo(features, columns, margins));
  std::fill(doubt.begin(), doubt.end(), 0.0);
  const auto found = families.find(family);
  if (found == families.end() || found->second.members.empty()) return;
  std::vector<double> sum(margins.size(), 0), square(margins.size(), 0), one(margins.size());
  for (const Booster& member : found->second.members) {
    std::fill(one.begin(), one.end(), 0.0);
    Keep(member.AddTo(features, columns, one));
    for (std::size_t i = 0; i < one.size(); ++i) {
      sum[i] += one[i];
      square[i] += one[i] * one[i];
    }
  }
  const double count = static_cast<double>(found->second.members.size());
  for (std::size_t i = 0; i < margins.size(); ++i) {
    margins[i] += sum[i] / count;
    if (!doubt.empty())
      doubt[i] = std::max(0.0, square[i] / count - (sum[i] / count) * (sum[i] / count));
  }
}

// What the models, as they are, say of the rows that came since: their honest error.
void FamilyModels::State::Forecast() {
  for (; forecast < rows.size(); ++forecast) {
    const TrainingRow& row = rows[forecast];
    const Task& task = tasks[static_cast<std::size_t>(row.task)];
    if (row.failed || task.source != 0) continue;
    double margin = row.prior;
    AddLayers(task.family, row.features, {&margin, 1}, {});
    const double miss = row.label - margin - task.offset;
    const auto found = families.find(task.family);
    if (found != families.end() && !found->second.members.empty())
      found->second.error.Add(miss);
    else
      error.Add(miss);
  }
}

void FamilyModels::State::UpdateOffsets() {
  for (Task& task : tasks) {
    if (task.source != 0) continue;
    std::vector<float> features;
    std::vector<double> margins, labels, weights;
    // The latest rows tell enough, and keep this step's cost constant.
    constexpr std::size_t kLatest = 64;
    const std::size_t first = task.rows.size() > kLatest ? task.rows.size() - kLatest : 0;
    for (std::size_t i = first; i < task.rows.size(); ++i) {
      const TrainingRow& row = rows[task.rows[i]];
      if (row.failed) continue;
      features.insert(features.end(), row.features.begin(), row.features.end());
      margins.push_back(row.prior);
      labels.push_back(row.label);
      weights.push_back(WeightOf(row));
    }
    AddLayers(task.family, features, margins, {});
    double sum = 0, weight = kOffsetShrinkage * 0.5;
    for (std::size_t i = 0; i < margins.size(); ++i) {
      sum += weights[i] * (labels[i] - margins[i]);
      weight += weights[i];
    }
    task.offset = sum / weight;
  }
}

// At most kMostRows: the better half by distance from the task's best, the rest evenly from what
// remains.
std::vector<std::size_t> FamilyModels::State::Chosen(std::vector<std::size_t> from) const {
  std::erase_if(from, [&](std::size_t i) {
    const Task& task = tasks[static_cast<std::size_t>(rows[i].task)];
    return Dropped(task) || (rows[i].failed && task.best < -1e29);
  });
  if (from.size() <= kMostRows) return from;
  const auto behind = [&](std::size_t i) {
    return tasks[static_cast<std::size_t>(rows[i].task)].best - LabelOf(rows[i]);
  };
  std::stable_sort(from.begin(), from.end(),
                   [&](std::size_t a, std::size_t b) { return behind(a) < behind(b); });
  std::vector<std::size_t> chosen(from.begin(), from.begin() + kMostRows / 2);
  const std::size_t rest = from.size() - kMostRows / 2;
  for (std::size_t i = 0; i < kMostRows / 2; ++i)
    chosen.push_back(from[kMostRows / 2 + i * rest / (kMostRows / 2)]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

TrainingRows FamilyModels::State::Gather(const std::vector<std::size_t>& chosen) const {
  TrainingRows data;
  data.columns = FeatureNames(target.kind).size();
  data.features.reserve(chosen.size() * data.columns);
  for (const std::size_t i : chosen) {
    const TrainingRow& row = rows[i];
    data.features.insert(data.features.end(), row.features.begin(), row.features.end());
    data.labels.push_back(static_cast<float>(LabelOf(row)));
    data.margins.push_back(static_cast<float>(row.prior));
    data.weights.push_back(static_cast<float>(WeightOf(row)));
  }
  return data;
}

Result<void> FamilyModels::State::FitPooled() {
  std::vector<std::size_t> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::vector<std::size_t> chosen = Chosen(std::move(all));
  const double growth = options.families ? kPooledGrowth : 1.0;
  if (chosen.size() < static_cast<std::size_t>(options.minimum_samples)) return {};
  if (!pooled.dirty || static_cast<double>(rows.size()) < growth * static_cast<double>(pooled.rows))
    return {};
  BoosterOptions fit;
  fit.rounds = options.pooled_rounds + (options.families ? 0 : options.family_rounds);
  fit.lambda = kLambda;
  fit.seed = DeriveSeed(options.seed, "pooled");
  pooled.members.resize(1);
  KINDRED_CHECK(pooled.members[0].Train(Gather(chosen), fit));
  pooled.rows = rows.size();
  pooled.dirty = false;
  for (auto& [id, family] : families) family.dirty = true;
  return {};
}

Result<void> FamilyModels::State::FitFamily(int family, Ensemble& ensemble) {
  std::vector<std::size_t> own;
  for (const Task& task : tasks)
    if (task.family == family) own.insert(own.end(), task.rows.begin(), task.rows.end());
  std::sort(own.begin(), own.end());
  const std::size_t count = own.size();
  const std::vector<std::size_t> chosen = Chosen(std::move(own));
  // An ensemble that was loaded stays until its family has rows enough of its own.
  if (chosen.size() < static_cast<std::size_t>(options.minimum_samples) || count < ensemble.rows)
    return {};
  TrainingRows data = Gather(chosen);
  if (!pooled.members.empty()) {
    std::vector<double> margins(data.margins.begin(), data.margins.end());
    KINDRED_CHECK(pooled.members[0].AddTo(data.features, data.columns, margins));
    std::copy(margins.begin(), margins.end(), data.margins.begin());
  }
  if (ensemble.members.empty()) ensemble.error = error;  // until it has errors of its own
  ensemble.members.resize(kMembers);
  const std::vector<float> weights = data.weights;
  for (int m = 0; m < kMembers; ++m) {
    BoosterOptions fit;
    fit.rounds = options.family_rounds;
    fit.lambda = kLambda;
    fit.seed =
        DeriveSeed(options.seed, "family",
                   static_cast<std::uint64_t>(family) * kMembers + static_cast<std::uint64_t>(m));
    Random random(fit.seed);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      // Bootstrap: how often a row is drawn, nearly Poisson(1).
      const double u = random.Uniform();
      const double times = u < 0.368 ? 0 : u < 0.736 ? 1 : u < 0.920 ? 2 : 3;
      data.weights[i] = weights[i] * static_cast<float>(std::max(times, 0.05));
    }
    KINDRED_CHECK(ensemble.members[static_cast<std::size_t>(m)].Train(data, fit));
  }
  ensemble.rows = count;
  ensemble.dirty = false;
  return {};
}

}  // namespace kindred
