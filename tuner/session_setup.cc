// Opening a session: tasks, families, spaces and searchers, and what the log already holds.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::json;

// The models as the session knows them: what makes it this session, and what the log tells of it.
json InputsToJson(const std::vector<TuningInput>& inputs) {
  json list = json::array();
  for (const TuningInput& input : inputs) {
    json keys = json::array();
    for (const ImportedTask& task : input.model.tasks)
      keys.push_back({task.canonical.key.Hex(), task.runs()});
    list.push_back({{"model", input.model.name},
                    {"dims", input.model.dims},
                    {"weight", input.weight},
                    {"priority", input.priority},
                    {"tasks", std::move(keys)}});
  }
  return list;
}

}  // namespace

TuningSession::TuningSession(Target target, TuneOptions options, Runner& runner, TuningLog& log)
    : target_(std::move(target)), options_(std::move(options)), runner_(runner), log_(log) {}

Result<std::unique_ptr<TuningSession>> TuningSession::Open(std::vector<TuningInput> inputs,
                                                           const Target& target,
                                                           const TuneOptions& options,
                                                           Runner& runner, TuningLog& log) {
  std::unique_ptr<TuningSession> session(new TuningSession(target, options, runner, log));
  KINDRED_TRY(session->scheduler_, MakeTaskScheduler(options.scheduler, options.gain));
  KINDRED_CHECK(session->FreezeTarget());
  KINDRED_CHECK(session->MakeTasks(std::move(inputs)));
  KINDRED_CHECK(session->OpenRecords());
  return session;
}

// Measured peaks are frozen with the log: decisions and predictions of one log always speak of the
// same device.
Result<void> TuningSession::FreezeTarget() {
  target_record_ = ToRecord(target_);
  KINDRED_TRY(const auto stored, log_.FindTarget(target_record_.id));
  if (!stored) return {};
  target_record_ = *stored;
  const std::vector<std::string> installed = target_.compilers;
  KINDRED_TRY(target_, ToTarget(target_record_));
  for (const std::string& compiler : target_.compilers)
    if (std::find(installed.begin(), installed.end(), compiler) == installed.end())
      return Environment(
          fmt::format("the log was begun with the compiler '{}', and its schedules may ask for it, "
                      "but it is not on PATH: install it, or tune into another log (--log)",
                      compiler));
  return {};
}

Result<void> TuningSession::MakeTasks(std::vector<TuningInput> inputs) {
  inputs_ = std::move(inputs);
  std::vector<DistinctTask> distinct = MergeTasks(inputs_);
  if (distinct.empty())
    return BadInput("the inputs hold no tunable subgraph; `kindred import` says why");
  for (DistinctTask& one : distinct) {
    TuneTask& task = tasks_.emplace_back();
    static_cast<DistinctTask&>(task) = std::move(one);
    task.flop = Flop(task.canonical.workload);
    task.bytes = CompulsoryBytes(task.canonical.workload);
    task.roofline_ns = RooflineNs(task.canonical.workload, target_);
    task.left_out = WhyNotTunable(task.canonical.workload, target_, options_.limits);
  }
  FormGroups({});
  if (std::all_of(tasks_.begin(), tasks_.end(),
                  [](const TuneTask& task) { return !task.left_out.empty(); }))
    return Unsupported(fmt::format("{}: {}", tasks_[0].name, tasks_[0].left_out));
  return {};
}

void TuningSession::FormGroups(std::span<const int> cohorts) {
  const std::vector<DistinctTask> distinct(tasks_.begin(), tasks_.end());
  families_ = FamiliesOf(inputs_, distinct, cohorts);
  sharing_ = FindSharing(inputs_, distinct, families_);
  for (std::size_t f = 0; f < families_.size(); ++f)
    for (const int member : families_[f].members)
      tasks_[static_cast<std::size_t>(member)].family = static_cast<int>(f);
}

Result<void> TuningSession::OpenRecords() {
  const json inputs = InputsToJson(inputs_);
  json options = {
      {"searcher", options_.searcher}, {"families", options_.families}, {"batch", options_.batch}};
  if (options_.scheduler != "gain") options["scheduler"] = options_.scheduler;
  if (!options_.foresee) options["foresee"] = false;
  if (!options_.prior) options["prior"] = false;
  if (!options_.transfer) options["transfer"] = false;
  const std::string identity =
      inputs.dump() + target_record_.id + std::to_string(options_.seed) + options.dump();
  const std::string id = HashOf(identity).Hex().substr(0, 16);

  LogBatch batch;
  batch.targets.push_back(target_record_);
  for (const TuneTask& task : tasks_)
    batch.workloads.push_back(ToRecord(task.canonical, task.name));
  KINDRED_TRY(const auto stored, log_.FindSession(id));
  std::int64_t start_epoch = 0;
  if (stored) {
    session_ = *stored;
    const json summary = json::parse(session_.summary, nullptr, false);
    if (summary.is_object()) {
      start_epoch = summary.value("start_epoch", std::int64_t{0});
      planned_round_ = summary.value("planned_round", std::int64_t{-1});
      planned_size_ = summary.value("planned_size", std::int64_t{0});
      const json choice = summary.value("final_choice", json::object());
      choice_.after_trials = choice.value("after_trials", std::int64_t{-1});
      choice_.seconds = choice.value("seconds", 0.0);
    }
    session_.state = "running";
    KINDRED_TRY(const auto stored_tasks, log_.Tasks(id));
    for (const TaskRecord& record : stored_tasks)
      for (TuneTask& task : tasks_)
        if (task.key == record.workload) {
          task.untuned_ns = record.untuned_ns;
          const json untuned = json::parse(record.untuned, nullptr, false);
          if (untuned.is_object()) task.untuned_message = untuned.value("message", "");
        }
  } else {
    KINDRED_TRY(start_epoch, log_.Epoch());
    session_.id = id;
    session_.target = target_record_.id;
    session_.inputs = inputs.dump();
    session_.options = options.dump();
    session_.seed = options_.seed;
    session_.version = Version();
    session_.started_ms = NowMs();
    session_.summary =
        json{{"start_epoch", start_epoch}, {"planned_round", -1}, {"planned_size", 0}}.dump();
  }
  KINDRED_CHECK(CorrectFamilies(start_epoch));
  if (!stored)
    for (std::size_t i = 0; i < tasks_.size(); ++i) batch.tasks.push_back(TaskRow(i));
  if (options_.families) {
    for (const Family& family : families_) {
      FamilyRecord record;
      record.id = family.id;
      record.structure = family.structure.Hex();
      json description = json{{"structure", family.structure_text}, {"centre", family.centre}};
      for (const auto& [structure, sentence] : corrections_)
        if (structure == record.structure) description["corrections"].push_back(sentence);
      record.description = description.dump();
      for (const int member : family.members)
        record.members.push_back(tasks_[static_cast<std::size_t>(member)].key);
      batch.families.push_back(std::move(record));
    }
  }
  session_.updated_ms = NowMs();
  batch.sessions.push_back(session_);
  KINDRED_CHECK(log_.Append(batch));
  KINDRED_CHECK(MakeSearchers());
  KINDRED_CHECK(LoadTransfer(start_epoch));
  KINDRED_CHECK(LoadWarmTrials(start_epoch));
  return LoadRounds();
}

Result<void> TuningSession::MakeSearchers() {
  FamilyModels::Options model_options;
  model_options.families = options_.families;
  model_options.prior = options_.prior;
  model_options.seed = DeriveSeed(options_.seed, "models");
  models_ = std::make_unique<FamilyModels>(target_, model_options);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    TuneTask& task = tasks_[i];
    task.space = options_.space(task.canonical.workload, target_);
    task.model_index = models_->AddTask(task.canonical.workload, task.family);
    task.model = models_->ForTask(task.model_index);
    KINDRED_TRY(task.searcher, MakeSearcher(options_.searcher, *task.space, *task.model,
                                            DeriveSeed(options_.seed, "search", i)));
  }
  return {};
}

// Results that other sessions left in the log before this one began: known, never measured again,
// and lessons for the models.
Result<void> TuningSession::LoadWarmTrials(std::int64_t start_epoch) {
  if (start_epoch == 0) return {};
  for (TuneTask& task : tasks_) {
    TrialFilter filter;
    filter.workload = task.key;
    filter.target = target_record_.id;
    KINDRED_TRY(const auto trials, log_.Trials(filter));
    std::vector<Candidate> candidates;
    std::vector<Outcome> outcomes;
    for (const TrialRecord& trial : trials) {
      if (trial.session == session_.id || trial.id > start_epoch) continue;
      const auto path = PathFromJson(*task.space, trial.schedule);
      if (!path) continue;  // a schedule of another version's space
      auto candidate = task.space->Lower(*path);
      if (!candidate) continue;
      KINDRED_TRY(const Outcome outcome, ToOutcome(trial));
      Know(task, {.key = trial.schedule_key, .path = *path, .predicted_ns = trial.predicted_ns},
           outcome);
      if (IsRemeasurement(trial)) continue;
      outcomes.push_back(outcome);
      models_->Observe({task.model_index,
                        ExtractFeatures(*candidate->program, task.canonical.workload, target_),
                        outcome.Timed() ? outcome.median_ns : 0});
      ++observed_;
      if (outcome.status == Status::kOk && outcome.validated &&
          (task.best_ns == 0 || outcome.median_ns < task.best_ns)) {
        task.best_ns = outcome.median_ns;
        task.best_path = *path;
      }
      candidates.push_back(std::move(*candidate));
    }
    if (!candidates.empty()) task.searcher->Observe(candidates, outcomes);
  }
  return observed_ > 0 ? models_->Train() : Result<void>{};
}

Result<void> TuningSession::LoadRounds() {
  TrialFilter filter;
  filter.session = session_.id;
  KINDRED_TRY(auto trials, log_.Trials(filter));
  for (TrialRecord& trial : trials) {
    if (IsRemeasurement(trial)) {
      choice_rounds_.insert(trial.round);
      remeasured_.push_back(std::move(trial));
    } else {
      logged_[trial.round].push_back(std::move(trial));
    }
  }
  for (auto& [round, list] : logged_)
    std::sort(list.begin(), list.end(),
              [](const TrialRecord& a, const TrialRecord& b) { return a.position < b.position; });
  return {};
}

}  // namespace kindred
