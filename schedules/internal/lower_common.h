// What every lowering shares: from a workload's stages (loads with one index per dimension) to a
// program's statements (loads with one flat index), and the arithmetic of combiners.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schedules/internal/bounds.h"
#include "schedules/program.h"
#include "schedules/workload.h"

namespace kindred::internal {

// The extent as an expression: a constant, or kExtent of its symbol.
ExprPtr ExtentValue(const Extent& extent);

// Elements of a tensor where every symbol takes its upper bound: what a buffer must hold.
std::int64_t CapacityOf(const Workload& workload, const Tensor& tensor);
std::int64_t CapacityOf(const Workload& workload, const Extent& extent);

// Row-major element index of `indices` (one per dimension) in a contiguous tensor.
ExprPtr FlatIndex(const Tensor& tensor, std::span<const ExprPtr> indices);

// Ranges of the stage's axes (variables are axis positions) and of symbolic extents.
RangeOf AxisRanges(const Workload& workload, const Stage& stage);

// The body with every kPadded turned into select(inside, load, value). Conditions that hold for
// every point of the stage are left out. Still in workload form (axes as variables, one index per
// dimension).
ExprPtr GuardPadding(const Workload& workload, const Stage& stage);

// Makes the load of one element in a program: tensor id and one index per dimension, already in
// terms of the program's variables.
using LoadRule =
    std::function<ExprPtr(int tensor, std::span<const ExprPtr> indices, DataType type)>;

// `body` (a GuardPadding result, or any expression in workload form without kPadded) with axis i
// replaced by axis_values[i] and every load made by `rule`.
ExprPtr LowerBody(const ExprPtr& body, std::span<const ExprPtr> axis_values, const LoadRule& rule);

// A program under construction: the arguments are buffers already, temporaries get theirs on
// demand.
struct Lowering {
  const Workload* workload = nullptr;
  Program program;
  std::vector<int> buffer_of_tensor;  // -1: no buffer yet

  // All argument tensors become kArgument buffers, in order.
  explicit Lowering(const Workload& w);

  // The tensor's buffer; a tensor without one gets a row-major kWorkspace buffer of its size.
  int BufferOf(int tensor);
  // Loads from BufferOf(tensor) at the row-major index.
  LoadRule RowMajor();
  // GuardPadding and LowerBody with RowMajor.
  ExprPtr Body(const Stage& stage, std::span<const ExprPtr> axis_values);
  // Store to the stage's tensor at `indices` (one per spatial axis); converts to the tensor's type.
  StmtPtr StoreResult(const Stage& stage, std::span<const ExprPtr> indices, ExprPtr value);
  // A register buffer of `elements` named values.
  int AddRegisters(std::string name, DataType type, std::int64_t elements);
  ExprPtr Load(int buffer, ExprPtr index) const;
};

// Neutral element and one step of a combiner (kSum, kMax, kMin, kProd) in the accumulator's type;
// `value` is cast to it.
ExprPtr InitialValue(Combiner combiner, DataType accumulator);
ExprPtr Combine(Combiner combiner, const ExprPtr& accumulated, const ExprPtr& value);

// Registers of argmax and argmin: the best value of each slot and where it was found, an index
// along the reduction or a part of one.
struct ArgRegisters {
  int best = -1, position = -1;
};
ArgRegisters AddArgRegisters(Lowering& lowering, const Stage& stage, std::int64_t slots);
// Nothing found yet: position 0, a value that any other beats (but a NaN, which beats none).
StmtPtr ArgStart(const Lowering& lowering, const ArgRegisters& registers, Combiner combiner,
                 const ExprPtr& slot);
// Where `value` beats the best of the slot, value and position (i64) are taken. The earlier of
// equals stays.
StmtPtr ArgStep(const Lowering& lowering, const ArgRegisters& registers, Combiner combiner,
                const ExprPtr& slot, const ExprPtr& value, const ExprPtr& position);

bool IsArg(Combiner combiner);

// Plain nest of one stage: spatial loops in order, the reduction inside, one accumulator.
StmtPtr PlainStage(Lowering& lowering, const Stage& stage);

// Loops from the outside in, each {variable, extent}.
struct LoopSpec {
  int var = -1;
  ExprPtr extent;
  LoopKind kind = LoopKind::kSerial;
  int unroll = 1;
};
StmtPtr Nest(std::span<const LoopSpec> loops, StmtPtr body);

}  // namespace kindred::internal
