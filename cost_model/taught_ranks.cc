#include "cost_model/taught_ranks.h"

#include <cmath>

#include "cost_model/evaluate.h"
#include "cost_model/prior.h"

namespace kindred {
namespace {

constexpr std::size_t kMostSamples = 800;
constexpr int kRounds = 40;

}  // namespace

void TaskSamples::Add(std::span<const float> row, double roofline_ns, double ns) {
  columns = row.size();
  features.insert(features.end(), row.begin(), row.end());
  priors.push_back(std::log2(roofline_ns / PriorNs(row, roofline_ns)));
  speeds.push_back(std::log2(roofline_ns / ns));
}

double PriorRank(const TaskSamples& pupil) { return RankCorrelation(pupil.priors, pupil.speeds); }

Result<Teacher> Teacher::Train(std::span<const TaskSamples* const> teachers, std::uint64_t seed) {
  std::size_t total = 0;
  for (const TaskSamples* task : teachers) total += task->size();
  const std::size_t step = total / kMostSamples + 1;
  TrainingRows rows;
  std::size_t count = 0;
  for (const TaskSamples* task : teachers) {
    for (std::size_t i = 0; i < task->size(); ++i) {
      if (count++ % step != 0) continue;
      rows.columns = task->columns;
      const auto first = task->features.begin() + static_cast<std::ptrdiff_t>(i * task->columns);
      rows.features.insert(rows.features.end(), first,
                           first + static_cast<std::ptrdiff_t>(task->columns));
      rows.labels.push_back(static_cast<float>(task->speeds[i]));
      rows.margins.push_back(static_cast<float>(task->priors[i]));
    }
  }
  BoosterOptions options;
  options.rounds = kRounds;
  options.seed = seed;
  Teacher teacher;
  KINDRED_CHECK(teacher.booster_.Train(rows, options));
  return teacher;
}

Result<double> Teacher::Rank(const TaskSamples& pupil) const {
  std::vector<double> said = pupil.priors;
  KINDRED_CHECK(booster_.AddTo(pupil.features, pupil.columns, said));
  return RankCorrelation(said, pupil.speeds);
}

}  // namespace kindred
