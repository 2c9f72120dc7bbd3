// Splitting of loops into tiles with exact tails, and register-tiled nests of one stage: the
// building blocks of the sketches that work stage by stage.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schedules/internal/lower_common.h"
#include "schedules/target.h"

namespace kindred::internal {

// Covers [0, extent) with tiles of the given sizes, each size as often as it still fits; the last
// size should be 1. `tile(base, size)` makes the statement for elements base .. base + size - 1.
// The first size's loop is of `kind`, the others serial.
StmtPtr SplitLoop(Lowering& lowering, const std::string& name, const ExprPtr& extent,
                  std::span<const std::int64_t> sizes, LoopKind kind,
                  const std::function<StmtPtr(const ExprPtr& base, std::int64_t size)>& tile);

// Elements of one vector where every value of the stage is computed in a vector of the target's
// size: by the widest type that the stage computes in.
int LanesFor(const Target& target, const Stage& stage, DataType stored);

// Tile sizes along an axis computed with vectors: {unroll * lanes, lanes, 1}; with lanes = 1 just
// {1}.
std::vector<std::int64_t> VectorTiles(std::int64_t vectors, std::int64_t lanes);
// The same with ever narrower vectors for the tail: {unroll * lanes, lanes, lanes / 2, .., 4, 1}.
// Not for code with accumulators, whose registers have one width.
std::vector<std::int64_t> WithNarrowTails(std::vector<std::int64_t> sizes);

struct StageTile {
  std::int64_t rows = 1;     // of the last but one spatial axis, unrolled
  std::int64_t vectors = 1;  // of the last spatial axis, unrolled
  std::int64_t lanes = 1;    // 1: scalar code
  int unroll = 1;            // hint for the innermost reduction loop
  bool parallel = false;     // the outermost loop may run in threads
};

// Spatial loops in order, the last two tiled; reductions outside the tile, which accumulates in
// registers. Stages without spatial axes become plain nests. `outer` are
// values of the stage's leading spatial axes that the caller has fixed already.
StmtPtr TiledStage(
    Lowering& lowering, const Stage& stage, const StageTile& tile, std::span<const ExprPtr> outer,
    const LoadRule& load,
    const std::function<StmtPtr(std::span<const ExprPtr> indices, ExprPtr value)>& store);

// With all axes free, loads and stores row-major.
StmtPtr TiledStage(Lowering& lowering, const Stage& stage, const StageTile& tile);

}  // namespace kindred::internal
