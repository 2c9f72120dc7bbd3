// How far other devices' observations are trusted.
#include <algorithm>
#include <cmath>

#include "cost_model/internal/family_state.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr std::size_t kTrial = 16;        // rows of this device before anything is judged
constexpr std::size_t kFewestOfTask = 6;  // that have an order worth asking for
constexpr std::size_t kLatest = 96;       // of a task
constexpr double kGrowth = 1.25;          // of these rows between two judgements
constexpr double kHarm = 0.2;             // ranks lost against the prior that leave no trust

}  // namespace

TaskSamples FamilyModels::State::SamplesOf(const Task& task, std::size_t most) const {
  TaskSamples samples;
  const std::size_t first = task.rows.size() > most ? task.rows.size() - most : 0;
  for (std::size_t i = first; i < task.rows.size(); ++i) {
    const TrainingRow& row = rows[task.rows[i]];
    if (row.failed) continue;
    samples.columns = row.features.size();
    samples.features.insert(samples.features.end(), row.features.begin(), row.features.end());
    samples.priors.push_back(row.prior);
    samples.speeds.push_back(row.label);
  }
  return samples;
}

Result<void> FamilyModels::State::UpdateTrust() {
  if (sources.empty()) return {};
  std::vector<TaskSamples> here;
  std::size_t count = 0;
  for (const Task& task : tasks) {
    if (task.source != 0) continue;
    TaskSamples samples = SamplesOf(task, kLatest);
    if (samples.size() < kFewestOfTask) continue;
    count += samples.size();
    here.push_back(std::move(samples));
  }
  if (count < kTrial) return {};
  for (auto& [id, source] : sources) {
    if (source.weight == 0 ||
        static_cast<double>(count) < kGrowth * static_cast<double>(source.judged_on))
      continue;
    source.judged_on = count;
    if (!source.teacher) {
      std::vector<TaskSamples> theirs;
      for (const Task& task : tasks)
        if (task.source == id) theirs.push_back(SamplesOf(task, task.rows.size()));
      std::vector<const TaskSamples*> teachers;
      for (const TaskSamples& samples : theirs)
        if (samples.size() > 0) teachers.push_back(&samples);
      if (teachers.empty()) continue;
      KINDRED_TRY(source.teacher,
                  Teacher::Train(teachers, DeriveSeed(options.seed, "teacher",
                                                      static_cast<std::uint64_t>(id))));
    }
    double taught = 0, prior = 0;
    for (const TaskSamples& samples : here) {
      const double share = static_cast<double>(samples.size()) / static_cast<double>(count);
      KINDRED_TRY(const double rank, source.teacher->Rank(samples));
      taught += share * rank;
      prior += share * PriorRank(samples);
    }
    const double left = std::clamp(1 + (taught - prior) / kHarm, 0.0, 1.0);
    const double weight = taught > 0 ? Source::kWeight * left : 0;
    if (std::fabs(weight - source.weight) < 0.05 && weight > 0) continue;
    source.weight = weight;
    // What was learned with the old weight is learned anew.
    const auto forget = [](Ensemble& ensemble) {
      ensemble.members.clear();
      ensemble.rows = 0;
      ensemble.dirty = true;
    };
    forget(pooled);
    for (auto& [family, ensemble] : families) forget(ensemble);
  }
  return {};
}

}  // namespace kindred
