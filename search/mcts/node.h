// Nodes and edges of the search tree, in two flat arrays.
//
//      TreeNode --first_edge, edge_count--> [Edge][Edge][Edge]   one per option, in its order
//                                          |
//                                        child: a TreeNode, kUnexpanded, or kLeaf (complete path)
//
// Statistics lie on edges. An edge is closed when nothing below it is left to propose: a leaf that
// was evaluated, or a node all of whose edges are closed. Visits in flight (virtual loss) are those
// of leaves selected but not yet evaluated, and of candidates proposed but not yet observed.
#pragma once

#include <cstdint>

namespace kindred {

inline constexpr std::int32_t kUnexpanded = -1;
inline constexpr std::int32_t kLeaf = -2;

struct Edge {
  std::uint64_t mark = 0;  // MarkOf the option: joins it with the same choice elsewhere
  float reward_sum = 0;
  float reward_max = 0;
  std::uint32_t visits = 0;
  std::int32_t child = kUnexpanded;
  std::uint16_t in_flight = 0;
  bool closed = false;
};
static_assert(sizeof(Edge) == 32, "two edges per cache line");

struct TreeNode {
  std::uint32_t first_edge = 0;
  std::uint16_t edge_count = 0;
  std::uint16_t open_edges = 0;
  std::uint32_t visits = 0;
  float reward_sum = 0;
  float reward_max = 0;
  std::int32_t trie = -1;  // PathSampler's node, where there is one
};
static_assert(sizeof(TreeNode) == 24, "nodes are many: keep them small");

}  // namespace kindred
