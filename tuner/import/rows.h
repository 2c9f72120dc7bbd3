// Reductions of a value along some of its axes, and what is computed from them row by row.
#pragma once

#include <functional>
#include <vector>

#include "tuner/import/op_context.h"

namespace kindred {

// A value with some of its axes reduced.
struct Rows {
  int value = -1;
  Shape in, out;                   // `out` without the reduced axes
  std::vector<std::int64_t> axes;  // reduced, ascending
  std::int64_t size = 1;           // elements per row
  bool Reduced(std::size_t d) const;
  // `in`, where reduced axes have extent 1.
  Shape Kept() const;
};

Rows MakeRows(const OpContext& op, int value, std::vector<std::int64_t> axes);

// `element`: index into Rows::in; `row`: index into Rows::out.
using RowBody = std::function<ExprPtr(const Exprs& element, const Exprs& row)>;

// tensor[row] = combine over the reduced axes of body(element, row)
void EmitReduction(OpContext& op, const Rows& rows, int tensor, Combiner combiner,
                   DataType accumulator, const RowBody& body);
// tensor[element] = body(element, its row), over all elements
void EmitElements(OpContext& op, const Rows& rows, int tensor, const RowBody& body);
// tensor[row] = body(row)
void EmitRows(OpContext& op, const Rows& rows, int tensor,
              const std::function<ExprPtr(const Exprs& row)>& body);

// The mean over each row of `body`, a value of the accumulator's type.
int EmitMean(OpContext& op, const Rows& rows, const std::string& name, const RowBody& body);

}  // namespace kindred
