// Opening a session: tasks, families, spaces and searchers, and what the log already holds.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "schedules/emit_c.h"
#include "tuner/record_mapping.h"
#include "tuner/session.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::json;

json UsesToJson(const std::vector<TaskUse>& uses) {
  json list = json::array();
  for (const TaskUse& use : uses) list.push_back({{"model", use.model}, {"count", use.count}});
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
  KINDRED_CHECK(session->MergeTasks(std::move(inputs)));
  KINDRED_CHECK(session->OpenRecords());
  return session;
}

Result<void> TuningSession::MergeTasks(std::vector<TuningInput> inputs) {
  inputs_ = std::move(inputs);
  std::map<std::string, std::size_t> by_key;
  for (const TuningInput& input : inputs_) {
    for (const ImportedTask& imported : input.model.tasks) {
      const std::string key = imported.canonical.key.Hex();
      const auto [place, fresh] = by_key.try_emplace(key, tasks_.size());
      if (fresh) {
        TuneTask& task = tasks_.emplace_back();
        task.canonical = imported.canonical;
        task.key = key;
        task.name = imported.name;
        task.flop = Flop(task.canonical.workload);
        task.bytes = CompulsoryBytes(task.canonical.workload);
        task.roofline_ns = RooflineNs(task.canonical.workload, target_);
      }
      TuneTask& task = tasks_[place->second];
      task.weight += input.weight * input.priority * imported.count();
      task.count += imported.count();
      const auto use = std::find_if(task.uses.begin(), task.uses.end(),
                                    [&](const TaskUse& u) { return u.model == input.model.name; });
      if (use == task.uses.end())
        task.uses.push_back({input.model.name, imported.count()});
      else
        use->count += imported.count();
    }
  }
  for (const TuneTask& task : tasks_) {
    const auto emitted = CanEmitC(task.canonical.workload);
    if (!emitted) return Unsupported(task.name + ": " + emitted.error().message);
  }
  if (tasks_.empty())
    return BadInput("the inputs hold no tunable subgraph; `kindred import` says why");

  std::vector<FamilyDescriptor> descriptors;
  for (const TuneTask& task : tasks_)
    descriptors.push_back(DescribeFamily(task.canonical.workload));
  families_ = FormFamilies(descriptors);
  for (std::size_t f = 0; f < families_.size(); ++f)
    for (const int member : families_[f].members)
      tasks_[static_cast<std::size_t>(member)].family = static_cast<int>(f);
  return {};
}

Result<void> TuningSession::OpenRecords() {
  const TargetRecord target_record = ToRecord(target_);
  target_record_id_ = target_record.id;
  // Measured peaks are frozen with the log: predictions of one log always speak of the same device.
  KINDRED_TRY(const auto stored_target, log_.FindTarget(target_record.id));
  if (stored_target) {
    const std::vector<std::string> installed = target_.compilers;
    KINDRED_TRY(target_, ToTarget(*stored_target));
    for (const std::string& compiler : target_.compilers)
      if (std::find(installed.begin(), installed.end(), compiler) == installed.end())
        return Environment(fmt::format(
            "the log was begun with the compiler '{}', and its schedules may ask for it, "
            "but it is not on PATH: install it, or tune into another log (--log)",
            compiler));
  }

  json inputs = json::array();
  for (const TuningInput& input : inputs_) {
    json keys = json::array();
    for (const ImportedTask& task : input.model.tasks)
      keys.push_back({task.canonical.key.Hex(), task.count()});
    inputs.push_back({{"model", input.model.name},
                      {"weight", input.weight},
                      {"priority", input.priority},
                      {"tasks", std::move(keys)}});
  }
  const json options = {
      {"searcher", options_.searcher}, {"families", options_.families}, {"batch", options_.batch}};
  const std::string identity =
      inputs.dump() + target_record.id + std::to_string(options_.seed) + options.dump();
  const std::string id = HashOf(identity).Hex().substr(0, 16);

  LogBatch batch;
  batch.targets.push_back(target_record);
  if (stored_target) batch.targets.back() = *stored_target;
  for (const TuneTask& task : tasks_)
    batch.workloads.push_back(ToRecord(task.canonical, task.name));
  if (options_.families) {
    for (const Family& family : families_) {
      FamilyRecord record;
      record.id = family.id;
      record.structure = family.structure.Hex();
      record.description =
          json{{"structure", family.structure_text}, {"centre", family.centre}}.dump();
      for (const int member : family.members)
        record.members.push_back(tasks_[static_cast<std::size_t>(member)].key);
      batch.families.push_back(std::move(record));
    }
  }

  KINDRED_TRY(const auto stored, log_.FindSession(id));
  std::int64_t start_epoch = 0;
  if (stored) {
    session_ = *stored;
    const json summary = json::parse(session_.summary, nullptr, false);
    if (summary.is_object()) {
      start_epoch = summary.value("start_epoch", std::int64_t{0});
      planned_round_ = summary.value("planned_round", std::int64_t{-1});
      planned_size_ = summary.value("planned_size", std::int64_t{0});
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
    session_.target = target_record.id;
    session_.inputs = inputs.dump();
    session_.options = options.dump();
    session_.seed = options_.seed;
    session_.version = Version();
    session_.started_ms = NowMs();
    session_.summary =
        json{{"start_epoch", start_epoch}, {"planned_round", -1}, {"planned_size", 0}}.dump();
    for (std::size_t i = 0; i < tasks_.size(); ++i) batch.tasks.push_back(TaskRow(i));
  }
  session_.updated_ms = NowMs();
  batch.sessions.push_back(session_);
  KINDRED_CHECK(log_.Append(batch));
  KINDRED_CHECK(MakeSearchers());
  KINDRED_CHECK(LoadWarmTrials(start_epoch));
  return LoadRounds();
}

TaskRecord TuningSession::TaskRow(std::size_t index) const {
  const TuneTask& task = tasks_[index];
  TaskRecord record;
  record.session = session_.id;
  record.workload = task.key;
  record.position = static_cast<std::int64_t>(index);
  record.name = task.name;
  if (options_.families) record.family = families_[static_cast<std::size_t>(task.family)].id;
  record.uses = UsesToJson(task.uses).dump();
  record.weight = task.weight;
  record.untuned_ns = task.untuned_ns;
  record.untuned =
      json{{"message", task.untuned_message}, {"compiler", "gcc"}, {"flags", "-O3 -march=native"}}
          .dump();
  return record;
}

Result<void> TuningSession::MakeSearchers() {
  FamilyModels::Options model_options;
  model_options.families = options_.families;
  model_options.seed = DeriveSeed(options_.seed, "models");
  models_ = std::make_unique<FamilyModels>(target_, model_options);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    TuneTask& task = tasks_[i];
    task.space = MakeSpace(task.canonical.workload, target_);
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
    filter.target = target_record_id_;
    KINDRED_TRY(const auto trials, log_.Trials(filter));
    std::vector<Candidate> candidates;
    std::vector<Outcome> outcomes;
    for (const TrialRecord& trial : trials) {
      if (trial.session == session_.id || trial.id > start_epoch) continue;
      const auto path = PathFromJson(*task.space, trial.schedule);
      if (!path) continue;  // a schedule of another version's space
      auto candidate = task.space->Lower(*path);
      if (!candidate) continue;
      outcomes.push_back(ToOutcome(trial));
      const Outcome& outcome = outcomes.back();
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
  for (TrialRecord& trial : trials) logged_[trial.round].push_back(std::move(trial));
  for (auto& [round, list] : logged_)
    std::sort(list.begin(), list.end(),
              [](const TrialRecord& a, const TrialRecord& b) { return a.position < b.position; });
  return {};
}

}  // namespace kindred
