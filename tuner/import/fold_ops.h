// Operators that are pure shape arithmetic or constants: they have no stages, only a value.
#pragma once

#include "tuner/import/op_context.h"

namespace kindred {

// The value of a Constant (other than by a tensor), Shape, Size or Range; null where it is none of
// them or not known.
ConstantPtr FoldShapeOp(OpContext& op);

// The value of a ConstantOfShape, one element standing for all; null where its shape is not known.
ConstantPtr FillOfShape(OpContext& op);

// The same constant, with one stored element if all are equal.
ConstantPtr Compact(const ConstantPtr& constant);

}  // namespace kindred
