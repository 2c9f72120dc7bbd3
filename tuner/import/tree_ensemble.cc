#include "tuner/import/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace kindred {
namespace {

constexpr std::int64_t kLargestPaths = std::int64_t{1} << 22;  // elements of TreeEnsemble::path
constexpr std::size_t kDeepest = 1024;

struct TreeNode {
  std::string mode;  // BRANCH_..., LEAF
  std::int64_t feature = 0;
  double threshold = 0;
  bool missing_passes = false;
  std::int64_t yes = 0, no = 0;  // node ids
};

using NodeId = std::pair<std::int64_t, std::int64_t>;  // tree, node

// One tree while it is walked.
struct Way {
  std::vector<std::pair<std::size_t, bool>> steps;  // test, outcome
};

struct Leaf {
  NodeId id;
  Way way;
};

struct FlatTree {
  std::vector<TreeNode> tests;
  std::vector<Leaf> leaves;
};

class Reader {
 public:
  Reader(OpContext& op, std::string prefix) : op_(op), prefix_(std::move(prefix)) {}

  Result<void> ReadNodes() {
    const auto trees = Integers("nodes_treeids"), ids = Integers("nodes_nodeids");
    const auto features = Integers("nodes_featureids"), yes = Integers("nodes_truenodeids");
    const auto no = Integers("nodes_falsenodeids");
    const auto missing = Integers("nodes_missing_value_tracks_true");
    const auto values = Numbers("nodes_values");
    op_.Ignore("nodes_modes");
    op_.Ignore("nodes_hitrates");
    op_.Ignore("nodes_hitrates_as_tensor");
    const auto found = op_.node.attributes.find("nodes_modes");
    const std::size_t count = ids.size();
    if (found == op_.node.attributes.end() || found->second.texts.size() != count ||
        trees.size() != count || features.size() != count || yes.size() != count ||
        no.size() != count || values.size() != count ||
        (!missing.empty() && missing.size() != count))
      return Unsupported("lists of nodes that are not of one length");
    for (std::size_t i = 0; i < count; ++i) {
      const TreeNode node{found->second.texts[i],
                          features[i],
                          values[i],
                          !missing.empty() && missing[i] != 0,
                          yes[i],
                          no[i]};
      if (!nodes_.emplace(NodeId(trees[i], ids[i]), node).second)
        return Unsupported("two nodes of one number");
      for (const std::int64_t child : {yes[i], no[i]})
        if (node.mode != "LEAF") children_.emplace(trees[i], child);
      if (order_.empty() || order_.back() != trees[i]) order_.push_back(trees[i]);
    }
    return {};
  }

  Result<void> ReadWeights(std::int64_t results) {
    const auto trees = Integers(prefix_ + "_treeids"), ids = Integers(prefix_ + "_nodeids");
    const auto which = Integers(prefix_ + "_ids");
    const auto weights = Numbers(prefix_ + "_weights");
    if (trees.size() != ids.size() || which.size() != ids.size() || weights.size() != ids.size())
      return Unsupported("lists of weights that are not of one length");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (which[i] < 0 || which[i] >= results)
        return Unsupported(fmt::format("a weight for result {} of {}", which[i], results));
      weights_[NodeId(trees[i], ids[i])][which[i]] += weights[i];
    }
    return {};
  }

  Result<std::vector<FlatTree>> Flatten() {
    std::vector<FlatTree> flat;
    std::set<std::int64_t> seen;
    for (const std::int64_t tree : order_) {
      if (!seen.insert(tree).second) continue;
      flat.emplace_back();
      for (const auto& [id, node] : nodes_)
        if (id.first == tree && !children_.contains(id)) roots_.push_back(id);
      if (roots_.size() != 1) return Unsupported("a tree that has not one root");
      KINDRED_CHECK(Walk(roots_[0], {}, flat.back()));
      roots_.clear();
    }
    return flat;
  }

  using Weights = std::map<NodeId, std::map<std::int64_t, double>>;
  const Weights& weights() const { return weights_; }

 private:
  std::vector<std::int64_t> Integers(const std::string& name) {
    return op_.Ints(name).value_or(std::vector<std::int64_t>());
  }

  // A list of floats, or the tensor of the same name that newer versions have beside it: zeros
  // where it was stripped.
  std::vector<double> Numbers(const std::string& name) {
    op_.Ignore(name + "_as_tensor");
    const auto attribute = op_.node.attributes.find(name + "_as_tensor");
    if (attribute == op_.node.attributes.end())
      return op_.Floats(name).value_or(std::vector<double>());
    const OnnxTensor& tensor = attribute->second.tensor;
    std::vector<double> values(
        static_cast<std::size_t>(std::min(ElementCount(tensor.shape), kLargestPaths)), 0);
    for (std::size_t i = 0; tensor.data && i < values.size(); ++i)
      values[i] = tensor.data->Number(static_cast<std::int64_t>(i));
    return values;
  }

  Result<void> Walk(NodeId id, Way way, FlatTree& flat) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) return Unsupported("a branch to a node that is not there");
    steps_ += static_cast<std::int64_t>(way.steps.size()) + 1;
    if (way.steps.size() > kDeepest || steps_ > kLargestPaths)
      return Unsupported("trees so deep or of so many leaves");
    const TreeNode& node = found->second;
    if (node.mode == "LEAF") {
      flat.leaves.push_back({id, std::move(way)});
      return {};
    }
    const std::size_t test = flat.tests.size();
    flat.tests.push_back(node);
    for (const bool outcome : {true, false}) {
      Way next = way;
      next.steps.emplace_back(test, outcome);
      KINDRED_CHECK(Walk({id.first, outcome ? node.yes : node.no}, std::move(next), flat));
    }
    return {};
  }

  OpContext& op_;
  const std::string prefix_;
  std::map<NodeId, TreeNode> nodes_;
  std::set<NodeId> children_;
  std::vector<NodeId> roots_;
  std::vector<std::int64_t> order_;
  std::int64_t steps_ = 0;  // of all ways so far
  Weights weights_;
};

double NextBelow(double x, DataType type) {
  if (type == DataType::kF64) return std::nextafter(x, -std::numeric_limits<double>::infinity());
  return ShortestDecimal(
      std::nextafterf(static_cast<float>(x), -std::numeric_limits<float>::infinity()));
}

// The test as x <= threshold or x == threshold, and whether its outcome is the opposite.
struct PlainTest {
  double threshold = 0;
  bool equal = false, inverted = false;
};

Result<PlainTest> MakePlain(const TreeNode& node, DataType type) {
  const double below = NextBelow(node.threshold, type);
  if (node.mode == "BRANCH_LEQ") return PlainTest{node.threshold, false, false};
  if (node.mode == "BRANCH_LT") return PlainTest{below, false, false};
  if (node.mode == "BRANCH_GT") return PlainTest{node.threshold, false, true};
  if (node.mode == "BRANCH_GTE") return PlainTest{below, false, true};
  if (node.mode == "BRANCH_EQ") return PlainTest{node.threshold, true, false};
  if (node.mode == "BRANCH_NEQ") return PlainTest{node.threshold, true, true};
  return Unsupported("mode '" + node.mode + "'");
}

// What is not a number fails x <= t and x == t. Behind an inverted test that means "true".
bool MissingPasses(const TreeNode& node, const PlainTest& plain) {
  const bool true_for_missing = node.missing_passes || node.mode == "BRANCH_NEQ";
  return true_for_missing != plain.inverted;
}

class Filler {
 public:
  Filler(const std::vector<FlatTree>& flat, std::int64_t results, DataType type) : type_(type) {
    all_.trees = static_cast<std::int64_t>(flat.size());
    all_.results = results;
    all_.tests = all_.leaves = 1;
    for (const FlatTree& tree : flat) {
      all_.tests = std::max(all_.tests, static_cast<std::int64_t>(tree.tests.size()));
      all_.leaves = std::max(all_.leaves, static_cast<std::int64_t>(tree.leaves.size()));
    }
  }

  bool TooLarge() const {
    return all_.trees * all_.tests > kLargestPaths / all_.leaves ||
           all_.trees * all_.leaves > kLargestPaths / all_.results;
  }

  Result<TreeEnsemble> Fill(const std::vector<FlatTree>& flat, const Reader::Weights& weights) {
    const auto tests = static_cast<std::size_t>(all_.trees * all_.tests);
    const auto leaves = static_cast<std::size_t>(all_.trees * all_.leaves);
    all_.feature.assign(tests, 0);
    all_.threshold.assign(tests, 0);
    all_.equal.assign(tests, 0);
    all_.missing_passes.assign(tests, 0);
    all_.path.assign(tests * static_cast<std::size_t>(all_.leaves), 0);
    // More than any sum of outcomes: nothing gets there.
    all_.trues.assign(leaves, static_cast<double>(all_.tests) + 1);
    all_.value.assign(leaves * static_cast<std::size_t>(all_.results), 0);
    for (std::size_t t = 0; t < flat.size(); ++t) {
      KINDRED_CHECK(FillTree(t, flat[t], weights));
    }
    const auto none = [](const auto& flags) {
      return std::all_of(flags.begin(), flags.end(), [](auto flag) { return flag == 0; });
    };
    if (none(all_.equal)) all_.equal.clear();
    if (none(all_.missing_passes)) all_.missing_passes.clear();
    return std::move(all_);
  }

 private:
  Result<void> FillTree(std::size_t t, const FlatTree& tree, const Reader::Weights& weights) {
    const auto tests = static_cast<std::size_t>(all_.tests);
    const auto leaves = static_cast<std::size_t>(all_.leaves);
    const auto results = static_cast<std::size_t>(all_.results);
    std::vector<bool> inverted;
    for (std::size_t n = 0; n < tree.tests.size(); ++n) {
      const TreeNode& node = tree.tests[n];
      KINDRED_TRY(const PlainTest plain, MakePlain(node, type_));
      inverted.push_back(plain.inverted);
      const std::size_t at = t * tests + n;
      all_.feature[at] = node.feature;
      all_.threshold[at] = plain.threshold;
      all_.equal[at] = plain.equal ? 1 : 0;
      all_.missing_passes[at] = MissingPasses(node, plain) ? 1 : 0;
    }
    for (std::size_t l = 0; l < tree.leaves.size(); ++l) {
      const std::size_t at = t * leaves + l;
      all_.trues[at] = 0;
      for (const auto& [test, outcome] : tree.leaves[l].way.steps) {
        const bool passes = outcome != inverted[test];
        all_.path[(t * tests + test) * leaves + l] = passes ? 1 : -1;
        all_.trues[at] += passes ? 1 : 0;
      }
      const auto found = weights.find(tree.leaves[l].id);
      if (found == weights.end() || found->second.size() < results) all_.complete = false;
      if (found == weights.end()) continue;
      for (const auto& [which, weight] : found->second) {
        all_.value[at * results + static_cast<std::size_t>(which)] = weight;
        all_.any_negative = all_.any_negative || weight < 0;
      }
    }
    return {};
  }

  TreeEnsemble all_;
  const DataType type_;
};

}  // namespace

Result<TreeEnsemble> ReadTreeEnsemble(OpContext& op, const std::string& prefix,
                                      std::int64_t results, std::int64_t features, DataType type) {
  Reader reader(op, prefix);
  KINDRED_CHECK(reader.ReadNodes());
  KINDRED_CHECK(reader.ReadWeights(results));
  KINDRED_TRY(const std::vector<FlatTree> flat, reader.Flatten());
  if (flat.empty() || results < 1) return Unsupported("an ensemble without trees or results");
  for (const FlatTree& tree : flat)
    for (const TreeNode& node : tree.tests)
      if (node.feature < 0 || node.feature >= features)
        return Unsupported(fmt::format("a test of feature {} of {}", node.feature, features));
  Filler filler(flat, results, type);
  if (filler.TooLarge())
    return Unsupported("trees of so many leaves that their paths are no sensible tensor");
  KINDRED_TRY(TreeEnsemble ensemble, filler.Fill(flat, reader.weights()));
  std::set<std::int64_t> weighed;
  for (const auto& [id, weights] : reader.weights())
    for (const auto& [which, weight] : weights) weighed.insert(which);
  ensemble.weighed.assign(weighed.begin(), weighed.end());
  return ensemble;
}

}  // namespace kindred
