// What a session takes over from a log that others have filled: corrections of families, lessons
// for the models, winners worth trying. All of it as the log was when the session began.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"
#include "tuner/family_evidence.h"
#include "tuner/known_trials.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr std::size_t kMostWorkloads = 64;  // of a target, nearest first: each costs some ms
constexpr std::size_t kWinnersOfSelf = 2;   // of other devices, tried for one task
constexpr std::size_t kWinnersOfSiblings = 3;

std::string InWords(const FamilyChange& change, const std::vector<TuneTask>& tasks) {
  const std::string ranks = fmt::format("rank correlation {:.2f}, by the prior {:.2f}",
                                        change.quality.taught, change.quality.prior);
  if (!change.split)
    return fmt::format("families {} and {} are one: their models serve each other ({})",
                       change.before[0], change.before[1], ranks);
  std::string moved;
  for (const int task : change.moved)
    moved += (moved.empty() ? "" : ", ") + tasks[static_cast<std::size_t>(task)].name;
  return fmt::format("family {} is split: the others' models misrank {} ({})", change.before[0],
                     moved, ranks);
}

}  // namespace

// People's cohorts, which are kept with the session, then what other sessions' measurements say.
Result<void> TuningSession::CorrectFamilies(std::int64_t start_epoch) {
  if (!options_.families) return {};
  json summary = json::parse(session_.summary);
  std::vector<int> cohorts(tasks_.size(), 0);
  if (!summary.contains("cohorts")) {
    summary["cohorts"] = json::object();
    KINDRED_TRY(const auto pins, log_.FamilyPins());
    for (const FamilyPinRecord& pin : pins)
      for (const TuneTask& task : tasks_)
        if (task.key == pin.workload) summary["cohorts"][pin.workload] = pin.cohort;
    session_.summary = summary.dump();
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    cohorts[i] = summary["cohorts"].value(tasks_[i].key, 0);
  if (std::any_of(cohorts.begin(), cohorts.end(), [](int cohort) { return cohort != 0; }))
    FormGroups(cohorts);
  if (start_epoch == 0 || !options_.transfer) return {};

  std::vector<TaskSamples> samples;
  for (const TuneTask& task : tasks_) {
    KnownTrialsQuery query;
    query.workload = task.key;
    query.target = target_record_.id;
    query.epoch = start_epoch;
    query.except_session = session_.id;
    query.space = options_.space;
    KINDRED_TRY(const KnownTrials known,
                ReadKnownTrials(log_, task.canonical.workload, target_, query));
    samples.push_back(known.Samples());
  }
  KINDRED_TRY(FamilyVerdict verdict, JudgeFamilies(families_, samples, cohorts));
  if (verdict.changes.empty()) return {};
  for (const FamilyChange& change : verdict.changes) {
    for (const Family& family : families_)
      if (family.id == change.before[0])
        corrections_.push_back({family.structure.Hex(), InWords(change, tasks_)});
  }
  FormGroups(verdict.cohorts);
  return {};
}

// Other workloads of the tasks' structures, and other devices.
Result<void> TuningSession::LoadTransfer(std::int64_t start_epoch) {
  if (start_epoch == 0 || !options_.transfer) return {};
  KINDRED_TRY(const auto workloads, log_.Workloads());
  KINDRED_TRY(const auto targets, log_.Targets());
  struct Known {
    const WorkloadRecord* record;
    Workload workload;
    FamilyDescriptor descriptor;
    int family = -1;  // the nearest of the session's
    double distance = 0;
    const TuneTask* task = nullptr;  // the session's, if it is one
  };
  std::vector<Known> known;
  for (const WorkloadRecord& record : workloads) {
    const auto own = std::find_if(tasks_.begin(), tasks_.end(),
                                  [&](const TuneTask& task) { return task.key == record.key; });
    const bool alike = std::any_of(families_.begin(), families_.end(), [&](const Family& family) {
      return family.structure.Hex() == record.structure;
    });
    if (!alike) continue;
    auto workload = ParseWorkload(record.text, "log");
    if (!workload) continue;  // of another version's language
    Known one;
    one.record = &record;
    one.descriptor = DescribeFamily(*workload);
    one.workload = std::move(*workload);
    if (own != tasks_.end()) {
      one.task = &*own;
      one.family = own->family;
    } else {
      one.distance = FamilyOptions().radius * FamilyOptions().radius;
      for (std::size_t f = 0; f < families_.size(); ++f) {
        if (families_[f].structure.Hex() != record.structure) continue;
        const double distance = SquaredDistance(one.descriptor.descriptors, families_[f].centre);
        if (distance > one.distance) continue;
        one.distance = distance;
        one.family = static_cast<int>(f);
      }
    }
    known.push_back(std::move(one));
  }
  std::stable_sort(known.begin(), known.end(),
                   [](const Known& a, const Known& b) { return a.distance < b.distance; });

  struct Winner {
    const Known* of;
    bool here;
    Path path;
  };
  std::vector<Winner> winners;
  int source = 0;
  for (const TargetRecord& record : targets) {
    const bool here = record.id == target_record_.id;
    KINDRED_TRY(const Target device, here ? Result<Target>(target_) : ToTarget(record));
    if (device.kind != target_.kind) continue;
    std::size_t count = 0;
    for (const Known& one : known) {
      if (count == kMostWorkloads) break;
      if (here && one.task != nullptr) continue;  // LoadWarmTrials has them
      KnownTrialsQuery query;
      query.workload = one.record->key;
      query.target = record.id;
      query.epoch = start_epoch;
      query.except_session = session_.id;
      query.space = options_.space;
      KINDRED_TRY(KnownTrials trials, ReadKnownTrials(log_, one.workload, device, query));
      if (trials.ns.empty()) continue;
      if (!here && count == 0) ++source;
      ++count;
      const int index = here ? models_->AddTask(one.workload, one.family)
                             : models_->AddForeignTask(one.workload, one.family, device, source);
      for (std::size_t i = 0; i < trials.ns.size(); ++i)
        models_->Observe({index, std::move(trials.features[i]), trials.ns[i]});
      taken_over_.trials += static_cast<std::int64_t>(trials.ns.size());
      ++taken_over_.workloads;
      if (!trials.best.empty()) winners.push_back({&one, here, std::move(trials.best)});
    }
    if (count > 0 && !here) taken_over_.devices.emplace_back(source, record.id);
  }
  observed_ += taken_over_.trials;
  if (!options_.families || !options_.foresee) return {};
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    TuneTask& task = tasks_[i];
    if (!task.left_out.empty()) continue;
    const FamilyDescriptor own = DescribeFamily(task.canonical.workload);
    std::vector<Path> seeds;
    std::vector<std::pair<double, const Winner*>> siblings;
    for (const Winner& winner : winners) {
      if (winner.of->task == &task && seeds.size() < kWinnersOfSelf)
        seeds.push_back(task.space->Adapt(winner.path));
      else if (winner.here && winner.of->family == task.family)
        siblings.emplace_back(SquaredDistance(own.descriptors, winner.of->descriptor.descriptors),
                              &winner);
    }
    std::stable_sort(siblings.begin(), siblings.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t s = 0; s < siblings.size() && s < kWinnersOfSiblings; ++s)
      seeds.push_back(task.space->Adapt(siblings[s].second->path));
    if (!seeds.empty()) task.searcher->Seed(seeds);
  }
  return {};
}

std::vector<std::string> TuningSession::TakenOver() const {
  std::vector<std::string> said;
  for (const auto& [structure, sentence] : corrections_) said.push_back(sentence);
  if (taken_over_.trials > 0)
    said.push_back(
        fmt::format("models begin with {} trials of {} other workloads or devices of "
                    "the log (--transfer off does without)",
                    taken_over_.trials, taken_over_.workloads));
  return said;
}

}  // namespace kindred
