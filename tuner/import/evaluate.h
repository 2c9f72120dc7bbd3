// Constant folding: runs a stage on tensors whose data are known.
#pragma once

#include <functional>

#include "schedules/workload.h"
#include "tuner/import/constant.h"

namespace kindred {

// Evaluates `stage` into a tensor of `type`; `data(id)` gives the constants its loads name.
// Integers in i64, floats in f64 with every stored element rounded to `type`. Null: too much work
// to do at import (more than 2^22 points), or an expression without a value (division by zero, an
// index outside its tensor).
ConstantPtr EvaluateStage(const Stage& stage, DataType type,
                          const std::function<ConstantPtr(int)>& data);

}  // namespace kindred
