#include "cost_model/internal/flat_trees.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace kindred {
namespace {

bool IsMissing(float value) { return std::isnan(value) || value == FlatTrees::kMissing; }

}  // namespace

std::optional<FlatTrees> FlatTrees::FromUbjson(std::string_view model) try {
  const nlohmann::json saved = nlohmann::json::from_ubjson(model.begin(), model.end());
  const nlohmann::json& learner = saved.at("learner");
  const nlohmann::json& parameters = learner.at("learner_model_param");
  const nlohmann::json& booster = learner.at("gradient_booster");
  if (booster.at("name") != "gbtree" ||
      std::strtod(parameters.at("base_score").get_ref<const std::string&>().c_str(), nullptr) != 0)
    return std::nullopt;
  const nlohmann::json& model_of_trees = booster.at("model");
  for (const nlohmann::json& group : model_of_trees.at("tree_info"))
    if (group != 0) return std::nullopt;
  FlatTrees flat;
  flat.columns_ = static_cast<std::size_t>(std::strtoull(
      parameters.at("num_feature").get_ref<const std::string&>().c_str(), nullptr, 10));
  for (const nlohmann::json& tree : model_of_trees.at("trees")) {
    if (!tree.at("categories").empty()) return std::nullopt;
    const auto left = tree.at("left_children").get<std::vector<std::int32_t>>();
    const auto right = tree.at("right_children").get<std::vector<std::int32_t>>();
    const auto feature = tree.at("split_indices").get<std::vector<std::uint32_t>>();
    const auto threshold = tree.at("split_conditions").get<std::vector<float>>();
    const auto default_left = tree.at("default_left").get<std::vector<int>>();
    const std::size_t count = left.size();
    if (count == 0 || right.size() != count || feature.size() != count ||
        threshold.size() != count || default_left.size() != count)
      return std::nullopt;
    const auto root = static_cast<std::int32_t>(flat.nodes_.size());
    std::vector<int> depth(count, 0);
    int deepest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t self = root + static_cast<std::int32_t>(i);
      if (left[i] < 0) {
        flat.nodes_.push_back({threshold[i], 0, {self, self}});
        flat.missing_.push_back(self);
        continue;
      }
      if (feature[i] >= flat.columns_) return std::nullopt;
      // XGBoost numbers children after their parents.
      for (const std::int32_t child : {left[i], right[i]}) {
        if (child <= static_cast<std::int32_t>(i) || child >= static_cast<std::int32_t>(count))
          return std::nullopt;
        depth[static_cast<std::size_t>(child)] = depth[i] + 1;
        deepest = std::max(deepest, depth[i] + 1);
      }
      flat.nodes_.push_back({threshold[i], feature[i], {root + left[i], root + right[i]}});
      flat.missing_.push_back(root + (default_left[i] != 0 ? left[i] : right[i]));
    }
    flat.trees_.push_back({root, deepest});
  }
  return flat;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

// Rows side by side, without branches: each waits for its own chain of loads only.
template <int kRows>
void FlatTrees::AddRows(const float* features, std::size_t columns, double* margins) const {
  const TreeNode* const nodes = nodes_.data();
  float sum[kRows] = {};
  for (const Tree& tree : trees_) {
    std::size_t at[kRows];
    for (int r = 0; r < kRows; ++r) at[r] = static_cast<std::size_t>(tree.root);
    for (int step = 0; step < tree.depth; ++step)
      for (int r = 0; r < kRows; ++r) {
        const TreeNode& node = nodes[at[r]];
        const float value = features[static_cast<std::size_t>(r) * columns + node.feature];
        at[r] = static_cast<std::size_t>(node.children[value < node.threshold ? 0 : 1]);
      }
    for (int r = 0; r < kRows; ++r) sum[r] += nodes[at[r]].threshold;
  }
  for (int r = 0; r < kRows; ++r) margins[r] += static_cast<double>(sum[r]);
}

float FlatTrees::SumWithMissing(std::span<const float> row) const {
  float sum = 0;
  for (const Tree& tree : trees_) {
    auto at = static_cast<std::size_t>(tree.root);
    for (int step = 0; step < tree.depth; ++step) {
      const TreeNode& node = nodes_[at];
      const float value = row[node.feature];
      at = static_cast<std::size_t>(
          IsMissing(value) ? missing_[at] : node.children[value < node.threshold ? 0 : 1]);
    }
    sum += nodes_[at].threshold;
  }
  return sum;
}

void FlatTrees::AddTo(std::span<const float> features, std::size_t columns,
                      std::span<double> margins) const {
  constexpr std::size_t kRows = 8;
  if (std::any_of(features.begin(), features.end(), IsMissing)) {
    for (std::size_t i = 0; i < margins.size(); ++i)
      margins[i] += static_cast<double>(SumWithMissing(features.subspan(i * columns, columns)));
    return;
  }
  std::size_t i = 0;
  for (; i + kRows <= margins.size(); i += kRows)
    AddRows<kRows>(&features[i * columns], columns, &margins[i]);
  for (; i < margins.size(); ++i) AddRows<1>(&features[i * columns], columns, &margins[i]);
}

}  // namespace kindred
