// The end of a session: the fastest schedules of each task are measured again, interleaved, and the
// log's rule (docs/log_schema.md, best_schedule) names the winners.
//
// Nothing that is decided before a run's end depends on it. The rows of one task's race are written
// together when it has ended: a killed process loses at most the race that it was in, and a later
// run holds it again.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "measure/timing.h"
#include "schedules/emit_kernel.h"
#include "tuner/final_race.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"

namespace kindred {
namespace {

constexpr std::size_t kContenders = 4;  // that join at a time
constexpr int kPasses = 12;
// Two schedules whose screened medians lie this near each other (and 3 standard errors) may change
// places when they are measured again.
constexpr double kNear = 0.03;
// Error of a median of fewer than three samples, which do not tell.
constexpr double kUnknownError = 0.03;
// What a measurement of the fewest samples costs beside its runs, and how many runs it takes.
constexpr double kOverhead_s = 0.01;
// ... and to open a workload again.
constexpr double kOpen_s = 0.1;
constexpr double kRuns = 16;

double EstimatedSeconds(const KnownSchedule& schedule) {
  return kOverhead_s + kRuns * schedule.median_ns * 1e-9;
}

bool MayChangePlaces(const KnownSchedule& best, const KnownSchedule& other) {
  const double reach = kNear + 3 * std::hypot(best.error, other.error);
  return other.median_ns <= best.median_ns * (1 + reach);
}

using Known = std::map<std::string, KnownSchedule>;

// Fastest first: the log's rule.
std::vector<const KnownSchedule*> Ranked(const Known& known) {
  std::vector<const KnownSchedule*> ranked;
  for (const auto& [key, schedule] : known) ranked.push_back(&schedule);
  std::sort(ranked.begin(), ranked.end(), [](const KnownSchedule* a, const KnownSchedule* b) {
    return a->median_ns != b->median_ns ? a->median_ns < b->median_ns : a->order < b->order;
  });
  return ranked;
}

// The schedules that a race has to decide between: none where the best one is beyond doubt, or
// where all of them were measured again already.
std::vector<const KnownSchedule*> Contenders(const Known& known) {
  std::vector<const KnownSchedule*> contenders;
  bool all_remeasured = true;
  for (const KnownSchedule* one : Ranked(known)) {
    if (contenders.size() == kContenders ||
        (!contenders.empty() && !MayChangePlaces(*contenders[0], *one)))
      break;
    contenders.push_back(one);
    all_remeasured = all_remeasured && one->remeasured;
  }
  if (contenders.size() < 2 || all_remeasured) contenders.clear();
  return contenders;
}

}  // namespace

struct TuningSession::Racer {
  const KnownSchedule* schedule;
  Candidate candidate;
  KernelSource kernel;
  Outcome outcome;  // of the last pass; run_s of all
};

// A later measurement of a schedule replaces an earlier one; a wrong answer condemns it.
void TuningSession::Know(TuneTask& task, const KnownSchedule& schedule, const Outcome& outcome) {
  if (outcome.status == Status::kWrongAnswer || outcome.status == Status::kOutOfBounds)
    task.known.erase(schedule.key);
  if (outcome.status != Status::kOk || !outcome.validated) return;
  KnownSchedule& known = task.known.try_emplace(schedule.key, schedule).first->second;
  known.median_ns = outcome.median_ns;
  known.error = outcome.samples.size() < 3 ? kUnknownError : RelativeErrorOfMedian(outcome.samples);
  known.remeasured = outcome.interleaved_passes > 0;
  known.order = ++known_count_;
}

Result<void> TuningSession::TakeRemeasured() {
  for (const TrialRecord& trial : remeasured_) {
    for (TuneTask& task : tasks_) {
      if (task.key != trial.workload) continue;
      const auto path = PathFromJson(*task.space, trial.schedule);
      if (!path) continue;  // a schedule of another version's space
      KINDRED_TRY(const Outcome outcome, ToOutcome(trial));
      Know(task, {.key = trial.schedule_key, .path = *path, .predicted_ns = trial.predicted_ns},
           outcome);
    }
  }
  return {};
}

Result<void> TuningSession::ChooseWinners(const std::function<bool()>& stop, Progress& progress) {
  KINDRED_CHECK(TakeRemeasured());
  // Without the whole log replayed not all schedules are known.
  if (options_.choice_share > 0 && logged_.empty() && trials() != choice_.after_trials)
    KINDRED_CHECK(HoldRaces(stop, progress));
  for (TuneTask& task : tasks_) {
    if (task.known.empty()) continue;
    const KnownSchedule& best = *Ranked(task.known)[0];
    task.best_ns = best.median_ns;
    task.best_path = best.path;
  }
  return {};
}

// Most seconds go where a wrong choice may cost most.
Result<void> TuningSession::HoldRaces(const std::function<bool()>& stop, Progress& progress) {
  struct Doubt {
    std::size_t task;
    double loss;  // weighted ns
  };
  std::vector<Doubt> doubts;
  double losses = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const TuneTask& task = tasks_[i];
    const auto contenders = Contenders(task.known);
    if (contenders.empty() || !task.left_out.empty()) continue;
    const double error = std::hypot(contenders[0]->error, contenders[1]->error);
    doubts.push_back({i, task.weight * contenders[0]->median_ns * std::max(1e-3, error)});
    losses += doubts.back().loss;
  }
  std::stable_sort(doubts.begin(), doubts.end(),
                   [](const Doubt& a, const Doubt& b) { return a.loss > b.loss; });
  double left_s = options_.choice_share * trial_s_ - choice_.seconds;
  for (const Doubt& doubt : doubts) {
    if (stop()) return {};
    TuneTask& task = tasks_[doubt.task];
    progress.Show(Snapshot("final choice", task.name));
    const std::string before = Ranked(task.known)[0]->key;
    const double start = Elapsed();
    KINDRED_CHECK(HoldRace(task, left_s * doubt.loss / losses, left_s, stop));
    const double spent = Elapsed() - start;
    left_s -= spent;
    losses -= doubt.loss;
    choice_.seconds += spent;
    if (!task.known.empty() && Ranked(task.known)[0]->key != before) ++choice_.changed;
  }
  if (!stop()) choice_.after_trials = trials();
  return {};
}

// `share_s`: seconds meant for this race; `most_s`: what it may take where its share is too little.
Result<void> TuningSession::HoldRace(TuneTask& task, double share_s, double most_s,
                                     const std::function<bool()>& stop) {
  std::vector<Racer> racers;
  FinalRace race;
  const auto enter = [&](const KnownSchedule& schedule) -> Result<void> {
    KINDRED_TRY(Candidate candidate, task.space->Lower(schedule.path));
    KernelSource kernel = EmitKernel(*candidate.program, task.canonical.workload, target_);
    racers.push_back({&schedule, std::move(candidate), std::move(kernel), {}});
    race.Enter();
    return {};
  };
  double needed_s = kOpen_s;
  for (const KnownSchedule* schedule : Contenders(task.known)) {
    const double with_s = needed_s + 2 * EstimatedSeconds(*schedule);
    if (with_s > (racers.size() < 2 ? most_s : share_s)) break;
    needed_s = with_s;
    KINDRED_CHECK(enter(*schedule));
  }
  if (racers.size() < 2) {
    ++choice_.open;
    return {};
  }

  const double end = Elapsed() + std::max(share_s, needed_s);
  bool consistent = false;
  for (int pass = 0; pass < kPasses; ++pass) {
    // Each pass begins with another one.
    std::vector<std::size_t> order = race.Running();
    std::rotate(order.begin(), order.begin() + pass % static_cast<int>(order.size()), order.end());
    std::vector<KernelSource> kernels;
    for (const std::size_t i : order) kernels.push_back(racers[i].kernel);
    MeasureJob job;
    job.workload = &task.canonical.workload;
    job.candidates = kernels;
    job.seed = options_.seed;
    job.brief = true;
    const auto outcomes = runner_.Measure(job, stop);
    if (!outcomes && outcomes.error().kind == ErrorKind::kEnvironment) return outcomes.error();
    if (!outcomes || outcomes->size() < order.size()) break;
    double run_s = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      Racer& racer = racers[order[i]];
      run_s += (*outcomes)[i].run_s;
      const double before_s = racer.outcome.run_s;
      racer.outcome = (*outcomes)[i];
      racer.outcome.run_s += before_s;
      if (racer.outcome.status == Status::kOk && racer.outcome.validated)
        race.Add(order[i], pass, racer.outcome.samples);
      else
        race.Fail(order[i]);
    }
    if (race.Running().empty()) break;
    const bool spent = pass + 1 == kPasses || Elapsed() + run_s > end;
    if (!spent && !race.Settled()) continue;
    if (pass == 0 && race.Running().size() > 1) continue;
    // Whoever was left aside but looks faster than the winner has to run, too.
    const double winner_ns = race.MedianNs(race.Winner());
    std::vector<const KnownSchedule*> late;
    for (const KnownSchedule* one : Ranked(task.known)) {
      const auto runs = [&](const Racer& racer) { return racer.schedule == one; };
      if (one->median_ns < winner_ns && std::none_of(racers.begin(), racers.end(), runs))
        late.push_back(one);
    }
    consistent = late.empty();
    if (consistent || spent) break;
    late.resize(std::min(late.size(), kContenders));
    for (const KnownSchedule* schedule : late) KINDRED_CHECK(enter(*schedule));
  }
  if (!consistent || !race.Settled()) ++choice_.open;
  return StoreRace(task, race, racers, consistent);
}

// One row for each racer, with the samples of all passes. Where schedules that did not run look
// faster than the winner, the machine is slower than it was when they were measured: such samples
// would name a wrong winner, and only failures are kept.
Result<void> TuningSession::StoreRace(TuneTask& task, const FinalRace& race,
                                      const std::vector<Racer>& racers, bool consistent) {
  while (choice_rounds_.contains(round_)) ++round_;
  std::int64_t round = round_ + (cut_off_ ? 1 : 0);
  while (choice_rounds_.contains(round)) ++round;
  LogBatch batch;
  std::vector<std::pair<KnownSchedule, Outcome>> learned;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    Outcome outcome = racers[i].outcome;
    if (race.failed(i)) {
      outcome.interleaved_passes = race.passes(i) + 1;
    } else {
      if (!consistent || race.passes(i) == 0) continue;
      outcome.samples = race.samples(i);
      outcome.median_ns = race.MedianNs(i);
      outcome.interleaved_passes = race.passes(i);
    }
    TrialOrigin origin;
    origin.session = session_.id;
    origin.round = round;
    origin.position = static_cast<std::int64_t>(batch.trials.size());
    origin.workload = task.key;
    origin.target = target_record_.id;
    origin.searcher = options_.searcher;
    origin.cache_state = target_record_.cache_state;
    origin.predicted_ns = racers[i].schedule->predicted_ns;
    batch.kernels.push_back(ToRecord(racers[i].kernel, task.canonical.workload));
    origin.kernel = batch.kernels.back().hash;
    batch.trials.push_back(ToRecord(origin, racers[i].candidate, racers[i].kernel, outcome));
    // The log knows the schedule by the key that it was first written with.
    batch.trials.back().schedule_key = racers[i].schedule->key;
    learned.emplace_back(*racers[i].schedule, std::move(outcome));
  }
  if (batch.trials.empty()) return {};
  KINDRED_CHECK(log_.Append(batch));
  choice_rounds_.insert(round);
  ++choice_.subgraphs;
  for (const auto& [schedule, outcome] : learned) {
    ++choice_.schedules;
    Know(task, schedule, outcome);
  }
  return {};
}

}  // namespace kindred
