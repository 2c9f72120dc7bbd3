// Layers, from the bottom: prior -> pooled ensemble -> family's ensemble -> the task's own offset.
//
// The unit of all layers is log2(roofline / time): bigger is faster. The pooled ensemble sees every row; a
// family has three ensembles, each on its own bootstrap of the family's rows, whose spread is the model's
// doubt. The offset is a task's mean residual, shrunken towards zero: it repairs a prior that is wrong by
// a factor before there are rows enough to train on. Fast rows weigh more: only their order matters.
// A failed candidate counts as a slow one (eight times the task's best, or its worst if that is slower)
// with a low weight, so that what fails is avoided without being forbidden.
#include "cost_model/family_models.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/booster.h"
#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr int kFormatVersion = 1;
constexpr int kMembers = 3;
constexpr double kFailedBelowBest = 3;   // log2: a failed candidate's reward is zero
constexpr double kFailedWeight = 0.3;
constexpr double kLeastWeight = 0.1;
constexpr double kOffsetShrinkage = 4;   // rows' worth of belief in an offset of zero
constexpr double kPooledGrowth = 1.2;    // the pooled ensemble is refitted when its rows have grown so much
constexpr std::size_t kMostRows = 3000;  // of one fit
constexpr double kPriorError = 1.0;      // log2: what a model's error is taken to be before it is known
constexpr std::size_t kCachedFeatures = 1 << 14;

struct Row {
  int task = 0;
  std::vector<float> features;
  double label = 0;
  double prior = 0;
  bool failed = false;
};

// Mean squared error on rows that the model had not seen, over the last ones (exponentially forgotten).
struct ForecastError {
  double mean = kPriorError * kPriorError;
  double weight = 4;
  void Add(double error) {
    constexpr double kForget = 0.97;
    mean = (mean * weight * kForget + error * error) / (weight * kForget + 1);
    weight = weight * kForget + 1;
  }
};

struct Ensemble {
  std::vector<Booster> members;
  std::size_t rows = 0;  // that it was trained on
  bool dirty = false;    // rows came, or the layer below changed
  ForecastError error;
};

Error DamagedModels() {
  return BadInput("the saved cost models are damaged; delete them, they are learned anew");
}

std::string FeatureVersion() {
  std::string names;
  for (const std::string_view name : FeatureNames()) names.append(name).push_back(',');
  return HashOf(names).Hex();
}

}  // namespace

struct FamilyModels::State {
  struct Task {
    Workload workload;
    double roofline_ns = 1;
    int family = 0;
    std::vector<std::size_t> rows;
    double offset = 0;
    double best = -1e30, worst = 1e30;  // labels
  };

  Target target;
  Options options;
  std::deque<Task> tasks;  // a deque: models of tasks refer to its elements
  std::vector<Row> rows;
  std::size_t forecast = 0;  // rows before this one are in the errors
  Ensemble pooled;
  std::map<int, Ensemble> families;
  ForecastError error;  // where no family's ensemble is
  double train_seconds = 0;
  std::optional<Error> failure;  // of a prediction: reported by the next Train

  double LabelOf(const Row& row) const;
  double WeightOf(const Row& row) const;
  // Adds the layers above the prior but the offset. `doubt` (may be empty): variance over members.
  void AddLayers(int family, std::span<const float> features, std::span<double> margins, std::span<double> doubt);
  void Forecast();
  void UpdateOffsets();
  Result<void> FitPooled();
  Result<void> FitFamily(int family, Ensemble& ensemble);
  std::vector<std::size_t> Chosen(std::vector<std::size_t> from) const;
  TrainingRows Gather(const std::vector<std::size_t>& chosen) const;
  void Keep(const Result<void>& result) {
    if (!result && !failure) failure = result.error();
  }
};

namespace {

class TaskModel final : public CostModel {
 public:
  using Predictor = std::vector<Prediction> (*)(void*, int, std::span<const float>, std::size_t);
  TaskModel(void* state, int task, const Workload& workload, const Target& target, Predictor predict)
      : state_(state), task_(task), workload_(workload), target_(target), predict_(predict) {}

  std::vector<Prediction> Predict(std::span<const Candidate* const> candidates) const override {
    const std::size_t columns = FeatureNames().size();
    flat_.resize(candidates.size() * columns);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = *candidates[i];
      auto found = cache_.find(candidate.key);
      if (found == cache_.end()) {
        if (cache_.size() >= kCachedFeatures) cache_.clear();
        found = cache_.emplace(candidate.key, ExtractFeatures(*candidate.program, workload_, target_)).first;
      }
      std::copy(found->second.begin(), found->second.end(), flat_.begin() + static_cast<std::ptrdiff_t>(i * columns));
    }
    return predict_(state_, task_, flat_, candidates.size());
  }

 private:
  void* state_;
  int task_;
  const Workload& workload_;
  const Target& target_;
  Predictor predict_;
  mutable std::unordered_map<Hash128, std::vector<float>> cache_;
  mutable std::vector<float> flat_;
};

}  // namespace

double FamilyModels::State::LabelOf(const Row& row) const {
  if (!row.failed) return row.label;
  const Task& task = tasks[static_cast<std::size_t>(row.task)];
  return std::min(task.worst, task.best - kFailedBelowBest);
}

double FamilyModels::State::WeightOf(const Row& row) const {
  if (row.failed) return kFailedWeight;
  return std::max(kLeastWeight, std::exp2(row.label - tasks[static_cast<std::size_t>(row.task)].best));
}

void FamilyModels::State::AddLayers(int family, std::span<const float> features, std::span<double> margins,
                                    std::span<double> doubt) {
  const std::size_t columns = FeatureNames().size();
  if (!pooled.members.empty()) Keep(pooled.members[0].AddTo(features, columns, margins));
  std::fill(doubt.begin(), doubt.end(), 0.0);
  const auto found = families.find(family);
  if (found == families.end() || found->second.members.empty()) return;
  std::vector<double> sum(margins.size(), 0), square(margins.size(), 0), one(margins.size());
  for (const Booster& member : found->second.members) {
    std::fill(one.begin(), one.end(), 0.0);
    Keep(member.AddTo(features, columns, one));
    for (std::size_t i = 0; i < one.size(); ++i) {
      sum[i] += one[i];
      square[i] += one[i] * one[i];
    }
  }
  const double count = static_cast<double>(found->second.members.size());
  for (std::size_t i = 0; i < margins.size(); ++i) {
    margins[i] += sum[i] / count;
    if (!doubt.empty()) doubt[i] = std::max(0.0, square[i] / count - (sum[i] / count) * (sum[i] / count));
  }
}

// What the models, as they are, say of the rows that came since: their honest error.
void FamilyModels::State::Forecast() {
  for (; forecast < rows.size(); ++forecast) {
    const Row& row = rows[forecast];
    if (row.failed) continue;
    const Task& task = tasks[static_cast<std::size_t>(row.task)];
    double margin = row.prior;
    AddLayers(task.family, row.features, {&margin, 1}, {});
    const double miss = row.label - margin - task.offset;
    const auto found = families.find(task.family);
    if (found != families.end() && !found->second.members.empty()) found->second.error.Add(miss);
    else error.Add(miss);
  }
}

void FamilyModels::State::UpdateOffsets() {
  for (Task& task : tasks) {
    std::vector<float> features;
    std::vector<double> margins, labels, weights;
    // The latest rows tell enough, and keep this step's cost constant.
    constexpr std::size_t kLatest = 64;
    const std::size_t first = task.rows.size() > kLatest ? task.rows.size() - kLatest : 0;
    for (std::size_t i = first; i < task.rows.size(); ++i) {
      const Row& row = rows[task.rows[i]];
      if (row.failed) continue;
      features.insert(features.end(), row.features.begin(), row.features.end());
      margins.push_back(row.prior);
      labels.push_back(row.label);
      weights.push_back(WeightOf(row));
    }
    AddLayers(task.family, features, margins, {});
    double sum = 0, weight = kOffsetShrinkage * 0.5;
    for (std::size_t i = 0; i < margins.size(); ++i) {
      sum += weights[i] * (labels[i] - margins[i]);
      weight += weights[i];
    }
    task.offset = sum / weight;
  }
}

// At most kMostRows: the better half by distance from the task's best, the rest evenly from what remains.
std::vector<std::size_t> FamilyModels::State::Chosen(std::vector<std::size_t> from) const {
  std::erase_if(from, [&](std::size_t i) {
    return rows[i].failed && tasks[static_cast<std::size_t>(rows[i].task)].best < -1e29;
  });
  if (from.size() <= kMostRows) return from;
  const auto behind = [&](std::size_t i) {
    return tasks[static_cast<std::size_t>(rows[i].task)].best - LabelOf(rows[i]);
  };
  std::stable_sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) { return behind(a) < behind(b); });
  std::vector<std::size_t> chosen(from.begin(), from.begin() + kMostRows / 2);
  const std::size_t rest = from.size() - kMostRows / 2;
  for (std::size_t i = 0; i < kMostRows / 2; ++i) chosen.push_back(from[kMostRows / 2 + i * rest / (kMostRows / 2)]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

TrainingRows FamilyModels::State::Gather(const std::vector<std::size_t>& chosen) const {
  TrainingRows data;
  data.columns = FeatureNames().size();
  data.features.reserve(chosen.size() * data.columns);
  for (const std::size_t i : chosen) {
    const Row& row = rows[i];
    data.features.insert(data.features.end(), row.features.begin(), row.features.end());
    data.labels.push_back(static_cast<float>(LabelOf(row)));
    data.margins.push_back(static_cast<float>(row.prior));
    data.weights.push_back(static_cast<float>(WeightOf(row)));
  }
  return data;
}

Result<void> FamilyModels::State::FitPooled() {
  std::vector<std::size_t> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::vector<std::size_t> chosen = Chosen(std::move(all));
  const double growth = options.families ? kPooledGrowth : 1.0;
  if (chosen.size() < static_cast<std::size_t>(options.minimum_samples)) return {};
  if (!pooled.dirty || static_cast<double>(rows.size()) < growth * static_cast<double>(pooled.rows)) return {};
  BoosterOptions fit;
  fit.rounds = options.pooled_rounds + (options.families ? 0 : options.family_rounds);
  fit.seed = DeriveSeed(options.seed, "pooled");
  pooled.members.resize(1);
  KINDRED_CHECK(pooled.members[0].Train(Gather(chosen), fit));
  pooled.rows = rows.size();
  pooled.dirty = false;
  for (auto& [id, family] : families) family.dirty = true;
  return {};
}

Result<void> FamilyModels::State::FitFamily(int family, Ensemble& ensemble) {
  std::vector<std::size_t> own;
  for (const Task& task : tasks)
    if (task.family == family) own.insert(own.end(), task.rows.begin(), task.rows.end());
  std::sort(own.begin(), own.end());
  const std::size_t count = own.size();
  const std::vector<std::size_t> chosen = Chosen(std::move(own));
  // An ensemble that was loaded stays until its family has rows enough of its own.
  if (chosen.size() < static_cast<std::size_t>(options.minimum_samples) || count < ensemble.rows) return {};
  TrainingRows data = Gather(chosen);
  if (!pooled.members.empty()) {
    std::vector<double> margins(data.margins.begin(), data.margins.end());
    KINDRED_CHECK(pooled.members[0].AddTo(data.features, data.columns, margins));
    std::copy(margins.begin(), margins.end(), data.margins.begin());
  }
  ensemble.members.resize(kMembers);
  const std::vector<float> weights = data.weights;
  for (int m = 0; m < kMembers; ++m) {
    BoosterOptions fit;
    fit.rounds = options.family_rounds;
    fit.seed = DeriveSeed(options.seed, "family", static_cast<std::uint64_t>(family) * kMembers + static_cast<std::uint64_t>(m));
    Random random(fit.seed);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      // Bootstrap: how often a row is drawn, nearly Poisson(1).
      const double u = random.Uniform();
      const double times = u < 0.368 ? 0 : u < 0.736 ? 1 : u < 0.920 ? 2 : 3;
      data.weights[i] = weights[i] * static_cast<float>(std::max(times, 0.05));
    }
    KINDRED_CHECK(ensemble.members[static_cast<std::size_t>(m)].Train(data, fit));
  }
  ensemble.rows = count;
  ensemble.dirty = false;
  return {};
}

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
  Row row;
  row.task = observation.task;
  row.failed = !(observation.ns > 0);
  row.prior = std::log2(task.roofline_ns / PriorNs(observation.features, task.workload, state.target));
  row.features = std::move(observation.features);
  if (!row.failed) {
    row.label = std::log2(task.roofline_ns / observation.ns);
    task.worst = task.best < -1e29 ? row.label : std::min(task.worst, row.label);
    task.best = std::max(task.best, row.label);
  }
  task.rows.push_back(state.rows.size());
  state.rows.push_back(std::move(row));
  state.pooled.dirty = true;
  if (state.options.families) state.families[task.family].dirty = true;
}

Result<void> FamilyModels::Train() {
  const auto start = std::chrono::steady_clock::now();
  State& state = *state_;
  const auto train = [&]() -> Result<void> {
    state.Forecast();
    KINDRED_CHECK(state.FitPooled());
    for (auto& [id, family] : state.families)
      if (family.dirty) KINDRED_CHECK(state.FitFamily(id, family));
    state.UpdateOffsets();
    return {};
  };
  Result<void> result = train();
  state.train_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result && state.failure) {
    result = *state.failure;
    state.failure.reset();
  }
  return result;
}

std::unique_ptr<CostModel> FamilyModels::ForTask(int task) const {
  const auto predict = [](void* opaque, int index, std::span<const float> features, std::size_t count) {
    State& state = *static_cast<State*>(opaque);
    const State::Task& own = state.tasks[static_cast<std::size_t>(index)];
    const std::size_t columns = count == 0 ? 0 : features.size() / count;
    std::vector<double> margins(count), doubt(count);
    for (std::size_t i = 0; i < count; ++i)
      margins[i] = std::log2(own.roofline_ns /
                             PriorNs(features.subspan(i * columns, columns), own.workload, state.target));
    state.AddLayers(own.family, features, margins, doubt);
    const auto found = state.families.find(own.family);
    const ForecastError& error =
        found != state.families.end() && !found->second.members.empty() ? found->second.error : state.error;
    std::vector<Prediction> predictions(count);
    for (std::size_t i = 0; i < count; ++i)
      predictions[i] = {own.roofline_ns * std::exp2(-(margins[i] + own.offset)), std::sqrt(error.mean + doubt[i])};
    return predictions;
  };
  return std::make_unique<TaskModel>(state_.get(), task, state_->tasks[static_cast<std::size_t>(task)].workload,
                                     state_->target, predict);
}

double FamilyModels::train_seconds() const { return state_->train_seconds; }

std::string FamilyModels::Save() const {
  const auto pack = [&](const Ensemble& ensemble) {
    nlohmann::json members = nlohmann::json::array();
    for (const Booster& member : ensemble.members) {
      Result<std::string> blob = member.Save();
      if (!blob) {
        state_->Keep(blob.error());
        return nlohmann::json();
      }
      members.push_back(nlohmann::json::binary({blob->begin(), blob->end()}));
    }
    return nlohmann::json{{"rows", ensemble.rows}, {"error", ensemble.error.mean}, {"members", members}};
  };
  nlohmann::json saved = {{"format", "kindred-models"},
                          {"version", kFormatVersion},
                          {"features", FeatureVersion()},
                          {"target", state_->target.id},
                          {"pooled", pack(state_->pooled)},
                          {"families", nlohmann::json::array()}};
  for (const auto& [id, family] : state_->families) {
    nlohmann::json packed = pack(family);
    packed["id"] = id;
    saved["families"].push_back(std::move(packed));
  }
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(saved);
  return {bytes.begin(), bytes.end()};
}

Result<void> FamilyModels::Load(std::string_view blob) try {
  const nlohmann::json saved = nlohmann::json::from_cbor(blob.begin(), blob.end());
  const Error broken = DamagedModels();
  if (!saved.is_object() || saved.value("format", "") != "kindred-models") return broken;
  if (saved.value("version", 0) != kFormatVersion || saved.value("features", "") != FeatureVersion())
    return Unsupported("the saved cost models are of another version of Kindred; delete them, they are learned anew");
  if (saved.value("target", "") != state_->target.id)
    return BadInput(fmt::format("the saved cost models are for target {}, not {}", saved.value("target", ""),
                                state_->target.id));
  const auto unpack = [&](const nlohmann::json& packed, Ensemble& ensemble) -> Result<void> {
    if (!packed.is_object() || !packed.contains("members")) return broken;
    for (const nlohmann::json& member : packed["members"]) {
      if (!member.is_binary()) return broken;
      const auto& bytes = member.get_binary();
      KINDRED_TRY(Booster booster,
                  Booster::Load({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      ensemble.members.push_back(std::move(booster));
    }
    ensemble.rows = packed.value("rows", std::size_t{0});
    ensemble.error.mean = packed.value("error", kPriorError);
    return {};
  };
  Ensemble pooled;
  KINDRED_CHECK(unpack(saved["pooled"], pooled));
  std::map<int, Ensemble> families;
  for (const nlohmann::json& packed : saved["families"])
    KINDRED_CHECK(unpack(packed, families[packed.value("id", 0)]));
  pooled.dirty = state_->pooled.dirty;
  state_->pooled = std::move(pooled);
  state_->families = std::move(families);
  return {};
} catch (const nlohmann::json::exception&) {
  return DamagedModels();
}

}  // namespace kindred
