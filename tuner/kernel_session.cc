#include "tuner/kernel_session.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "schedules/base/seed.h"
#include "search/configuration_searcher.h"
#include "tuner/record_mapping.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::json;

// So many trials that do not compile, all for the same reason, are enough.
constexpr std::int64_t kHopeless = 16;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

json SpaceToJson(const ParameterSpace& space, const std::vector<std::string>& conditions) {
  json parameters = json::array();
  for (const TunableParameter& parameter : space.parameters()) {
    json values = json::array();
    for (const Value& value : parameter.values) values.push_back(Repr(value));
    parameters.push_back({{"name", parameter.name}, {"values", std::move(values)}});
  }
  return {{"parameters", std::move(parameters)}, {"conditions", conditions}};
}

class KernelSession {
 public:
  KernelSession(const KernelInput& input, const Target& target, const KernelTuneOptions& options,
                KernelRunner& runner, TuningLog& log, std::function<bool()> stop,
                Progress& progress)
      : input_(input),
        target_(ToRecord(target)),
        options_(options),
        runner_(runner),
        log_(log),
        stop_(std::move(stop)),
        progress_(progress),
        started_s_(Now()) {}

  Result<KernelTuneReport> Run();

 private:
  struct Round {
    std::vector<Candidate> candidates;
    std::vector<Outcome> outcomes;
  };

  Result<void> Open();
  Result<void> TakeNamedReference();
  Result<void> TakeLoggedReference();
  Result<bool> TakeLogged(Round& round);
  Result<void> AbsorbLog();
  Result<void> MeasureRound(Round& round);
  Result<Outcome> MeasureOne(const Candidate& candidate, const KernelSource& kernel);
  Result<void> Store(const Candidate& candidate, const KernelSource& kernel, const Outcome& outcome,
                     std::int64_t position);
  Result<KernelSource> Emit(const Candidate& candidate) const {
    return EmitUserKernel(input_.spec, input_.space, *input_.space.IndexOf(candidate.path),
                          input_.text, input_.folder);
  }
  void Count(const Candidate& candidate, const Outcome& outcome);
  TaskRecord TaskRow() const;
  Result<void> SaveState(const std::string& state);
  bool Ended() const {
    return stop_() || (options_.time_s > 0 && Now() - started_s_ >= options_.time_s) ||
           (options_.trials > 0 && report_.trials >= options_.trials);
  }
  void ShowProgress();

  const KernelInput& input_;
  TargetRecord target_;
  const KernelTuneOptions options_;
  KernelRunner& runner_;
  TuningLog& log_;
  const std::function<bool()> stop_;
  Progress& progress_;
  const double started_s_;

  std::unique_ptr<Searcher> searcher_;
  SessionRecord session_;
  std::map<std::int64_t, std::vector<TrialRecord>> logged_;  // by round, not yet taken
  std::int64_t round_ = 0;
  std::int64_t same_build_errors_ = 0;  // from the first trial on
  std::string build_error_;
  KernelTuneReport report_;
};

Result<void> KernelSession::Open() {
  KINDRED_TRY(const auto stored_target, log_.FindTarget(target_.id));
  if (stored_target) target_ = *stored_target;
  const json inputs =
      json::array({{{"model", input_.name},
                    {"dims", json::object()},
                    {"weight", 1},
                    {"priority", 1},
                    {"tasks", json::array({json::array({input_.key.Hex(), 1})})},
                    {"space", SpaceToJson(input_.space, input_.spec.space.conditions)}}});
  const json options = {{"searcher", options_.searcher},
                        {"batch", options_.batch},
                        {"reference", ReferenceName(input_.spec)}};
  report_.session =
      HashOf(inputs.dump() + target_.id + std::to_string(options_.seed) + options.dump())
          .Hex()
          .substr(0, 16);
  report_.key = input_.key.Hex();
  report_.family = input_.structure.Hex().substr(0, 8) + ".0";
  report_.name = input_.name;
  report_.target = target_.id;
  report_.configurations = input_.space.size();
  report_.command = input_.spec.language == KernelSpec::Language::kCommand;
  report_.maximise = input_.spec.command.maximise;
  report_.unit = input_.spec.command.unit;

  LogBatch batch;
  batch.targets.push_back(target_);
  batch.workloads.push_back(ToRecord(input_));
  FamilyRecord family;
  family.id = report_.family;
  family.structure = input_.structure.Hex();
  family.description = json{{"structure", "user kernel " + input_.spec.name}}.dump();
  family.members.push_back(report_.key);
  KINDRED_TRY(const auto workloads, log_.Workloads());
  for (const WorkloadRecord& other : workloads)
    if (other.structure == family.structure && other.key != report_.key)
      family.members.push_back(other.key);
  batch.families.push_back(std::move(family));
  KINDRED_TRY(const auto stored, log_.FindSession(report_.session));
  if (stored) {
    session_ = *stored;
    KINDRED_TRY(const auto tasks, log_.Tasks(report_.session));
    for (const TaskRecord& task : tasks) report_.reference_ns = task.untuned_ns;
  } else {
    session_.id = report_.session;
    session_.target = target_.id;
    session_.inputs = inputs.dump();
    session_.options = options.dump();
    session_.seed = options_.seed;
    session_.version = Version();
    session_.started_ms = NowMs();
    batch.tasks.push_back(TaskRow());
  }
  session_.state = "running";
  session_.updated_ms = NowMs();
  batch.sessions.push_back(session_);
  KINDRED_CHECK(log_.Append(batch));

  TrialFilter filter;
  filter.session = report_.session;
  KINDRED_TRY(auto trials, log_.Trials(filter));
  if (!trials.empty())
    progress_.Note(
        fmt::format("session {} goes on after {} trials", report_.session, trials.size()));
  for (TrialRecord& trial : trials) logged_[trial.round].push_back(std::move(trial));
  KINDRED_TRY(searcher_, MakeConfigurationSearcher(options_.searcher, input_.space,
                                                   DeriveSeed(options_.seed, "search", 0)));
  return {};
}

TaskRecord KernelSession::TaskRow() const {
  TaskRecord record;
  record.session = report_.session;
  record.workload = report_.key;
  record.name = input_.name;
  record.family = report_.family;
  record.uses = json::array({{{"model", input_.name}, {"count", 1}, {"runs", 1}}}).dump();
  record.untuned_ns = report_.reference_ns;
  record.untuned = json{{"reference", ReferenceName(input_.spec)}}.dump();
  return record;
}

Result<void> KernelSession::SaveState(const std::string& state) {
  session_.state = state;
  session_.updated_ms = NowMs();
  LogBatch batch;
  batch.sessions.push_back(session_);
  batch.tasks.push_back(TaskRow());
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

// The function that the description names.
Result<void> KernelSession::TakeNamedReference() {
  const std::string name = ReferenceName(input_.spec);
  KINDRED_TRY(const KernelSource kernel,
              EmitUserReference(input_.spec, input_.space, input_.text, input_.folder));
  const auto failed = [&](const Outcome& outcome) {
    return BadInput(fmt::format("{}: the reference kernel {} cannot be used: {}: {}", input_.path,
                                name, Name(outcome.status), outcome.message));
  };
  KINDRED_TRY(const Outcome taken, runner_.TakeReference(kernel));
  if (taken.status != Status::kOk) return failed(taken);
  report_.reference = "function " + name;
  if (report_.reference_ns > 0) return {};
  KINDRED_TRY(const Outcome timed, runner_.Measure(kernel, 0, true));
  if (timed.status != Status::kOk) return failed(timed);
  report_.reference_ns = timed.median_ns;
  return {};
}

// The configuration that was the reference when the session began.
Result<void> KernelSession::TakeLoggedReference() {
  for (const auto& [round, trials] : logged_)
    for (const TrialRecord& trial : trials) {
      if (trial.status != "ok") continue;
      const auto path = PathFromJson(input_.space, trial.schedule);
      if (!path) continue;
      KINDRED_TRY(const Candidate candidate, input_.space.Lower(*path));
      KINDRED_TRY(const KernelSource kernel, Emit(candidate));
      KINDRED_TRY(const Outcome taken, runner_.TakeReference(kernel));
      if (taken.status != Status::kOk) continue;
      report_.reference = "configuration " + trial.schedule;
      return {};
    }
  return {};
}

void KernelSession::Count(const Candidate& candidate, const Outcome& outcome) {
  if (outcome.status == Status::kBuildError && same_build_errors_ == report_.trials &&
      (build_error_.empty() || build_error_ == outcome.message)) {
    ++same_build_errors_;
    build_error_ = outcome.message;
  }
  ++report_.trials;
  if (!outcome.Timed()) {
    ++report_.failed;
    ++report_.failures[std::string(Name(outcome.status))];
  } else if (outcome.status == Status::kOk && outcome.validated &&
             (report_.best_ns == 0 || outcome.median_ns < report_.best_ns)) {
    report_.best_ns = outcome.median_ns;
    report_.best = PathToJson(candidate.path);
  }
}

// Fills the outcomes that the log holds for this round. False: its trials are not what was
// proposed.
Result<bool> KernelSession::TakeLogged(Round& round) {
  const auto logged = logged_.find(round_);
  if (logged == logged_.end()) return true;
  bool same = logged->second.size() <= round.candidates.size();
  for (std::size_t i = 0; same && i < logged->second.size(); ++i)
    same = logged->second[i].schedule_key == round.candidates[i].key.Hex();
  if (!same) return false;
  for (std::size_t i = 0; i < logged->second.size(); ++i) {
    KINDRED_TRY(Outcome outcome, ToOutcome(logged->second[i]));
    Count(round.candidates[i], outcome);
    round.outcomes.push_back(std::move(outcome));
  }
  logged_.erase(logged);
  return true;
}

// Takes all logged rounds that are left as results without their proposals.
Result<void> KernelSession::AbsorbLog() {
  progress_.Note(
      "the log's trials were proposed by another version of Kindred; going on from their results");
  for (const auto& [number, trials] : logged_) {
    Round round;
    for (const TrialRecord& trial : trials) {
      KINDRED_TRY(Outcome outcome, ToOutcome(trial));
      const auto path = PathFromJson(input_.space, trial.schedule);
      if (!path) return path.error();
      KINDRED_TRY(Candidate candidate, input_.space.Lower(*path));
      Count(candidate, outcome);
      round.candidates.push_back(std::move(candidate));
      round.outcomes.push_back(std::move(outcome));
    }
    searcher_->Observe(round.candidates, round.outcomes);
    round_ = number + 1;
  }
  logged_.clear();
  return {};
}

Result<void> KernelSession::Store(const Candidate& candidate, const KernelSource& kernel,
                                  const Outcome& outcome, std::int64_t position) {
  LogBatch batch;
  batch.kernels.push_back(ToRecord(kernel));
  TrialOrigin origin;
  origin.session = report_.session;
  origin.round = round_;
  origin.position = position;
  origin.workload = report_.key;
  origin.target = target_.id;
  origin.searcher = options_.searcher;
  origin.kernel = batch.kernels.back().hash;
  batch.trials.push_back(ToRecord(origin, candidate, kernel, outcome));
  batch.trials.back().sketch = "configuration";
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

Result<Outcome> KernelSession::MeasureOne(const Candidate& candidate, const KernelSource& kernel) {
  if (!runner_.has_reference()) {
    KINDRED_TRY(Outcome taken, runner_.TakeReference(kernel));
    if (taken.status != Status::kOk) return taken;
    report_.reference = "configuration " + PathToJson(candidate.path);
  }
  return runner_.Measure(kernel, report_.best_ns, false);
}

Result<void> KernelSession::MeasureRound(Round& round) {
  std::vector<KernelSource> kernels;
  for (const Candidate& candidate : round.candidates) {
    KINDRED_TRY(KernelSource kernel, Emit(candidate));
    kernels.push_back(std::move(kernel));
  }
  const std::size_t known = round.outcomes.size();
  std::size_t wanted = kernels.size();
  if (options_.trials > 0)
    wanted = std::min(wanted, known + static_cast<std::size_t>(options_.trials - report_.trials));
  KINDRED_CHECK(runner_.BuildAhead(std::span(kernels).first(wanted).subspan(known),
                                   [this] { return Ended(); }));
  for (std::size_t i = known; i < wanted && !Ended(); ++i) {
    KINDRED_TRY(Outcome outcome, MeasureOne(round.candidates[i], kernels[i]));
    KINDRED_CHECK(Store(round.candidates[i], kernels[i], outcome, static_cast<std::int64_t>(i)));
    ++report_.new_trials;
    Count(round.candidates[i], outcome);
    round.outcomes.push_back(std::move(outcome));
    ShowProgress();
  }
  return {};
}

void KernelSession::ShowProgress() {
  ProgressState state;
  state.phase = "tune";
  state.task = input_.name;
  state.done = report_.trials;
  state.total = options_.trials;
  state.elapsed_s = Now() - started_s_;
  state.time_limit_s = options_.time_s;
  state.untuned_ns = report_.reference_ns > 0 ? report_.reference_ns : report_.best_ns;
  state.best_ns = report_.best_ns;
  state.failed = report_.failed;
  progress_.Show(state);
}

Result<KernelTuneReport> KernelSession::Run() {
  KINDRED_CHECK(Open());
  if (input_.spec.reference) {
    KINDRED_CHECK(TakeNamedReference());
  } else if (!ComparesOutputs(input_.spec)) {
    if (!input_.spec.verifier.empty())
      report_.reference = "verifier " + input_.spec.verifier.front();
  } else {
    KINDRED_CHECK(TakeLoggedReference());
  }
  while (!Ended() || !logged_.empty()) {
    Round round;
    round.candidates = searcher_->Propose(options_.batch);
    if (const auto errors = searcher_->TakeErrors(); !errors.empty()) return errors[0];
    if (round.candidates.empty()) {
      report_.exhausted = true;
      break;
    }
    KINDRED_TRY(const bool same, TakeLogged(round));
    if (!same) {
      KINDRED_CHECK(AbsorbLog());
      continue;
    }
    if (round.outcomes.size() < round.candidates.size()) KINDRED_CHECK(MeasureRound(round));
    if (round.outcomes.size() < round.candidates.size()) break;  // a later run finishes it
    searcher_->Observe(round.candidates, round.outcomes);
    ++round_;
    if (same_build_errors_ == report_.trials && report_.trials >= kHopeless) break;
  }
  report_.interrupted = stop_();
  report_.wall_s = Now() - started_s_;
  KINDRED_CHECK(SaveState(report_.interrupted ? "interrupted" : "finished"));
  if (report_.trials > 0 && same_build_errors_ == report_.trials)
    return BadInput(fmt::format(
        "{}: the kernel compiles in none of the {} configurations that were tried; the compiler "
        "says: {}",
        input_.path, report_.trials, build_error_));
  return report_;
}

}  // namespace

Result<KernelTuneReport> TuneKernel(const KernelInput& input, const Target& target,
                                    const KernelTuneOptions& options, KernelRunner& runner,
                                    TuningLog& log, const std::function<bool()>& stop,
                                    Progress& progress) {
  return KernelSession(input, target, options, runner, log, stop, progress).Run();
}

}  // namespace kindred
