// Finished sums of a register tile, through the pointwise stages after the contraction, to the
// outputs.
#pragma once

#include "schedules/sketches/contraction_context.h"
#include "schedules/sketches/contraction_epilogue.h"
#include "schedules/sketches/contraction_tile.h"

namespace kindred {

class ContractionStore {
 public:
  // `context` outlives the store.
  explicit ContractionStore(ContractionContext& context);

  // Register buffer `acc` (see EmitTile) holds the tile whose first column is n0 and first row m0;
  // the first `columns` of its columns exist.
  StmtPtr Store(const TilePlace& place, const TileShape& shape, int acc, const ExprPtr& n0,
                const ExprPtr& m0, std::int64_t columns);

  // Once after the variants of a finished tile. Where its columns run over several rows of the
  // outputs, with gaps, Store only moved the sums to the stack, and this brings them to their
  // places row by row.
  StmtPtr AfterTile(const TilePlace& place, const ExprPtr& n0, const ExprPtr& m0);

 private:
  AxisValues PointAt(const ExprPtr& row, const ExprPtr& y, const ExprPtr& x);
  // The tile's columns are neighbours in the outputs: whole vectors from the registers; a vector
  // that the edge cuts goes through the stack.
  StmtPtr StoreVectors(const TilePlace& place, const TileShape& shape, int acc, const ExprPtr& n0,
                       const ExprPtr& m0, std::int64_t columns);
  // `count` neighbours along x from `point`, whose sums are buffer[from...]: vectors, the last one
  // starting early (it stores some points twice); short runs by shorter vectors, the shortest point
  // by point.
  StmtPtr StoreRun(const AxisValues& point, const ExprPtr& count, int buffer, const ExprPtr& from);

  ContractionContext& c_;
  Epilogue epilogue_;
  int tile_ = -1;        // on the stack
  bool joined_ = false;  // the tile's columns are neighbours in all outputs
};

}  // namespace kindred
