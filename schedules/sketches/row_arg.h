// argmax and argmin with vectors: from the lanes' own results to one.
#pragma once

#include <cstdint>
#include <utility>

#include "schedules/internal/lower_common.h"

namespace kindred::internal {

// make(which vector, slot): an unrolled loop over vectors around one over lanes; the slot counts
// the elements of all vectors.
template <typename Make>
StmtPtr EachVector(Program& program, std::int64_t vectors, std::int64_t lanes, Make&& make) {
  const int u = program.AddVar("u"), v = program.AddVar("v");
  return For(u, IntExpr(vectors), LoopKind::kUnrolled,
             For(v, IntExpr(lanes), LoopKind::kVectorized,
                 make(VarExpr(u), VarExpr(u) * lanes + VarExpr(v))));
}

// The first of the best of all lanes of `wide` (vectors x lanes slots, whose positions count blocks
// of `lanes` columns), as a column in `found` (one slot). Overwrites both.
StmtPtr JoinLanes(Lowering& lowering, Combiner combiner, const ArgRegisters& wide,
                  const ArgRegisters& found, std::int64_t vectors, std::int64_t lanes);

}  // namespace kindred::internal
