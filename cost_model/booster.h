// Booster: one XGBoost ensemble for regression, over the C API of XGBoost 1.7.
//
// Trained whole in Train(); the margin below (base_margin) stands in for XGBoost's base score, so
// Predict() returns what the ensemble adds to it. One thread, histogram trees, deterministic for
// equal rows and seed. Owns its XGBoost handle; movable. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost_model/internal/flat_trees.h"
#include "schedules/base/result.h"

namespace kindred {

struct BoosterOptions {
  int rounds = 60;
  int max_depth = 5;
  int max_bin = 32;
  double learning_rate = 0.15;
  double lambda = 1;  // L2 penalty of leaf values
  double minimum_child_weight = 1;
  double subsample = 0.9;  // rows per tree
  double colsample = 0.7;  // features per tree
  std::uint64_t seed = 0;
};

// `rows` of `columns` features each, flat; the other vectors have one value per row (weights may be
// empty).
struct TrainingRows {
  std::size_t columns = 0;
  std::vector<float> features;
  std::vector<float> labels;
  std::vector<float> margins;
  std::vector<float> weights;
  std::size_t rows() const { return labels.size(); }
};

class Booster {
 public:
  Booster() = default;
  ~Booster();
  Booster(Booster&& other) noexcept;
  Booster& operator=(Booster&& other) noexcept;

  bool empty() const { return handle_ == nullptr; }

  // Replaces the ensemble. Error kEnvironment: XGBoost's message.
  Result<void> Train(const TrainingRows& rows, const BoosterOptions& options);

  // Adds to `margins` what the ensemble says of each row; nothing if empty. `features` is flat.
  Result<void> AddTo(std::span<const float> features, std::size_t columns,
                     std::span<double> margins) const;
  // The same by XGBoost's own predictor, which is slower.
  Result<void> AddToByXgboost(std::span<const float> features, std::size_t columns,
                              std::span<double> margins) const;

  // UBJSON, and back. Error kBadInput: not a model of this XGBoost.
  Result<std::string> Save() const;
  static Result<Booster> Load(std::string_view blob);

 private:
  Result<void> Flatten();

  void* handle_ = nullptr;
  std::optional<FlatTrees> flat_;  // what AddTo evaluates; without it, XGBoost does
};

}  // namespace kindred
