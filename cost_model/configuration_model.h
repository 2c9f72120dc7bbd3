// ConfigurationModel: what configurations of a ParameterSpace will take, learned from those that
// were measured in it.
//
// A Gaussian process over log2(time). A failure counts as the slowest time so far; what is still
// being measured, as what was expected of it. Times on other devices are trends of the process: how
// far they are followed is learned from what is measured here. Those that are noise are not
// followed at all, nor are any, for good, once enough was measured that they do not help to
// explain. Deterministic for a seed and a history. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cost_model/configuration_columns.h"
#include "cost_model/cost_model.h"

namespace kindred {

class ConfigurationModel final : public CostModel {
 public:
  using Belief = GaussianProcess::Belief;

  // `space` must outlive it. `elsewhere`: log2(time) of each configuration on other devices, up to
  // a constant of the device; NaN where it is not known.
  ConfigurationModel(const ParameterSpace& space, std::uint64_t seed,
                     const std::vector<std::vector<double>>& elsewhere = {});

  // ns = 0: it failed.
  void Add(std::size_t configuration, double ns);
  // It is being measured.
  void Expect(std::size_t configuration);
  // Learns from all of that. Before two successes there is nothing to learn from.
  void Train();

  bool trained() const { return trained_; }
  std::size_t measured() const { return rows_.size(); }
  double best_log2_ns() const { return best_; }  // of trained()
  // Successes, fastest first.
  std::vector<std::size_t> Best(std::size_t count) const;
  // log2(ns) of each row asked for, by each of some plausible sets of parameters. Once trained().
  std::vector<std::vector<Belief>> Beliefs(std::span<const std::size_t> configurations) const {
    return process_.Predict(configurations);
  }
  std::vector<Prediction> Predict(std::span<const Candidate* const> candidates) const override;

  // The configurations that other devices are fastest at, best first: by the mean of all devices,
  // then by each. Empty: nothing is known of other devices.
  const std::vector<std::size_t>& promising() const { return promising_; }

  // Whether other devices' times are any help, by what was measured here. Once trained().
  bool FollowsOthers() const { return process_.FollowsTrends(); }

  // Sum over columns of how far two configurations are apart, each from 0 to 1.
  double Distance(std::size_t a, std::size_t b) const;

 private:
  struct Row {
    std::size_t configuration;
    double log2_ns;
    bool failed;
  };
  std::vector<Row> TrainingRows() const;

  const ParameterSpace& space_;
  std::vector<GpColumn> columns_;
  std::vector<std::vector<float>> trends_;  // by device and configuration; means are 0
  std::vector<std::size_t> promising_;
  GaussianProcess process_;
  std::vector<Row> rows_;
  std::map<std::size_t, double> expected_;  // log2(ns)
  double best_ = 0;
  bool trained_ = false;
};

}  // namespace kindred
