// The pointwise stages after an anchor, computed on the anchor's values just before they are
// stored. Serves contraction and window sketches. One object per program under construction.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedules/internal/lower_common.h"
#include "schedules/sketches/contraction_pattern.h"

namespace kindred {

class Epilogue {
 public:
  // `lowering` outlives the epilogue.
  Epilogue(internal::Lowering& lowering, const PointwiseChain& chain);

  // Every load and store steps by 0 or 1 (stores: 1) along anchor axis x: vectors along x work.
  bool VectorAlong(int x) const;
  // y*extent_x + x may stand for x, with y = 0, in every load and store.
  bool Joins(int y, int x, std::int64_t extent_x) const;

  // Statements for `lanes` neighbours along x from the point axes[] (one value per anchor axis;
  // lanes = 1: one point). `value(l)` is the anchor's value, in its accumulator's type, at lane l.
  StmtPtr Emit(std::span<const ExprPtr> axes, int x, std::int64_t lanes,
               const std::function<ExprPtr(const ExprPtr&)>& value);

 private:
  struct Access {
    std::vector<std::int64_t> steps;  // of the flat index, per anchor axis; empty: not affine
    bool store = false;
  };
  int Registers(int tensor, std::int64_t lanes);
  const Stage& StageAt(std::size_t position) const;  // 0: the anchor

  internal::Lowering& lowering_;
  PointwiseChain chain_;
  std::vector<ExprPtr> bodies_;  // per position, padding guarded; none for the anchor
  std::vector<Access> accesses_;
  std::vector<bool> loaded_later_;  // per position
  std::map<std::pair<int, std::int64_t>, int> registers_;
};

}  // namespace kindred
