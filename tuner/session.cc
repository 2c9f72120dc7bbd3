#include "tuner/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/features.h"
#include "schedules/emit_c.h"
#include "schedules/lower_naive.h"
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

std::int64_t TuningSession::trials() const {
  std::int64_t sum = 0;
  for (const TuneTask& task : tasks_) sum += task.trials;
  return sum;
}

std::int64_t TuningSession::Room(const TuneTask& task) const {
  std::int64_t room = options_.batch;
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
    times_.build_s = runner_.times().build_s;
    times_.run_s = runner_.times().run_s;
    times_.train_s = models_->train_seconds();
    times_.wall_s = Elapsed();
    times_.other_s = std::max(
        0.0, times_.wall_s - times_.build_s - times_.run_s - times_.train_s - times_.search_s);
    interrupted_ = stop();
    return SaveState(interrupted_ ? "interrupted" : "finished");
  };

  KINDRED_CHECK(MeasureUntuned(ended, progress));
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const TuneTask& task = tasks_[i];
    const double near_ns = kNearRoofline * task.roofline_ns;
    scheduler_.AddTask(task.weight, task.untuned_ns > 0 ? task.untuned_ns : near_ns,
                       options_.families ? task.family : static_cast<int>(i));
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
    std::int64_t size = 0;
    const int index = NextTask(size);
    if (index < 0) break;
    if (size == 0) {
      scheduler_.Close(index);
      continue;
    }
    KINDRED_CHECK(RunRound(index, size, ended, progress));
    progress.Show(Snapshot("tune", tasks_[static_cast<std::size_t>(index)].name));
  }
  return finish();
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
  const std::optional<int> picked = scheduler_.Pick();
  if (!picked) return -1;
  size = Room(tasks_[static_cast<std::size_t>(*picked)]);
  return *picked;
}

Result<void> TuningSession::MeasureUntuned(const std::function<bool()>& stop, Progress& progress) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    TuneTask& task = tasks_[i];
    if (task.untuned_ns > 0 || !task.untuned_message.empty()) continue;
    if (stop()) return {};
    ProgressState state = Snapshot("untuned", task.name);
    state.done = static_cast<std::int64_t>(i);
    state.total = static_cast<std::int64_t>(tasks_.size());
    progress.Show(state);
    const KernelSource kernel =
        EmitC(LowerNaive(task.canonical.workload), task.canonical.workload, target_);
    MeasureJob job;
    job.workload = &task.canonical.workload;
    job.candidates = {&kernel, 1};
    job.seed = options_.seed;
    job.reference = true;
    KINDRED_TRY(const std::vector<Outcome> outcomes, runner_.Measure(job, stop));
    if (outcomes.empty()) return {};
    if (outcomes[0].status == Status::kOk)
      task.untuned_ns = outcomes[0].median_ns;
    else
      task.untuned_message = fmt::format("{}: {}", Name(outcomes[0].status), outcomes[0].message);
    if (!task.untuned_message.empty())
      progress.Note(fmt::format("{}: the plain loop nest could not be timed: {}", task.name,
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
  if (!options_.families) return;
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
  if (!TakeLogged(round, progress)) return AbsorbLog();
  if (round.candidates.empty()) {
    task.exhausted = true;
    scheduler_.Close(index);
    return {};
  }
  if (round.outcomes.size() < round.candidates.size())
    KINDRED_CHECK(MeasureRound(round, stop, progress));
  CountOutcomes(round);
  if (round.outcomes.size() < round.candidates.size())
    return {};  // cut off: a later run finishes it
  return FinishRound(index, round);
}

// Fills the outcomes that the log holds for this round. False if the log's trials are not what was
// proposed now: the log then comes from another version of the search or of the space.
bool TuningSession::TakeLogged(Round& round, Progress& progress) {
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
  for (const TrialRecord& trial : trials) round.outcomes.push_back(ToOutcome(trial));
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
        const auto path = PathFromJson(*task.space, trial.schedule);
        auto candidate = path ? task.space->Lower(*path) : Result<Candidate>(path.error());
        if (!candidate) {  // a schedule of another version's space
          CountOutcome(task, ToOutcome(trial), {});
          continue;
        }
        round.candidates.push_back(std::move(*candidate));
        round.outcomes.push_back(ToOutcome(trial));
      }
      round_ = number;
      CountOutcomes(round);
      KINDRED_CHECK(FinishRound(static_cast<int>(i), round));
    }
  }
  logged_.clear();
  return {};
}

Result<void> TuningSession::MeasureRound(Round& round, const std::function<bool()>& stop,
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
      round.kernels.push_back(EmitC(*candidate.program, round.task->canonical.workload, target_));
  }
  Result<void> stored;
  MeasureJob job;
  job.workload = &round.task->canonical.workload;
  job.candidates = std::span(round.kernels).subspan(known);
  job.incumbent_ns = round.task->best_ns;
  job.seed = options_.seed;
  job.finished = [&](std::size_t index, const Outcome& outcome) {
    if (stored) stored = Store(round, known + index, outcome);
    ++new_trials_;
    ProgressState state = Snapshot("tune", round.task->name);
    state.done += static_cast<std::int64_t>(known + index) + 1;
    progress.Show(state);
  };
  KINDRED_TRY(std::vector<Outcome> outcomes,
              runner_.Measure(job, [&] { return !stored || stop(); }));
  KINDRED_CHECK(stored);
  for (Outcome& outcome : outcomes) round.outcomes.push_back(std::move(outcome));
  return {};
}

Result<void> TuningSession::Store(const Round& round, std::size_t index, const Outcome& outcome) {
  const TuneTask& task = *round.task;
  const Candidate& candidate = round.candidates[index];
  const KernelSource& kernel = round.kernels[index];
  LogBatch batch;
  TrialOrigin origin;
  origin.session = session_.id;
  origin.round = round_;
  origin.position = static_cast<std::int64_t>(index);
  origin.workload = task.key;
  origin.target = target_record_id_;
  origin.searcher = options_.searcher;
  origin.predicted_ns = round.predicted_ns[index];
  batch.kernels.push_back(ToRecord(kernel, task.canonical.workload));
  origin.kernel = batch.kernels.back().hash;
  batch.trials.push_back(ToRecord(origin, candidate, kernel, outcome));
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

void TuningSession::CountOutcome(TuneTask& task, const Outcome& outcome, const Path& path) {
  ++task.trials;
  if (!outcome.Timed()) {
    ++task.failed;
    ++task.failures[std::string(Name(outcome.status))];
  } else if (outcome.status == Status::kOk && outcome.validated && !path.empty() &&
             (task.best_ns == 0 || outcome.median_ns < task.best_ns)) {
    task.best_ns = outcome.median_ns;
    task.best_path = path;
  }
}

void TuningSession::CountOutcomes(const Round& round) {
  for (std::size_t i = 0; i < round.outcomes.size(); ++i)
    CountOutcome(*round.task, round.outcomes[i], round.candidates[i].path);
}

// Applies a complete round to the searcher, the models and the scheduler.
Result<void> TuningSession::FinishRound(int index, const Round& round) {
  TuneTask& task = *round.task;
  double seconds = 0;
  {
    Stopwatch watch(times_.search_s);
    for (std::size_t i = 0; i < round.outcomes.size(); ++i) {
      const Outcome& outcome = round.outcomes[i];
      seconds += outcome.build_s + outcome.run_s;
      models_->Observe(
          {task.model_index,
           ExtractFeatures(*round.candidates[i].program, task.canonical.workload, target_),
           outcome.Timed() ? outcome.median_ns : 0});
    }
    task.searcher->Observe(round.candidates, round.outcomes);
  }
  observed_ += static_cast<std::int64_t>(round.outcomes.size());
  untrained_ += static_cast<std::int64_t>(round.outcomes.size());
  // Refitting costs time that grows with what is known: each refit waits for an eighth more.
  if (untrained_ >= std::max<std::int64_t>(options_.batch, observed_ / 8)) {
    KINDRED_CHECK(models_->Train());
    untrained_ = 0;
  }
  scheduler_.Update(index, task.best_ns, seconds);
  ++round_;
  return {};
}

Result<void> TuningSession::SaveState(const std::string& state) {
  session_.state = state;
  session_.updated_ms = NowMs();
  json summary = json::parse(session_.summary);
  summary["planned_round"] = planned_round_;
  summary["planned_size"] = planned_size_;
  if (state != "running")
    summary["last_run"] = {{"wall_s", times_.wall_s},   {"build_s", times_.build_s},
                           {"run_s", times_.run_s},     {"search_s", times_.search_s},
                           {"train_s", times_.train_s}, {"trials", new_trials_}};
  session_.summary = summary.dump();
  LogBatch batch;
  batch.sessions.push_back(session_);
  if (state != "running" && observed_ > 0) {
    ModelRecord model;
    model.target = target_record_id_;
    model.name = "families";
    model.kind = "kindred-family-models/1";
    KINDRED_TRY(model.epoch, log_.Epoch());
    model.blob = models_->Save();
    batch.models.push_back(std::move(model));
  }
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

ProgressState TuningSession::Snapshot(const std::string& phase, const std::string& task) const {
  ProgressState state;
  state.phase = phase;
  state.task = task;
  state.done = trials();
  state.elapsed_s = Elapsed();
  state.time_limit_s = options_.time_s;
  state.total = options_.trials;
  if (options_.trials_per_task > 0) {
    const auto all = options_.trials_per_task * static_cast<std::int64_t>(tasks_.size());
    state.total = state.total > 0 ? std::min(state.total, all) : all;
  }
  for (const TuneTask& t : tasks_) {
    state.failed += t.failed;
    state.untuned_ns += t.weight * t.untuned_ns;
    state.best_ns += t.weight * (t.best_ns > 0 ? t.best_ns : t.untuned_ns);
  }
  return state;
}

}  // namespace kindred
