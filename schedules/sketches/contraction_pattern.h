// Recognises workloads that are one contraction (GEMM, batched product, convolution, any
// two-operand einsum) with pointwise stages before and after it, and says which axis plays which
// part.
//
// The vector operand B holds the innermost output axis x; the row operand A is the other one.
// Output axes of A alone are rows (m is one of them), axes of both are batch. Patterns are plain
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/workload.h"

namespace kindred {

// One operand of the product: a load with affine indices over the anchor's axes.
struct OperandAccess {
  int tensor = -1;
  DataType type = DataType::kF32;
  bool weight = false;  // known ahead of time
  bool padded = false;  // reads `pad_value` outside its tensor
  ExprPtr pad_value;
  std::vector<Affine> index;  // one per dimension of the tensor
  std::vector<std::int64_t> shape;

  bool Uses(int axis) const;
  // Elements between neighbours along `axis` in the row-major tensor.
  std::int64_t Stride(int axis) const;
  // Dimensions whose index contains `axis`.
  std::vector<int> DimensionsOf(int axis) const;
};

struct ContractionPattern {
  int anchor = -1;                 // stage of the sum
  std::vector<int> before, after;  // pointwise stages, in order
  OperandAccess a, b;
  DataType accumulator = DataType::kF32;
  std::vector<std::int64_t> extents;  // of the anchor's axes
  int spatial = 0;
  int x = -1;  // innermost output axis, in b only
  int y = -1;  // output axis just outside x, in b only; -1: x is treated alone
  int m = -1;  // rows of the register tile, in a only; -1: one row
  std::vector<int>
      outer;              // the other spatial axes: those b depends on first, then those of a alone
  int outer_of_b = 0;     // how many of `outer` b depends on
  std::vector<int> k;     // reduction axes; sliding ones innermost
  bool b_slides = false;  // a dimension of b mixes x or y with a reduction axis, or strides x or y
  // order[s] = anchor axis that spatial axis s of stage after[i] stands for.
  std::vector<std::vector<int>> after_axes;

  std::int64_t Extent(int axis) const {
    return axis < 0 ? 1 : extents[static_cast<std::size_t>(axis)];
  }
  std::int64_t ReductionExtent() const;
};

// A two-operand sum with pointwise stages before and after, whatever its axes: the part of
// recognition that contraction and window sketches share. Axis roles (x, y, m, outer, k) are left
// unset. nullopt: not one.
struct PointwiseChain {
  int anchor = -1;
  std::vector<int> before, after;
  std::vector<std::vector<int>> after_axes;
};
std::optional<PointwiseChain> MatchPointwiseChain(const Workload& workload);

// `e` as an operand: a load, maybe padded, maybe under casts. nullopt: something else.
std::optional<OperandAccess> MatchOperand(const Workload& workload, const Stage& stage,
                                          const Expr& e);

// nullopt: the workload is something else, or an index is beyond what the sketch lowers.
std::optional<ContractionPattern> MatchContraction(const Workload& workload);

}  // namespace kindred
