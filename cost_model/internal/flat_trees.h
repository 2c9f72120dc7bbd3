// FlatTrees: the trees of a trained XGBoost ensemble in one array, evaluated for several rows at a
// time. Says exactly what XGBoost's own predictor says (the same comparisons, the same order of
// sums in f32), a few times as fast.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kindred {

class FlatTrees {
 public:
  // Values that stand for a missing feature, beside NaN.
  static constexpr float kMissing = -1e30f;

  // From XGBoost's UBJSON form of a model. nullopt: not one of plain numerical trees, for one
  // output, over `0`.
  static std::optional<FlatTrees> FromUbjson(std::string_view model);

  // Of every row that it takes.
  std::size_t columns() const { return columns_; }

  // margins[i] += the sum over all trees for row i of `features` (margins.size() rows of `columns`
  // each, flat).
  void AddTo(std::span<const float> features, std::size_t columns, std::span<double> margins) const;

 private:
  struct TreeNode {
    float threshold = 0;        // of a leaf: its value
    std::uint32_t feature = 0;  // rows where it is less than the threshold go to the first child
    std::int32_t children[2] = {};  // a leaf's are itself
  };
  struct Tree {
    std::int32_t root = 0;
    int depth = 0;  // steps from the root after which every row stands on a leaf
  };

  template <int kRows>
  void AddRows(const float* features, std::size_t columns, double* margins) const;
  float SumWithMissing(std::span<const float> row) const;

  std::vector<TreeNode> nodes_;
  std::vector<std::int32_t> missing_;  // per node: where a row without the feature goes
  std::vector<Tree> trees_;
  std::size_t columns_ = 0;
};

}  // namespace kindred
