// Products of 8-bit integers in place of products of the floats that they stand for.
//
// With a' = a - za and b' = b - zb
//
//   sum sa a' sb b' = sa sb sum a' b',   sum a' b' = sum a b' - za sum b'
//
// in i32, exactly. The left form reads an operand through a copy of it that is centred on its zero
// point; the right one reads the operand itself and subtracts a correction that is computed ahead
// of time where b is. What lies around a padded operand is its zero point.
#pragma once

#include <optional>
#include <vector>

#include "tuner/import/op_context.h"

namespace kindred {

struct QuantizedPair {
  Dequantized a, b;
};

// The records of both operands of a contraction. nullopt: one is none of 8-bit integers, its scale
// lies along another dimension than the one given, or sums of `depth` products may leave i32.
std::optional<QuantizedPair> FindQuantizedPair(const Graph& graph, int a, std::size_t a_axis, int b,
                                               std::size_t b_axis, std::int64_t depth);

// A tensor of one element, read as a tensor. Its value stands in no expression: quantisation
// parameters differ from layer to layer, and the layers' workloads should not.
ExprPtr LoadSingle(const Graph& graph, int value);

// The zero point is absent, or known to be 0 throughout.
bool IsZero(const Graph& graph, int zero_point);

class IntegerProduct {
 public:
  // Operands without a scale stand for a - za. Zero points are single numbers, or lie along the
  // operand's `axis`. reduced[d]: dimension d is summed over; empty: the sum slides over it.
  // `padded`: a is read outside itself.
  // Emits, as units of their own, what can be computed ahead of time, and as first stages of the
  // unit that follows what cannot. `op` outlives the product.
  IntegerProduct(OpContext& op, const Dequantized& a, const std::vector<bool>& a_reduced,
                 const Dequantized& b, const std::vector<bool>& b_reduced, bool padded);

  // Ids of values to read, and what `a` is outside itself.
  int a() const { return a_.value; }
  int b() const { return b_.value; }
  const ExprPtr& padding() const { return padding_; }
  // Finish is more than the sum.
  bool HasFinish() const { return has_scale() || a_.correction >= 0 || b_.correction >= 0; }
  bool has_scale() const { return a_.scale >= 0 || b_.scale >= 0; }

  // Gives what lies along b's dimensions that are not reduced the shape `kept`.
  void ViewB(const Shape& kept);

  // The product from the sum of a() * b() in i32: an f32, without scales an i32. a_at, b_at: the
  // operands' indices in the dimensions that are not reduced. A vector of scales lies along the
  // last of them.
  ExprPtr Finish(ExprPtr sum, const Exprs& a_at, const Exprs& b_at) const;

 private:
  struct Operand {
    int value = -1;
    int scale = -1;       // of the operand, or of both together; -1: 1, or with the other's
    int zero_point = -1;  // -1: 0
    int axis = -1;        // that scale and zero point lie along; -1: single numbers
    int correction = -1;  // to be subtracted: sum over the reduced dimensions
    int factor = -1;      // of the correction: the other's zero point, where it is made at run time
    std::vector<bool> reduced;
  };

  const GraphValue& ValueOf(int id) const { return op_.graph.values[static_cast<std::size_t>(id)]; }
  bool Ahead(int id) const;
  // Emits `operand` minus its zero point, which takes its place.
  void Centre(Operand& operand);
  // Emits the sum of `by`, times the other's zero point.
  void Correct(Operand& by, const Operand& other);
  void CombineScales();
  // `value` at the last of the indices.
  ExprPtr LoadTail(int value, const Exprs& at) const;

  OpContext& op_;
  Operand a_, b_;
  ExprPtr padding_;
};

}  // namespace kindred
