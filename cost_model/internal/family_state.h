// Layers, from the bottom: prior -> pooled ensemble -> family's ensemble -> the task's own offset.
//
// The unit of all layers is log2(roofline / time): bigger is faster. The pooled ensemble sees every
// row; a family has three ensembles, each on its own bootstrap of the family's rows, whose spread
// is the model's doubt. The offset is a task's mean residual, shrunken towards zero: it repairs a
// prior that is wrong by a factor before there are rows enough to train on. Fast rows weigh more:
// only their order matters. A failed candidate counts as a slow one (eight times the task's best,
// or its worst if that is slower) with a low weight, so that what fails is avoided without being
// forbidden. Rows of other devices weigh less, and nothing where they mislead (family_trust.cc).
#pragma once

#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "cost_model/booster.h"
#include "cost_model/family_models.h"
#include "cost_model/prior.h"
#include "cost_model/taught_ranks.h"

namespace kindred {

struct TrainingRow {
  int task = 0;
  std::vector<float> features;
  double label = 0;
  double prior = 0;
  bool failed = false;
};

// Mean squared error on rows that the model had not seen, over the last ones (exponentially
// forgotten).
struct ForecastError {
  static constexpr double kUnknown = 1.0;  // log2: what an error is taken to be before it is known

  double mean = kUnknown * kUnknown;
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

struct FamilyModels::State {
  struct Task {
    Workload workload;
    double roofline_ns = 1;
    int family = 0;
    std::vector<std::size_t> rows;
    double offset = 0;
    double best = -1e30, worst = 1e30;  // labels
    int source = 0;                     // 0: measured here; else another device
  };
  // Another device's observations.
  struct Source {
    static constexpr double kWeight = 0.5;

    double weight = kWeight;
    std::optional<Teacher> teacher;  // has seen them alone
    std::size_t judged_on = 0;       // rows of this device
  };

  Target target;
  Options options;
  std::deque<Task> tasks;  // a deque: models of tasks refer to its elements
  std::vector<TrainingRow> rows;
  std::size_t forecast = 0;  // rows before this one are in the errors
  Ensemble pooled;
  std::map<int, Ensemble> families;
  std::map<int, Source> sources;
  ForecastError error;  // where no family's ensemble is
  double train_seconds = 0;
  std::optional<Error> failure;  // of a prediction: reported by the next Train

  // The lowest layer.
  double Prior(std::span<const float> features, double roofline_ns) const {
    return options.prior ? std::log2(roofline_ns / PriorNs(features, roofline_ns)) : 0;
  }
  double LabelOf(const TrainingRow& row) const;
  double WeightOf(const TrainingRow& row) const;
  // Adds the layers above the prior but the offset. `doubt` (may be empty): variance over members.
  void AddLayers(int family, std::span<const float> features, std::span<double> margins,
                 std::span<double> doubt);
  void Forecast();
  // Judges other devices' observations by what was measured here since.
  Result<void> UpdateTrust();
  // The timed rows of a task, at most so many, the latest.
  TaskSamples SamplesOf(const Task& task, std::size_t most) const;
  bool Dropped(const Task& task) const {
    return task.source != 0 && sources.at(task.source).weight == 0;
  }
  void UpdateOffsets();
  Result<void> FitPooled();
  Result<void> FitFamily(int family, Ensemble& ensemble);
  std::vector<std::size_t> Chosen(std::vector<std::size_t> from) const;
  TrainingRows Gather(const std::vector<std::size_t>& chosen) const;
  void Keep(const Result<void>& result) {
    if (!result && !failure) failure = result.error();
  }
};

}  // namespace kindred
