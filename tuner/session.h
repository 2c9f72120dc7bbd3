// A tuning session: the main job, from models to a log full of results.
//
//   inputs -> tasks (one per key) -> families -> untuned times -> rounds of
//   {scheduler picks a task, its searcher proposes, runner measures, log keeps, models learn}
//   -> report
//
// Invariants
// - A session is (inputs, target, seed, searcher, scheduler, families on/off); its id is the digest
//   of these.
//   Budgets are not part of it: the same command with more trials goes on where it was.
// - Every finished trial is in the log before the next one is measured.
// - The final choice (session_choice.cc) changes no decision: its rounds in the log are stepped
//   over.
// - A task that cannot be measured is left out with its cause; the others go on.
// - Decisions depend on the seed, the outcomes in proposal order, and the log as it stood when the
//   session began, on nothing else: a resumed session replays its rounds from the log and goes on
//   exactly where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cost_model/family_models.h"
#include "database/tuning_log.h"
#include "measure/runner.h"
#include "search/searcher.h"
#include "tuner/distinct_tasks.h"
#include "tuner/final_race.h"
#include "tuner/progress.h"
#include "tuner/task_scheduler.h"
#include "tuner/workload_limits.h"

namespace kindred {

// Where no bound on trials or time is given.
inline constexpr std::int64_t kDefaultTrialsPerTask = 64;

// Of `kindred tune`.
inline constexpr double kChoiceShare = 0.02;

struct TuneOptions {
  std::int64_t trials = 0;           // total over all tasks; 0: no such bound
  std::int64_t trials_per_task = 0;  // each; 0: no such bound
  double time_s = 0;                 // of this run; 0: no such bound
  // Ends when another round of every task is expected to gain less than this share of the inputs'
  // time (TaskScheduler::ExpectedShare); 0: no such bound.
  double until = 0;
  // Share of the trials' seconds that may be spent on measuring the fastest schedules again before
  // the run ends (final choice); 0: none is.
  double choice_share = 0;
  std::uint64_t seed = 0;
  std::string searcher = "mcts";
  std::string scheduler = "gain";
  bool families = true;
  // For ablations: winners of siblings are tried; models stand on the analytic prior.
  bool foresee = true, prior = true;
  // What the log holds of other workloads and other devices teaches, and corrects the families.
  bool transfer = true;
  GainOptions gain;
  int batch = 8;  // trials of a round, which grow to this from 2
  // Where the schedules of a task come from; replays of recordings have fewer.
  std::function<std::unique_ptr<Space>(const Workload& canonical, const Target&)> space = MakeSpace;
  WorkloadLimits limits = {};
};

// What the log knows of a schedule: its latest valid measurement.
struct KnownSchedule {
  std::string key;
  Path path;
  double median_ns = 0, error = 0;  // error: relative standard error of the median
  double predicted_ns = 0;
  bool remeasured = false;
  std::int64_t order = 0;  // of the measurements, rising
};

struct TuneTask : DistinctTask {
  std::int64_t flop = 0, bytes = 0;
  double roofline_ns = 0;
  int family = 0;        // index into TuningSession::families()
  std::string left_out;  // why this run does not tune it; empty: it does

  double untuned_ns = 0;
  std::string untuned_message;  // why there is none
  // Validated; 0: none yet. While the session runs the least of its trials' medians; afterwards
  // that of best_schedule, the log's rule.
  double best_ns = 0;
  Path best_path;
  std::map<std::string, KnownSchedule> known;  // by schedule key
  std::int64_t trials = 0, failed = 0;
  std::map<std::string, std::int64_t> failures;  // by status
  bool exhausted = false;                        // the whole space was tried

  std::unique_ptr<Space> space;
  std::unique_ptr<CostModel> model;
  std::unique_ptr<Searcher> searcher;
  int model_index = 0;
  std::map<int, double> seeded;  // sibling -> its best when its winner was last handed over
};

// What came of measuring the fastest schedules again.
struct FinalChoice {
  // Of this run.
  std::int64_t schedules = 0, subgraphs = 0;
  std::int64_t changed = 0;  // subgraphs with another winner than before
  std::int64_t open = 0;     // subgraphs whose winner is not sure: more seconds would be needed
  // Of the session.
  double seconds = 0;
  std::int64_t after_trials = -1;  // trials of the session at the last choice; -1: there was none
};

// Why a run ended.
struct RunEnd {
  // "trials", "trials_per_task", "time", "until", "exhausted" (every schedule was tried) or
  // "interrupted"
  std::string by;
  std::string message;  // for people
};

struct SessionTimes {
  double build_s = 0, run_s = 0, search_s = 0, train_s = 0, other_s = 0, wall_s = 0;
  double device_busy_s = 0, device_wanted_s = 0;  // GPUs: MeasureTimes

  // How much of the time in which a built candidate was there a device was at work; 0: not known.
  double DeviceBusyShare() const {
    return device_wanted_s > 0 ? device_busy_s / device_wanted_s : 0;
  }
};

class TuningSession {
 public:
  // Reads the session's state from the log, or begins it. `runner` and `log` must outlive the
  // session. Errors: those of the log; unknown searcher; inputs without any task, or with none that
  // can be tuned.
  static Result<std::unique_ptr<TuningSession>> Open(std::vector<TuningInput> inputs,
                                                     const Target& target,
                                                     const TuneOptions& options, Runner& runner,
                                                     TuningLog& log);

  // Tunes until a budget is spent, nothing is expected to gain (`until`), every space is exhausted
  // or `stop` says so: end(). An error leaves
  // everything that was measured in the log.
  Result<void> Run(const std::function<bool()>& stop, Progress& progress);

  const std::vector<TuningInput>& inputs() const { return inputs_; }
  const std::vector<TuneTask>& tasks() const { return tasks_; }
  const std::vector<Family>& families() const { return families_; }
  const Sharing& sharing() const { return sharing_; }
  const Target& target() const { return target_; }
  const SessionTimes& times() const { return times_; }
  const std::string& id() const { return session_.id; }
  std::int64_t trials() const;  // in the log, of this session
  std::int64_t new_trials() const { return new_trials_; }
  bool interrupted() const { return end_.by == "interrupted"; }
  const RunEnd& end() const { return end_; }
  const FinalChoice& final_choice() const { return choice_; }
  // In sentences: what the session took over from the log, and what that changed.
  std::vector<std::string> TakenOver() const;

 private:
  struct Round;
  struct Racer;
  TuningSession(Target target, TuneOptions options, Runner& runner, TuningLog& log);

  // session_setup.cc
  Result<void> FreezeTarget();
  Result<void> MakeTasks(std::vector<TuningInput> inputs);
  // Families of the tasks; `cohorts` as FormFamilies takes them.
  void FormGroups(std::span<const int> cohorts);
  Result<void> OpenRecords();
  Result<void> MakeSearchers();
  Result<void> LoadWarmTrials(std::int64_t start_epoch);
  Result<void> LoadRounds();

  // session_transfer.cc
  Result<void> CorrectFamilies(std::int64_t start_epoch);
  Result<void> LoadTransfer(std::int64_t start_epoch);

  // session_state.cc
  Result<void> LeaveOut(std::size_t index, const std::string& cause, Progress& progress);
  Result<void> SaveState(const std::string& state);
  TaskRecord TaskRow(std::size_t index) const;
  RunEnd WhyEnded(bool interrupted) const;
  ProgressState Snapshot(const std::string& phase, const std::string& task) const;

  // session.cc
  Result<void> MeasureUntuned(const std::function<bool()>& stop, Progress& progress);
  std::int64_t Room(const TuneTask& task) const;
  void SeedFromSiblings(TuneTask& task);
  bool NothingToGain() const;
  int NextTask(std::int64_t& size) const;
  Result<void> RunRound(int index, std::int64_t size, const std::function<bool()>& stop,
                        Progress& progress);
  Result<bool> TakeLogged(Round& round, Progress& progress);
  Result<void> MeasureRound(int index, Round& round, const std::function<bool()>& stop,
                            Progress& progress);
  Result<void> Store(const Round& round, const Outcome& outcome);
  Result<void> AbsorbLog();
  void CountOutcome(TuneTask& task, const Outcome& outcome, const Candidate* candidate,
                    double predicted_ns);
  void CountOutcomes(const Round& round);
  Result<void> FinishRound(int index, const Round& round);
  double Elapsed() const;

  // session_choice.cc
  void Know(TuneTask& task, const KnownSchedule& schedule, const Outcome& outcome);
  Result<void> TakeRemeasured();
  Result<void> ChooseWinners(const std::function<bool()>& stop, Progress& progress);
  Result<void> HoldRaces(const std::function<bool()>& stop, Progress& progress);
  Result<void> HoldRace(TuneTask& task, double share_s, double most_s,
                        const std::function<bool()>& stop);
  Result<void> StoreRace(TuneTask& task, const FinalRace& race, const std::vector<Racer>& racers,
                         bool consistent);

  Target target_;
  TuneOptions options_;
  Runner& runner_;
  TuningLog& log_;

  std::vector<TuningInput> inputs_;
  std::vector<TuneTask> tasks_;
  std::vector<Family> families_;
  Sharing sharing_;
  // By structure: what evidence changed.
  std::vector<std::pair<std::string, std::string>> corrections_;
  struct {
    std::int64_t trials = 0, workloads = 0;
    std::vector<std::pair<int, std::string>> devices;  // source of the models, target
  } taken_over_;
  std::unique_ptr<FamilyModels> models_;
  std::unique_ptr<TaskScheduler> scheduler_;
  SessionRecord session_;
  TargetRecord target_record_;

  // Rounds of this session that the log holds and that are still to be replayed, by round.
  std::map<std::int64_t, std::vector<TrialRecord>> logged_;
  // Rows of final choices, and their rounds: no proposals.
  std::vector<TrialRecord> remeasured_;
  std::set<std::int64_t> choice_rounds_;
  std::int64_t planned_round_ = -1, planned_size_ = 0;  // the last round begun and its size
  std::int64_t round_ = 0;
  bool cut_off_ = false;  // round_ was begun and not ended
  double trial_s_ = 0;    // of the session's trials; builds, which overlap, count half
  std::int64_t known_count_ = 0;
  FinalChoice choice_;
  std::int64_t untrained_ = 0, observed_ = 0;
  std::int64_t new_trials_ = 0;
  RunEnd end_;
  double started_s_ = 0;  // steady clock
  SessionTimes times_;
};

}  // namespace kindred
