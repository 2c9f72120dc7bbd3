#include "cost_model/family_models.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "cost_model/features.h"
#include "cost_model/internal/family_state.h"
#include "cost_model/prior.h"

namespace kindred {
namespace {

constexpr std::size_t kCachedFeatures = 1 << 14;

class TaskModel final : public CostModel {
 public:
  using Predictor = std::vector<Prediction> (*)(void*, int, std::span<const float>, std::size_t);
  TaskModel(void* state, int task, const Workload& workload, const Target& target,
            Predictor predict)
      : state_(state),
        task_(task),
        columns_(FeatureNames(target.kind).size()),
        extractor_(workload, target),
        predict_(predict) {}

  std::vector<Prediction> Predict(std::span<const Candidate* const> candidates) const override {
    flat_.resize(candidates.size() * columns_);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = *candidates[i];
      auto found = cache_.find(candidate.key);
      if (found == cache_.end()) {
        if (cache_.size() >= kCachedFeatures) cache_.clear();
        found = cache_.emplace(candidate.key, extractor_.Extract(*candidate.program)).first;
      }
      std::copy(found->second.begin(), found->second.end(),
                flat_.begin() + static_cast<std::ptrdiff_t>(i * columns_));
    }
    return predict_(state_, task_, flat_, candidates.size());
  }

 private:
  void* state_;
  int task_;
  std::size_t columns_;
  FeatureExtractor extractor_;
  Predictor predict_;
  mutable std::unordered_map<Hash128, std::vector<float>> cache_;
  mutable std::vector<float> flat_;
};

}  // namespace

FamilyModels::FamilyModels(Target target, Options options) : state_(std::make_unique<State>()) {
  state_->target = std::move(target);
  state_->options = options;
}

FamilyModels::~FamilyModels() = default;

int FamilyModels::AddTask(const Workload& canonical, int family) {
  State::Task task;
  task.workload = canonical;
  task.roofline_ns = RooflineNs(canonical, state_->target);
  task.family = family;
  state_->tasks.push_back(std::move(task));
  return static_cast<int>(state_->tasks.size()) - 1;
}

int FamilyModels::AddForeignTask(const Workload& canonical, int family, const Target& device,
                                 int source) {
  const int task = AddTask(canonical, family);
  State::Task& added = state_->tasks.back();
  added.roofline_ns = RooflineNs(canonical, device);
  added.source = source;
  state_->sources[source];
  return task;
}

double FamilyModels::Trust(int source) const {
  const auto found = state_->sources.find(source);
  return found == state_->sources.end() ? 0 : found->second.weight;
}

void FamilyModels::SetFamily(int task, int family) {
  State::Task& moved = state_->tasks[static_cast<std::size_t>(task)];
  if (moved.family == family) return;
  if (!moved.rows.empty() && state_->options.families) {
    // The family left behind has fewer rows than it was trained on, and is refitted all the same.
    Ensemble& left = state_->families[moved.family];
    left.dirty = true;
    left.rows = 0;
    state_->families[family].dirty = true;
  }
  moved.family = family;
}

void FamilyModels::Observe(Observation observation) {
  State& state = *state_;
  State::Task& task = state.tasks[static_cast<std::size_t>(observation.task)];
  TrainingRow row;
  row.task = observation.task;
  row.failed = !(observation.ns > 0);
  row.prior = state.Prior(observation.features, task.roofline_ns);
  row.features = std::move(observation.features);
  if (!row.failed) {
    row.label = std::log2(task.roofline_ns / observation.ns);
    task.worst = task.best < -1e29 ? row.label : std::min(task.worst, row.label);
    task.best = std::max(task.best, row.label);
  }
  task.rows.push_back(state.rows.size());
  state.rows.push_back(std::move(row));
  state.pooled.dirty = true;
  if (state.options.families && task.family >= 0) state.families[task.family].dirty = true;
}

Result<void> FamilyModels::Train() {
  const auto start = std::chrono::steady_clock::now();
  State& state = *state_;
  const auto train = [&]() -> Result<void> {
    state.Forecast();
    KINDRED_CHECK(state.UpdateTrust());
    KINDRED_CHECK(state.FitPooled());
    for (auto& [id, family] : state.families)
      if (family.dirty) KINDRED_CHECK(state.FitFamily(id, family));
    state.UpdateOffsets();
    return {};
  };
  Result<void> result = train();
  state.train_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result && state.failure) {
    result = *state.failure;
    state.failure.reset();
  }
  return result;
}

std::unique_ptr<CostModel> FamilyModels::ForTask(int task) const {
  const auto predict = [](void* opaque, int index, std::span<const float> features,
                          std::size_t count) {
    State& state = *static_cast<State*>(opaque);
    const State::Task& own = state.tasks[static_cast<std::size_t>(index)];
    const std::size_t columns = count == 0 ? 0 : features.size() / count;
    std::vector<double> margins(count), doubt(count);
    for (std::size_t i = 0; i < count; ++i)
      margins[i] = state.Prior(features.subspan(i * columns, columns), own.roofline_ns);
    state.AddLayers(own.family, features, margins, doubt);
    const auto found = state.families.find(own.family);
    const ForecastError& error = found != state.families.end() && !found->second.members.empty()
                                     ? found->second.error
                                     : state.error;
    std::vector<Prediction> predictions(count);
    for (std::size_t i = 0; i < count; ++i)
      predictions[i] = {own.roofline_ns * std::exp2(-(margins[i] + own.offset)),
                        std::sqrt(error.mean + doubt[i])};
    return predictions;
  };
  return std::make_unique<TaskModel>(state_.get(), task,
                                     state_->tasks[static_cast<std::size_t>(task)].workload,
                                     state_->target, predict);
}

bool FamilyModels::trained() const { return !state_->pooled.members.empty(); }

double FamilyModels::train_seconds() const { return state_->train_seconds; }

}  // namespace kindred
