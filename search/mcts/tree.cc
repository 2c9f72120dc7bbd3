#include "search/mcts/tree.h"

#include <algorithm>
#include <cmath>

namespace kindred {

std::int32_t Tree::AddNode(const SampledPath& path, std::size_t depth, std::int32_t trie) {
  const Decision& decision = *path.decisions[depth];
  TreeNode node;
  node.first_edge = static_cast<std::uint32_t>(edges_.size());
  node.edge_count = static_cast<std::uint16_t>(decision.options.size());
  node.trie = trie;
  for (std::uint16_t option = 0; option < node.edge_count; ++option) {
    Edge edge;
    edge.mark = MarkOf(decision, option, depth == 0 ? 0 : path.marks[0]);
    edge.closed = sampler_.Retired(trie, option);
    node.open_edges = static_cast<std::uint16_t>(node.open_edges + !edge.closed);
    edges_.push_back(edge);
  }
  nodes_.push_back(node);
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

void Tree::Trace(const SampledPath& path) {
  traced_nodes_.clear();
  traced_edges_.clear();
  if (path.options.empty()) return;
  if (nodes_.empty()) AddNode(path, 0, PathSampler::kRoot);
  std::int32_t node = 0;
  for (std::size_t depth = 0; depth < path.options.size(); ++depth) {
    const std::uint32_t at =
        nodes_[static_cast<std::size_t>(node)].first_edge + path.options[depth];
    traced_nodes_.push_back(node);
    traced_edges_.push_back(at);
    if (edges_[at].child == kUnexpanded) {
      const std::int32_t trie =
          sampler_.Child(nodes_[static_cast<std::size_t>(node)].trie, path.options[depth]);
      const std::int32_t child =
          depth + 1 == path.options.size() ? kLeaf : AddNode(path, depth + 1, trie);
      edges_[at].child = child;
    }
    node = edges_[at].child;
  }
}

void Tree::CloseTraced() {
  for (std::size_t depth = traced_edges_.size(); depth-- > 0;) {
    Edge& edge = edges_[traced_edges_[depth]];
    TreeNode& node = nodes_[static_cast<std::size_t>(traced_nodes_[depth])];
    if (!edge.closed) --node.open_edges;
    edge.closed = true;
    if (node.open_edges > 0) return;
  }
}

void Tree::Insert(const SampledPath& path, double reward, bool in_flight) {
  Trace(path);
  const auto value = static_cast<float>(reward);
  for (std::size_t depth = 0; depth < traced_edges_.size(); ++depth) {
    TreeNode& node = nodes_[static_cast<std::size_t>(traced_nodes_[depth])];
    Edge& edge = edges_[traced_edges_[depth]];
    ++node.visits;
    node.reward_sum += value;
    node.reward_max = std::max(node.reward_max, value);
    ++edge.visits;
    edge.reward_sum += value;
    edge.reward_max = std::max(edge.reward_max, value);
    if (in_flight) ++edge.in_flight;
  }
  CloseTraced();
}

void Tree::Close(const SampledPath& path) {
  Trace(path);
  CloseTraced();
}

double Tree::Value(const Edge& edge) const {
  const double visits = edge.visits, lost = parameters_.virtual_loss * edge.in_flight;
  return parameters_.max_weight * static_cast<double>(edge.reward_max) +
         (1 - parameters_.max_weight) * static_cast<double>(edge.reward_sum) / (visits + lost);
}

std::uint32_t Tree::Choose(const TreeNode& node) {
  // Prior: softmax of the best reward below a child, or of what its choice did elsewhere.
  priors_.assign(node.edge_count, 0);
  double highest = 0, sum = 0;
  for (std::uint16_t i = 0; i < node.edge_count; ++i) {
    const Edge& edge = edges_[node.first_edge + i];
    if (edge.closed) continue;
    priors_[i] =
        edge.visits > 0 ? static_cast<double>(edge.reward_max) : policy_.Estimate(edge.mark);
    highest = std::max(highest, priors_[i]);
  }
  for (std::uint16_t i = 0; i < node.edge_count; ++i) {
    if (edges_[node.first_edge + i].closed) continue;
    priors_[i] = std::exp((priors_[i] - highest) / parameters_.prior_temperature);
    sum += priors_[i];
  }
  for (std::uint16_t i = 0; i < node.edge_count; ++i)
    if (!edges_[node.first_edge + i].closed)
      priors_[i] = (1 - parameters_.prior_noise) * priors_[i] / sum +
                   parameters_.prior_noise / node.open_edges;

  double threshold = 0;
  const double opened =
      parameters_.widening_scale * std::pow(node.visits + 1.0, parameters_.widening_power);
  if (opened < node.open_edges) {
    sorted_ = priors_;
    const auto last = sorted_.begin() + static_cast<std::ptrdiff_t>(std::ceil(opened)) - 1;
    std::nth_element(sorted_.begin(), last, sorted_.end(), std::greater<>());
    threshold = *last;
  }

  double visited_prior = 0, in_flight = 0;
  for (std::uint16_t i = 0; i < node.edge_count; ++i) {
    const Edge& edge = edges_[node.first_edge + i];
    if (edge.visits + edge.in_flight > 0) visited_prior += priors_[i];
    in_flight += edge.in_flight;
  }
  const double parent =
      node.visits > 0
          ? parameters_.max_weight * static_cast<double>(node.reward_max) +
                (1 - parameters_.max_weight) * static_cast<double>(node.reward_sum) / node.visits
          : 0.5;
  const double first_play = parent - parameters_.first_play_reduction * std::sqrt(visited_prior);
  const double root = exploration_ * std::sqrt(node.visits + in_flight + 1.0);
  std::uint32_t best = node.first_edge;
  double best_score = -1e30;
  for (std::uint16_t i = 0; i < node.edge_count; ++i) {
    const Edge& edge = edges_[node.first_edge + i];
    if (edge.closed || priors_[i] < threshold) continue;
    const double q = edge.visits > 0 ? Value(edge) : first_play;
    const double score = q + priors_[i] * root / (1.0 + edge.visits + edge.in_flight);
    if (score > best_score) {
      best_score = score;
      best = node.first_edge + i;
    }
  }
  return best;
}

std::optional<std::vector<std::uint16_t>> Tree::Select() {
  std::vector<std::uint16_t> prefix;
  if (nodes_.empty()) return prefix;  // the first path is drawn freely
  if (nodes_[0].open_edges == 0) return std::nullopt;
  std::int32_t at = 0;
  while (at >= 0) {
    const TreeNode& node = nodes_[static_cast<std::size_t>(at)];
    const std::uint32_t chosen = Choose(node);
    prefix.push_back(static_cast<std::uint16_t>(chosen - node.first_edge));
    ++edges_[chosen].in_flight;
    at = edges_[chosen].child;
  }
  return prefix;
}

void Tree::Release(const std::vector<std::uint16_t>& prefix) {
  std::int32_t at = 0;
  for (const std::uint16_t option : prefix) {
    Edge& edge = edges_[nodes_[static_cast<std::size_t>(at)].first_edge + option];
    --edge.in_flight;
    at = edge.child;
  }
}

}  // namespace kindred
