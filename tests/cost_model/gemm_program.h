// C[M,N] = A[M,K] * B[K,N] lowered by hand with a register tile: programs whose counts are known.
#pragma once

#include "schedules/program.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred::test {

struct GemmShape {
  std::int64_t m = 128, n = 256, k = 64;
};

inline Workload GemmWorkload(const GemmShape& shape) {
  Workload workload;
  const auto tensor = [](const char* name, Role role, std::int64_t rows, std::int64_t columns) {
    Tensor made;
    made.name = name;
    made.role = role;
    made.shape = {{rows, -1}, {columns, -1}};
    return made;
  };
  workload.tensors = {tensor("A", Role::kInput, shape.m, shape.k),
                      tensor("B", Role::kInput, shape.k, shape.n),
                      tensor("C", Role::kOutput, shape.m, shape.n)};
  Stage stage;
  stage.tensor = 2;
  stage.axes = {{"m", {shape.m, -1}}, {"n", {shape.n, -1}}, {"k", {shape.k, -1}}};
  stage.spatial = 2;
  stage.combiner = Combiner::kSum;
  stage.body = LoadExpr(0, {VarExpr(0), VarExpr(2)}, DataType::kF32) *
               LoadExpr(1, {VarExpr(2), VarExpr(1)}, DataType::kF32);
  workload.stages = {stage};
  return workload;
}

struct GemmTile {
  std::int64_t rows = 6, vectors = 2;  // register tile: rows x (vectors * lanes)
  std::int64_t lanes = 16;
  bool rows_outer = true;  // order of the two tile loops
};

// Whole tiles only: m divisible by rows, n by vectors * lanes.
inline Program GemmProgram(const GemmShape& shape, const GemmTile& tile) {
  Program program;
  program.name = "gemm";
  const auto argument = [&](const char* name, std::int64_t elements, int place) {
    return program.AddBuffer({name, DataType::kF32, elements, Scope::kArgument, place, ""});
  };
  const int a = argument("A", shape.m * shape.k, 0), b = argument("B", shape.k * shape.n, 1);
  const int c = argument("C", shape.m * shape.n, 2);
  const std::int64_t width = tile.vectors * tile.lanes;
  const int acc =
      program.AddBuffer({"acc", DataType::kF32, tile.rows * width, Scope::kRegister, -1, ""});
  const int io = program.AddVar("io"), jo = program.AddVar("jo"), k = program.AddVar("k");
  const auto tiled = [&](auto&& store) {  // over the tile: rows, vectors, lanes
    const int i = program.AddVar("i"), j = program.AddVar("j"), v = program.AddVar("v");
    StmtPtr loop = For(v, IntExpr(tile.lanes), LoopKind::kVectorized,
                       store(VarExpr(i), VarExpr(j) * tile.lanes + VarExpr(v)));
    loop = For(j, IntExpr(tile.vectors), LoopKind::kUnrolled, loop);
    return For(i, IntExpr(tile.rows), LoopKind::kUnrolled, loop);
  };
  const auto at = [&](const ExprPtr& i, const ExprPtr& j) { return i * width + j; };
  const StmtPtr clear = tiled([&](const ExprPtr& i, const ExprPtr& j) {
    return Store(acc, at(i, j), FloatExpr(0, DataType::kF32));
  });
  const StmtPtr update = tiled([&](const ExprPtr& i, const ExprPtr& j) {
    return Store(
        acc, at(i, j),
        LoadExpr(acc, {at(i, j)}, DataType::kF32) +
            LoadExpr(a, {(VarExpr(io) * tile.rows + i) * shape.k + VarExpr(k)}, DataType::kF32) *
                LoadExpr(b, {VarExpr(k) * shape.n + VarExpr(jo) * width + j}, DataType::kF32));
  });
  const StmtPtr write = tiled([&](const ExprPtr& i, const ExprPtr& j) {
    return Store(c, (VarExpr(io) * tile.rows + i) * shape.n + VarExpr(jo) * width + j,
                 LoadExpr(acc, {at(i, j)}, DataType::kF32));
  });
  StmtPtr body = Block({clear, For(k, IntExpr(shape.k), LoopKind::kSerial, update), write});
  if (tile.rows_outer) {
    body = For(io, IntExpr(shape.m / tile.rows), LoopKind::kSerial,
               For(jo, IntExpr(shape.n / width), LoopKind::kSerial, body));
  } else {
    body = For(jo, IntExpr(shape.n / width), LoopKind::kSerial,
               For(io, IntExpr(shape.m / tile.rows), LoopKind::kSerial, body));
  }
  program.body = body;
  return program;
}

// The same as the plain loops i, j, k that accumulate in memory.
inline Program NaiveGemmProgram(const GemmShape& shape) {
  Program program;
  program.name = "naive";
  const auto argument = [&](const char* name, std::int64_t elements, int place) {
    return program.AddBuffer({name, DataType::kF32, elements, Scope::kArgument, place, ""});
  };
  const int a = argument("A", shape.m * shape.k, 0), b = argument("B", shape.k * shape.n, 1);
  const int c = argument("C", shape.m * shape.n, 2);
  const int i = program.AddVar("i"), j = program.AddVar("j"), k = program.AddVar("k");
  const ExprPtr at = VarExpr(i) * shape.n + VarExpr(j);
  const StmtPtr update =
      Store(c, at,
            LoadExpr(c, {at}, DataType::kF32) +
                LoadExpr(a, {VarExpr(i) * shape.k + VarExpr(k)}, DataType::kF32) *
                    LoadExpr(b, {VarExpr(k) * shape.n + VarExpr(j)}, DataType::kF32));
  program.body = For(i, IntExpr(shape.m), LoopKind::kSerial,
                     For(j, IntExpr(shape.n), LoopKind::kSerial,
                         Block({Store(c, at, FloatExpr(0, DataType::kF32)),
                                For(k, IntExpr(shape.k), LoopKind::kSerial, update)})));
  return program;
}

// A core with AVX-512, of round numbers.
inline Target TestTarget() {
  Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.l1_bytes = 48 << 10;
  target.l2_bytes = 2 << 20;
  target.peak_f32_gflops = 160;
  target.l1_gbps = 300;
  target.l2_gbps = 100;
  target.memory_gbps = 12;
  return target;
}

}  // namespace kindred::test
