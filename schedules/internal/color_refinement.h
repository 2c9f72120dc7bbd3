// Colours of tensors and axes that depend on structure alone, not on names, ids or the order in
// which things were written: colour refinement (Weisfeiler and Leman, 1968) over stages, axes and
// tensors.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "schedules/workload.h"

namespace kindred {

class ColorRefinement {
 public:
  explicit ColorRefinement(const Workload& workload);

  // Equal for expressions that differ only in names, ids and the order of commutative operands.
  std::uint64_t Of(std::size_t stage, const Expr& e) const;
  // Sums of integer terms have one colour however they are written.
  static bool IsCommutative(Op op);

 private:
  std::uint64_t Compute(std::size_t stage, const Expr& e) const;
  void Refine();
  void Descend(std::size_t stage, const Expr& e, std::uint64_t context,
               std::vector<std::uint64_t>& tensors, std::vector<std::uint64_t>& axes) const;

  const Workload& workload_;
  std::vector<std::uint64_t> tensors_;
  std::vector<std::vector<std::uint64_t>> axes_;  // per stage
  // Colours of the nodes of the stage that is being refined: only these stay where they are.
  mutable std::unordered_map<const Expr*, std::uint64_t> known_;
  bool remember_ = false;
};

}  // namespace kindred
