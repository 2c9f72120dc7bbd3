// Counts of loops, strides, footprints and costs, against numbers worked out by hand.
#include "cost_model/internal/nest.h"

#include <gtest/gtest.h>

#include "cost_model/internal/costs.h"
#include "cost_model/internal/footprint.h"
#include "tests/cost_model/gemm_program.h"

namespace kindred {
namespace {

using test::GemmProgram;
using test::NaiveGemmProgram;
using test::TestTarget;

constexpr double kMultiplyAdds = 96.0 * 256 * 64;

TEST(Nest, CountsOfATiledGemm) {
  const Program program = GemmProgram({96, 256, 64}, {});
  Nest nest;
  nest.Build(program);
  ASSERT_EQ(nest.statements().size(), 3u);
  const NestStatement& update = nest.statements()[1];
  EXPECT_EQ(update.executions, kMultiplyAdds);
  EXPECT_EQ(update.ops[static_cast<std::size_t>(OpClass::kFusedMultiplyAdd)], 1);
  EXPECT_EQ(update.ops[static_cast<std::size_t>(OpClass::kMultiply)], 0);
  EXPECT_EQ(update.ops[static_cast<std::size_t>(OpClass::kAdd)], 0);
  EXPECT_TRUE(update.recurrent);
  EXPECT_TRUE(update.to_register);
  EXPECT_EQ(update.depth, 6);
  // A and B are read; the accumulators are registers, not memory.
  ASSERT_EQ(update.end_access - update.first_access, 2);
  const NestAccess& a = nest.accesses()[static_cast<std::size_t>(update.first_access)];
  const NestAccess& b = nest.accesses()[static_cast<std::size_t>(update.first_access) + 1];
  EXPECT_EQ(std::vector<double>(a.index.stride.begin(), a.index.stride.begin() + 6),
            (std::vector<double>{6 * 64, 0, 1, 64, 0, 0}));
  EXPECT_EQ(std::vector<double>(b.index.stride.begin(), b.index.stride.begin() + 6),
            (std::vector<double>{0, 32, 256, 0, 16, 1}));
}

TEST(Nest, RaggedExtentsAndGuardsAreAveraged) {
  Program program;
  const int x = program.AddBuffer({"X", DataType::kF32, 100, Scope::kArgument, 0, ""});
  const int o = program.AddVar("o"), i = program.AddVar("i"), g = program.AddVar("g");
  // 100 elements in tiles of 16: six whole ones and one of four.
  const ExprPtr rest = IntExpr(100) - VarExpr(o) * 16;
  const StmtPtr ragged =
      For(o, IntExpr(7), LoopKind::kSerial,
          For(i, BinaryExpr(Op::kMin, IntExpr(16), rest), LoopKind::kSerial,
              Store(x, VarExpr(o) * 16 + VarExpr(i), FloatExpr(1, DataType::kF32))));
  // Padding: of 100 only the first and the last are outside.
  const ExprPtr inside = BinaryExpr(Op::kAnd, BinaryExpr(Op::kLessEqual, IntExpr(1), VarExpr(g)),
                                    BinaryExpr(Op::kLess, VarExpr(g), IntExpr(99)));
  const StmtPtr guarded = For(g, IntExpr(100), LoopKind::kSerial,
                              If(inside, Store(x, VarExpr(g), FloatExpr(2, DataType::kF32)),
                                 Store(x, VarExpr(g), FloatExpr(3, DataType::kF32))));
  program.body = Block({ragged, guarded});
  Nest nest;
  nest.Build(program);
  ASSERT_EQ(nest.statements().size(), 3u);
  EXPECT_NEAR(nest.statements()[0].executions, 100, 1e-9);
  EXPECT_NEAR(nest.statements()[1].executions, 98, 1e-9);
  EXPECT_NEAR(nest.statements()[2].executions, 2, 1e-9);
  EXPECT_EQ(nest.branches(), 100);
}

TEST(Nest, DivisionAndLoadedIndices) {
  Program program;
  const int x = program.AddBuffer({"X", DataType::kF32, 4096, Scope::kArgument, 0, ""});
  const int indices = program.AddBuffer({"J", DataType::kI64, 64, Scope::kArgument, 1, ""});
  const int y = program.AddBuffer({"Y", DataType::kF32, 64, Scope::kArgument, 2, ""});
  const int i = program.AddVar("i");
  const ExprPtr fused = BinaryExpr(Op::kDiv, VarExpr(i), IntExpr(8)) * 64 +
                        BinaryExpr(Op::kMod, VarExpr(i), IntExpr(8));
  program.body = For(
      i, IntExpr(64), LoopKind::kSerial,
      Store(y, VarExpr(i),
            LoadExpr(x, {fused}, DataType::kF32) +
                LoadExpr(x, {LoadExpr(indices, {VarExpr(i)}, DataType::kI64)}, DataType::kF32)));
  Nest nest;
  nest.Build(program);
  ASSERT_EQ(nest.statements().size(), 1u);
  bool gathered = false;
  for (const NestAccess& access : nest.accesses()) {
    gathered |= access.index.indirect;
    if (access.buffer == x && !access.index.indirect) {
      EXPECT_DOUBLE_EQ(access.index.stride[0], 64.0 / 8 + 1);
    }
  }
  EXPECT_TRUE(gathered);
}

TEST(Nest, DeeperThanTheTables) {
  Program program;
  const int x = program.AddBuffer({"X", DataType::kF32, 1 << 20, Scope::kArgument, 0, ""});
  std::vector<int> variables;
  ExprPtr index = IntExpr(0);
  for (int i = 0; i < 40; ++i) {
    variables.push_back(program.AddVar("i"));
    index = index + VarExpr(variables.back());
  }
  StmtPtr body = Store(x, index, FloatExpr(1, DataType::kF32));
  for (int i = 40; i-- > 0;)
    body = For(variables[static_cast<std::size_t>(i)], IntExpr(i % 2 + 1), LoopKind::kSerial, body);
  program.body = body;
  Nest nest;
  nest.Build(program);
  EXPECT_EQ(nest.statements()[0].executions, 1 << 20);
  Footprint footprint;
  footprint.Build(nest);
  EXPECT_GT(footprint.Iteration(39), 0);
  EXPECT_GT(footprint.Iteration(-1), 0);
}

TEST(Footprint, OfGemmLoops) {
  const Program program = GemmProgram({96, 256, 64}, {});
  Nest nest;
  nest.Build(program);
  Footprint footprint;
  footprint.Build(nest);
  // The whole: each matrix once, in lines.
  EXPECT_NEAR(footprint.Iteration(-1), 4 * (96 * 64 + 64 * 256 + 96 * 256), 4 * 64);
  // One run of the k loop and what stands beside it: six rows of A, a panel of B of 64 rows of 128
  // bytes, a tile of C.
  int k_loop = -1;
  for (int id = 0; id < static_cast<int>(nest.loops().size()); ++id)
    if (nest.loops()[static_cast<std::size_t>(id)].variable == 2) k_loop = id;
  const double tile = footprint.Iteration(nest.loops()[static_cast<std::size_t>(k_loop)].parent);
  EXPECT_GT(tile, 6 * 256 + 64 * 128 + 6 * 128 - 1);
  EXPECT_LT(tile, 1.4 * (6 * 256 + 64 * 128 + 6 * 128));  // unaligned pieces touch another line
}

TEST(Footprint, TrafficFallsWithTheCacheAndVanishesWhenAllFits) {
  const Program program = GemmProgram({768, 1024, 512}, {});
  Nest nest;
  nest.Build(program);
  Footprint footprint;
  footprint.Build(nest);
  double before = 1e30;
  for (const double capacity : {8e3, 48e3, 2e6, 5e6}) {
    const double traffic = footprint.TrafficBeyond(capacity).total();
    EXPECT_LE(traffic, before) << capacity;
    before = traffic;
  }
  EXPECT_GT(before, 0);
  EXPECT_EQ(footprint.TrafficBeyond(20e6).total(), 0);
  // B does not fit beside the tile: it streams from memory for each of the 128 rows of tiles.
  const double all = 4.0 * (128 * 512 * 1024);
  EXPECT_NEAR(footprint.TrafficBeyond(1e6).total(), all, 0.1 * all);
}

TEST(Costs, TiledGemmRunsNearThePeakAndNaiveDoesNot) {
  const Target target = TestTarget();
  Nest nest;
  Costs costs;
  const Program tiled = GemmProgram({96, 256, 64}, {});
  nest.Build(tiled);
  EstimateCosts(nest, target, costs);
  EXPECT_EQ(costs.flop, 2 * kMultiplyAdds);
  ASSERT_EQ(costs.bodies.size(), 2u);  // the loop over k; clearing and writing the tile
  EXPECT_EQ(costs.bodies[static_cast<std::size_t>(costs.hottest)].statement, 1);
  const StatementCost& hot = costs.statements[1];
  EXPECT_TRUE(hot.explicit_vector);
  EXPECT_EQ(hot.lanes, 16);
  EXPECT_EQ(hot.tile, 12);  // 6 x 2 vectors
  EXPECT_EQ(hot.compute_slots, kMultiplyAdds / 16);
  // Per k: two vectors of B, six broadcasts of A for twelve multiply-adds.
  EXPECT_EQ(hot.loads_unit, kMultiplyAdds / 16 / 12 * 2);
  EXPECT_EQ(hot.loads_broadcast, kMultiplyAdds / 16 / 12 * 6);
  EXPECT_LT(hot.latency_slots, hot.compute_slots);

  const Program narrow = GemmProgram({96, 256, 64}, {.rows = 2, .vectors = 1});
  nest.Build(narrow);
  EstimateCosts(nest, target, costs);
  EXPECT_EQ(costs.statements[1].latency_slots,
            4 * costs.statements[1].compute_slots);  // 2 chains of 8 slots

  const Program wide = GemmProgram({96, 256, 64}, {.rows = 12, .vectors = 4});
  nest.Build(wide);
  EstimateCosts(nest, target, costs);
  EXPECT_GT(costs.spill_slots, 0);  // 48 accumulators in 32 registers

  const Program naive = NaiveGemmProgram({96, 256, 64});
  nest.Build(naive);
  EstimateCosts(nest, target, costs);
  EXPECT_GT(costs.slots, 20 * kMultiplyAdds / 16);
}

}  // namespace
}  // namespace kindred
