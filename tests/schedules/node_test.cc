// Memory of nodes: who counts, what an arena holds on to, and what lives how long.
#include "schedules/node.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/program.h"
#include "schedules/space.h"
#include "schedules/text_form.h"
#include "schedules/workload.h"

namespace kindred {
namespace {

struct Leaf : Node {
  explicit Leaf(int* alive) : count(alive) { ++*count; }
  Leaf(const Leaf& other) : Node(other), count(other.count) { ++*count; }
  Leaf& operator=(const Leaf&) = delete;
  ~Leaf() { --*count; }
  int* count;
};
using LeafPtr = NodePtr<const Leaf>;

TEST(NodeMemory, CountedNodesGoWithTheirLastPointer) {
  int alive = 0;
  LeafPtr first = MakeNode<Leaf>(&alive);
  LeafPtr second = first;
  EXPECT_EQ(first, second);
  first = nullptr;
  EXPECT_EQ(alive, 1);
  {
    const NodeList<LeafPtr> list = {second, MakeNode<Leaf>(&alive)};
    const NodeList<LeafPtr> copy = list;
    second = nullptr;
    EXPECT_EQ(alive, 2);
    EXPECT_EQ(copy.size(), 2u);
    EXPECT_EQ(copy[0], list.front());
    EXPECT_EQ(std::vector<LeafPtr>(copy).back(), list.back());
  }
  EXPECT_EQ(alive, 0);
}

TEST(NodeMemory, AnArenaHoldsOnToCountedNodesThatItsOwnPointTo) {
  int alive = 0;
  auto arena = std::make_unique<NodeArena>();
  LeafPtr outside = MakeNode<Leaf>(&alive);
  {
    const NodeArena::Scope scope(*arena);
    const NodeList<LeafPtr> member = {outside, nullptr};
    EXPECT_EQ(member[0], outside);
    // A copy of the member counts nothing; the arena does.
    const LeafPtr copy = member[0];
    outside = nullptr;
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(copy->count, &alive);
  }
  arena.reset();
  EXPECT_EQ(alive, 0);
}

TEST(NodeMemory, PointersMayBeDroppedAfterTheirArena) {
  std::optional<NodeArena> arena(std::in_place);
  ExprPtr kept, cloned;
  {
    const NodeArena::Scope scope(*arena);
    kept = VarExpr(0) + VarExpr(1) * 7;
  }
  cloned = Clone(kept);
  const ExprPtr copy = kept;
  arena.reset();
  kept = nullptr;
  EXPECT_TRUE(SameExpr(*cloned, *(VarExpr(0) + VarExpr(1) * 7)));
}

TEST(NodeMemory, ScopesNest) {
  NodeArena outer, inner;
  EXPECT_EQ(NodeArena::current(), nullptr);
  {
    const NodeArena::Scope first(outer);
    {
      const NodeArena::Scope second(inner);
      EXPECT_EQ(NodeArena::current(), &inner);
    }
    EXPECT_EQ(NodeArena::current(), &outer);
  }
  EXPECT_EQ(NodeArena::current(), nullptr);
}

TEST(NodeMemory, ListsLargerThanABlockFit) {
  NodeArena arena;
  const NodeArena::Scope scope(arena);
  const std::vector<ExprPtr> many(5000, IntExpr(3));
  const ExprList list = many;
  EXPECT_EQ(list.size(), many.size());
  EXPECT_EQ(list.back()->integer, 3);
}

// A comment's text may have memory of its own, which ASan would miss.
TEST(NodeMemory, ProgramsOutliveTheirSpaceAndWorkload) {
  std::shared_ptr<const Program> program;
  Program copy;
  {
    const Result<Workload> workload = ParseWorkload(
        "input X: f32[8,12]\nweight W: f32[12,20]\nT[m,n] = sum[k](X[m,k] * W[k,n])\n"
        "output Y[m,n] = max(T[m,n] * 0.5, 0.25)\n",
        "test");
    ASSERT_TRUE(workload);
    const auto space = MakeSpace(*workload, Target{});
    Path path;
    while (const auto decision = space->Next(path))
      path.push_back({decision->name, decision->options.back(),
                      decision->labels.empty() ? "" : decision->labels.back()});
    const Result<Candidate> candidate = space->Lower(path);
    ASSERT_TRUE(candidate);
    program = candidate->program;
    copy = *program;
  }
  EXPECT_TRUE(CheckProgram(*program));
  program.reset();
  EXPECT_TRUE(CheckProgram(copy));
  copy = Program{};  // the nodes go before the pointers to them
  EXPECT_FALSE(copy.body);
  NodeArena arena;
  const NodeArena::Scope scope(arena);
  const StmtPtr comment = Comment(std::string(100, 'x'));
  EXPECT_EQ(comment->text.size(), 100u);
}

}  // namespace
}  // namespace kindred
