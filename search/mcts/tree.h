// Tree: one search tree over a space's decisions, grown during one proposal from what was measured
// and what the model predicts.
//
// Selection is PUCT (Silver et al., Nature 550, 2017) over the children that progressive widening
// has opened (Couetoux et al., LION 2011), with first-play urgency as in lc0. Rewards lie in [0,
// 1]; Q mixes mean and maximum, because one good schedule is all that is wanted. Ties go to the
// first option: deterministic.
#pragma once

#include <optional>
#include <vector>

#include "search/mcts/node.h"
#include "search/mcts/params.h"
#include "search/mcts/policy.h"
#include "search/path_sampling.h"

namespace kindred {

class Tree {
 public:
  // `exploration` scales the parameter of that name. All must outlive the tree.
  Tree(const PathSampler& sampler, const Policy& policy, const MctsParameters& parameters,
       double exploration)
      : sampler_(sampler),
        policy_(policy),
        parameters_(parameters),
        exploration_(parameters.exploration * exploration) {}

  // Backs up the reward of a complete path and closes its leaf. `in_flight`: its outcome is not
  // known yet.
  void Insert(const SampledPath& path, double reward, bool in_flight);
  // Closes a leaf that tells nothing new.
  void Close(const SampledPath& path);

  // Options from the root to the edge to expand; nullopt when all is closed. Adds a visit in flight
  // along it, until Release.
  std::optional<std::vector<std::uint16_t>> Select();
  void Release(const std::vector<std::uint16_t>& prefix);

  std::size_t size() const { return nodes_.size(); }

 private:
  std::int32_t AddNode(const SampledPath& path, std::size_t depth, std::int32_t trie);
  // Edges along a path, made where they are missing.
  void Trace(const SampledPath& path);
  void CloseTraced();
  std::uint32_t Choose(const TreeNode& node);
  double Value(const Edge& edge) const;

  const PathSampler& sampler_;
  const Policy& policy_;
  const MctsParameters& parameters_;
  double exploration_;
  std::vector<TreeNode> nodes_;  // nodes_[0]: the root, once a path was inserted
  std::vector<Edge> edges_;
  std::vector<std::int32_t> traced_nodes_;
  std::vector<std::uint32_t> traced_edges_;
  std::vector<double> priors_, sorted_;
};

}  // namespace kindred
