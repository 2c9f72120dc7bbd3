#include "tuner/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/features.h"
#include "schedules/emit_kernel.h"
#include "tuner/plain_program.h"
#include "tuner/record_mapping.h"

namespace kindred {
namespace {

using nlohmann::json;

// How many times the roofline's time an untuned program may take to be near the device's limits.
constexpr double kNearRoofline = 20;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the seconds of its scope to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(double& counter) : counter_(counter), start_(Now()) {}
  ~Stopwatch() { counter_ += Now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& counter_;
  double start_;
};

// What is wrong with the surroundings (disk, compiler, worker) ends the run; anything else concerns
// the one workload.
bool EndsRun(const Error& error) { return error.kind == ErrorKind::kEnvironment; }

}  // namespace

// One round of one task: proposals, and the outcomes known so far (a prefix).
struct TuningSession::Round {
  TuneTask* task = nullptr;
  std::vector<Candidate> candidates;
  std::vector<KernelSource> kernels;
  std::vector<double> predicted_ns;
  std::vector<Outcome> outcomes;
};

double TuningSession::Elapsed() const { return Now() - started_s_; }

std::int64_t TuningSession::Room(const TuneTask& task) const {
  // What the first outcomes teach chooses the next ones: rounds grow from a few trials.
  constexpr std::int64_t kFirstRound = 2;
  std::int64_t room = std::min<std::int64_t>(options_.batch, std::max(kFirstRound, task.trials));
  if (options_.trials_per_task > 0) room = std::min(room, options_.trials_per_task - task.trials);
  if (options_.trials > 0) {
    room = std::min(room, options_.trials - trials());
    // A small budget first gives every task its share of a round.
    const auto tasks = static_cast<std::int64_t>(tasks_.size());
    if (task.trials == 0) room = std::min(room, std::max<std::int64_t>(1, options_.trials / tasks));
  }
  return std::max<std::int64_t>(room, 0);
}

Result<void> TuningSession::Run(const std::function<bool()>& stop, Progress& progress) {
  started_s_ = Now();
  const auto ended = [&] {
    return stop() || (options_.time_s > 0 && Elapsed() >= options_.time_s);
  };
  const auto finish = [&]() -> Result<void> {
    end_ = WhyEnded(stop());
    KINDRED_CHECK(ChooseWinners(stop, progress));
    times_.build_s = runner_.times().build_s;
    times_.run_s = runner_.times().run_s;
    times_.device_busy_s = runner_.times().device_busy_s;
    times_.device_wanted_s = runner_.times().device_wanted_s;
    times_.train_s = models_->train_seconds();
    times_.wall_s = Elapsed();
    times_.other_s = std::max(
        0.0, times_.wall_s - times_.build_s - times_.run_s - times_.train_s - times_.search_s);
    return SaveState(interrupted() ? "interrupted" : "finished");
  };

  KINDRED_CHECK(MeasureUntuned(ended, progress));
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const TuneTask& task = tasks_[i];
    const double near_ns = kNearRoofline * task.roofline_ns;
    scheduler_->AddTask({task.weight, task.untuned_ns > 0 ? task.untuned_ns : near_ns,
                         options_.families ? task.family : static_cast<int>(i),
                         static_cast<double>(task.flop)});
    if (!task.left_out.empty()) {
      scheduler_->Close(static_cast<int>(i));
      continue;
    }
    // A plain loop nest that is near the device's limits is worth trying as a schedule.
    if (task.untuned_ns > 0 && task.untuned_ns < near_ns) {
      const Path plain[] = {task.space->Adapt({{"sketch", 0, "generic"}, {"vectors", 0, ""}})};
      task.searcher->Seed(plain);
    }
  }
  if (!logged_.empty()) {
    std::int64_t known = 0;
    for (const auto& [round, list] : logged_) known += static_cast<std::int64_t>(list.size());
    progress.Note(fmt::format("session {} goes on after {} trials", session_.id, known));
  }
  while (!ended()) {
    while (choice_rounds_.contains(round_)) ++round_;
    if (NothingToGain()) break;
    std::int64_t size = 0;
    const int index = NextTask(size);
    if (index < 0) break;
    if (size == 0) {
      scheduler_->Close(index);
      continue;
    }
    KINDRED_CHECK(RunRound(index, size, ended, progress));
    progress.Show(Snapshot("tune", tasks_[static_cast<std::size_t>(index)].name));
  }
  return finish();
}

// What the log holds is replayed first: a budget never changes what was decided.
bool TuningSession::NothingToGain() const {
  return options_.until > 0 && !logged_.contains(round_) &&
         scheduler_->ExpectedShare() < options_.until;
}

// The task of the next round and its size; -1 when there is nothing left. A round that the log
// holds is what it was: its task and, unless it was cut off, its size.
int TuningSession::NextTask(std::int64_t& size) const {
  const auto logged = logged_.find(round_);
  if (logged != logged_.end()) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].key != logged->second.front().workload) continue;
      size = static_cast<std::int64_t>(logged->second.size());
      if (round_ == planned_round_) size = std::max(size, planned_size_);
      return static_cast<int>(i);
    }
  }
  const std::optional<int> picked = scheduler_->Pick();
  if (!picked) return -1;
  size = Room(tasks_[static_cast<std::size_t>(*picked)]);
  return *picked;
}

Result<void> TuningSession::MeasureUntuned(const std::function<bool()>& stop, Progress& progress) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    TuneTask& task = tasks_[i];
    if (!task.left_out.empty()) {
      KINDRED_CHECK(LeaveOut(i, task.left_out, progress));
      continue;
    }
    if (task.untuned_ns > 0 || !task.untuned_message.empty()) continue;
    if (stop()) return {};
    ProgressState state = Snapshot("untuned", task.name);
    state.done = static_cast<std::int64_t>(i);
    state.total = static_cast<std::int64_t>(tasks_.size());
    progress.Show(state);
    if (const double seconds = UntunedSeconds(task.canonical.workload, target_);
        seconds > options_.limits.untuned_s) {
      task.untuned_message = fmt::format("one run may take {:.0f} s", seconds);
    } else {
      KINDRED_TRY(const Program plain, PlainProgram(task.canonical.workload, target_));
      const KernelSource kernel = EmitKernel(plain, task.canonical.workload, target_);
      MeasureJob job;
      job.workload = &task.canonical.workload;
      job.candidates = {&kernel, 1};
      job.seed = options_.seed;
      job.reference = true;
      const auto outcomes = runner_.Measure(job, stop);
      if (!outcomes && EndsRun(outcomes.error())) return outcomes.error();
      if (!outcomes) {
        KINDRED_CHECK(LeaveOut(i, outcomes.error().message, progress));
        continue;
      }
      if (outcomes->empty()) return {};
      const Outcome& outcome = outcomes->front();
      if (outcome.status == Status::kOk)
        task.untuned_ns = outcome.median_ns;
      else
        task.untuned_message = fmt::format("{}: {}", Name(outcome.status), outcome.message);
    }
    if (!task.untuned_message.empty())
      progress.Note(fmt::format("{}: {} is not timed: {}", task.name, PlainProgramName(target_),
                                task.untuned_message));
    LogBatch batch;
    batch.tasks.push_back(TaskRow(i));
    KINDRED_CHECK(log_.Append(batch));
  }
  return {};
}

// Winners of the family's other members, carried over to this task's space (foresee tuning,
// FamilySeer).
void TuningSession::SeedFromSiblings(TuneTask& task) {
  if (!options_.families || !options_.foresee) return;
  std::vector<Path> paths;
  for (const int member : families_[static_cast<std::size_t>(task.family)].members) {
    const TuneTask& sibling = tasks_[static_cast<std::size_t>(member)];
    double& seeded = task.seeded[member];
    if (&sibling == &task || sibling.best_path.empty() || seeded == sibling.best_ns) continue;
    seeded = sibling.best_ns;
    paths.push_back(task.space->Adapt(sibling.best_path));
  }
  if (!paths.empty()) task.searcher->Seed(paths);
}

Result<void> TuningSession::RunRound(int index, std::int64_t size,
                                     const std::function<bool()>& stop, Progress& progress) {
  TuneTask& task = tasks_[static_cast<std::size_t>(index)];
  Round round;
  round.task = &task;
  {
    Stopwatch watch(times_.search_s);
    SeedFromSiblings(task);
    round.candidates = task.searcher->Propose(static_cast<int>(size));
    std::vector<const Candidate*> pointers;
    for (const Candidate& candidate : round.candidates) pointers.push_back(&candidate);
    for (const Prediction& p : task.model->Predict(pointers)) round.predicted_ns.push_back(p.ns);
  }
  for (const Error& defect : task.searcher->TakeErrors())
    progress.Note(
        fmt::format("{}: a schedule could not be lowered: {}", task.name, defect.message));
  KINDRED_TRY(const bool same, TakeLogged(round, progress));
  if (!same) return AbsorbLog();
  if (round.candidates.empty()) {
    task.exhausted = true;
    scheduler_->Close(index);
    return {};
  }
  if (round.outcomes.size() < round.candidates.size())
    KINDRED_CHECK(MeasureRound(index, round, stop, progress));
  CountOutcomes(round);
  if (round.outcomes.size() < round.candidates.size()) {  // a later run finishes it
    cut_off_ = !round.outcomes.empty();
    return {};
  }
  KINDRED_CHECK(FinishRound(index, round));
  if (!task.left_out.empty()) scheduler_->Close(index);
  return {};
}

// Fills the outcomes that the log holds for this round. False if the log's trials are not what was
// proposed now: the log then comes from another version of the search or of the space.
Result<bool> TuningSession::TakeLogged(Round& round, Progress& progress) {
  const auto logged = logged_.find(round_);
  if (logged == logged_.end()) return true;
  const std::vector<TrialRecord>& trials = logged->second;
  bool same = trials.size() <= round.candidates.size();
  for (std::size_t i = 0; same && i < trials.size(); ++i)
    same = trials[i].schedule_key == round.candidates[i].key.Hex();
  if (!same) {
    progress.Note(
        "the log's trials were proposed by another version of Kindred; going on from their results");
    return false;
  }
  for (const TrialRecord& trial : trials) {
    KINDRED_TRY(round.outcomes.emplace_back(), ToOutcome(trial));
  }
  logged_.erase(logged);
  return true;
}

// Takes all logged rounds that are left as results without their proposals.
Result<void> TuningSession::AbsorbLog() {
  for (const auto& [number, trials] : logged_) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      TuneTask& task = tasks_[i];
      if (trials.front().workload != task.key) continue;
      Round round;
      round.task = &task;
      for (const TrialRecord& trial : trials) {
        KINDRED_TRY(Outcome outcome, ToOutcome(trial));
        const auto path = PathFromJson(*task.space, trial.schedule);
        auto candidate = path ? task.space->Lower(*path) : Result<Candidate>(path.error());
        if (!candidate) {  // a schedule of another version's space
          CountOutcome(task, outcome, nullptr, 0);
          continue;
        }
        round.candidates.push_back(std::move(*candidate));
        round.outcomes.push_back(std::move(outcome));
      }
      round_ = number;
      CountOutcomes(round);
      KINDRED_CHECK(FinishRound(static_cast<int>(i), round));
    }
  }
  logged_.clear();
  return {};
}

Result<void> TuningSession::MeasureRound(int index, Round& round, const std::function<bool()>& stop,
                                         Progress& progress) {
  const std::size_t known = round.outcomes.size();
  if (known == 0) {
    planned_round_ = round_;
    planned_size_ = static_cast<std::int64_t>(round.candidates.size());
    KINDRED_CHECK(SaveState("running"));
  }
  {
    Stopwatch watch(times_.search_s);
    for (const Candidate& candidate : round.candidates)
      round.kernels.push_back(
          EmitKernel(*candidate.program, round.task->canonical.workload, target_));
  }
  Result<void> stored;
  MeasureJob job;
  job.workload = &round.task->canonical.workload;
  job.candidates = std::span(round.kernels).subspan(known);
  job.incumbent_ns = round.task->best_ns;
  job.seed = options_.seed;
  const auto take = [&](const Outcome& outcome) {
    if (stored) stored = Store(round, outcome);
    round.outcomes.push_back(outcome);
    ++new_trials_;
    ProgressState state = Snapshot("tune", round.task->name);
    state.done += static_cast<std::int64_t>(round.outcomes.size());
    progress.Show(state);
  };
  job.finished = [&](std::size_t, const Outcome& outcome) { take(outcome); };
  const auto measured = runner_.Measure(job, [&] { return !stored || stop(); });
  KINDRED_CHECK(stored);
  if (measured || EndsRun(measured.error())) return measured ? Result<void>() : measured.error();
  // The round is completed, so that a later run makes the same decisions.
  Outcome failed;
  failed.status = Status::kRunError;
  failed.message = measured.error().message;
  while (round.outcomes.size() < round.candidates.size()) take(failed);
  KINDRED_CHECK(stored);
  return LeaveOut(static_cast<std::size_t>(index), failed.message, progress);
}

// Writes the outcome of the round's next candidate.
Result<void> TuningSession::Store(const Round& round, const Outcome& outcome) {
  const std::size_t index = round.outcomes.size();
  const TuneTask& task = *round.task;
  const Candidate& candidate = round.candidates[index];
  const KernelSource& kernel = round.kernels[index];
  LogBatch batch;
  TrialOrigin origin;
  origin.session = session_.id;
  origin.round = round_;
  origin.position = static_cast<std::int64_t>(index);
  origin.workload = task.key;
  origin.target = target_record_.id;
  origin.searcher = options_.searcher;
  origin.cache_state = target_record_.cache_state;
  origin.predicted_ns = round.predicted_ns[index];
  batch.kernels.push_back(ToRecord(kernel, task.canonical.workload));
  origin.kernel = batch.kernels.back().hash;
  batch.trials.push_back(ToRecord(origin, candidate, kernel, outcome));
  const auto appended = log_.Append(batch);
  if (appended) return {};
  Error error = appended.error();
  if (error.kind == ErrorKind::kBadInput)
    error.message += "; let the other one end, or tune with another --seed or --log";
  return error;
}

void TuningSession::CountOutcome(TuneTask& task, const Outcome& outcome, const Candidate* candidate,
                                 double predicted_ns) {
  ++task.trials;
  trial_s_ += outcome.run_s + outcome.build_s / 2;
  if (!outcome.Timed()) {
    ++task.failed;
    ++task.failures[std::string(Name(outcome.status))];
  }
  if (candidate == nullptr) return;
  Know(task, {.key = candidate->key.Hex(), .path = candidate->path, .predicted_ns = predicted_ns},
       outcome);
  if (outcome.status == Status::kOk && outcome.validated &&
      (task.best_ns == 0 || outcome.median_ns < task.best_ns)) {
    task.best_ns = outcome.median_ns;
    task.best_path = candidate->path;
  }
}

void TuningSession::CountOutcomes(const Round& round) {
  for (std::size_t i = 0; i < round.outcomes.size(); ++i)
    CountOutcome(*round.task, round.outcomes[i], &round.candidates[i],
                 i < round.predicted_ns.size() ? round.predicted_ns[i] : 0);
}

// Applies a complete round to the searcher, the models and the scheduler.
Result<void> TuningSession::FinishRound(int index, const Round& round) {
  TuneTask& task = *round.task;
  RoundResult result;
  {
    Stopwatch watch(times_.search_s);
    double errors = 0, timed = 0;
    for (std::size_t i = 0; i < round.outcomes.size(); ++i) {
      const Outcome& outcome = round.outcomes[i];
      result.seconds += outcome.build_s + outcome.run_s;
      if (outcome.Timed() && i < round.predicted_ns.size()) {
        errors += std::abs(std::log2(outcome.median_ns / round.predicted_ns[i]));
        ++timed;
      }
      models_->Observe(
          {task.model_index,
           ExtractFeatures(*round.candidates[i].program, task.canonical.workload, target_),
           outcome.Timed() ? outcome.median_ns : 0});
    }
    if (timed > 0) result.model_error = errors / timed;
    task.searcher->Observe(round.candidates, round.outcomes);
  }
  observed_ += static_cast<std::int64_t>(round.outcomes.size());
  untrained_ += static_cast<std::int64_t>(round.outcomes.size());
  // Refitting costs time that grows with what is known: each refit waits for an eighth more.
  if (untrained_ >= std::max<std::int64_t>(options_.batch, observed_ / 8)) {
    KINDRED_CHECK(models_->Train());
    untrained_ = 0;
  }
  result.best_ns = task.best_ns;
  result.trials = static_cast<double>(round.outcomes.size());
  scheduler_->Update(index, result);
  ++round_;
  return {};
}

}  // namespace kindred
