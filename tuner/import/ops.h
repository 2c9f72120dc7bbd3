// The operators: each lowering turns one node into stages. One file per group of operators.
#pragma once

#include <map>
#include <string_view>

#include "tuner/import/op_context.h"
#include "tuner/import/quantized.h"

namespace kindred {

using Lowering = Result<void> (*)(OpContext& op);
using LoweringTable = std::map<std::string_view, Lowering>;

// By OnnxNode::Kind. nullptr: an operator without a form in the workload language.
// Lowerings take the inputs for granted that the operator's definition requires.
Lowering FindLowering(std::string_view kind);

void AddPointwiseOps(LoweringTable& table);
void AddMathOps(LoweringTable& table);
void AddActivationOps(LoweringTable& table);
void AddContractionOps(LoweringTable& table);
void AddConvTransposeOps(LoweringTable& table);
void AddEinsumOps(LoweringTable& table);
void AddPoolingOps(LoweringTable& table);
void AddNormalisationOps(LoweringTable& table);
void AddReductionOps(LoweringTable& table);
void AddMatMulBitsOps(LoweringTable& table);
void AddMovementOps(LoweringTable& table);
void AddPadOps(LoweringTable& table);
void AddRegionOps(LoweringTable& table);
void AddResizeOps(LoweringTable& table);
void AddGatherOps(LoweringTable& table);
void AddIndexOps(LoweringTable& table);
void AddSampleOps(LoweringTable& table);
void AddScatterOps(LoweringTable& table);
void AddSignalOps(LoweringTable& table);
void AddViewOps(LoweringTable& table);
void AddRotaryOps(LoweringTable& table);
void AddQuantizedOps(LoweringTable& table);

// --- shared between groups

// Output 0 as `body` of the inputs at one place, broadcast together.
Result<void> LowerPointwise(OpContext& op, const std::vector<int>& inputs, DataType type,
                            const std::function<ExprPtr(const Exprs& x)>& body);

// Quotient of integers, rounded towards zero.
ExprPtr TruncatedQuotient(const ExprPtr& a, const ExprPtr& b);

// target[...] = x[index(axes of target)...]
void EmitGather(OpContext& op, int target, int x, const Shape& shape,
                const std::function<Exprs(const Exprs& axes)>& index);

// A value that holds indices: `name` is its suffix. None is negative.
int KnownIndices(OpContext& op, const std::string& name, const Shape& shape,
                 const std::vector<std::int64_t>& values);
// places[at]; arithmetic on `at` where they are regular, else a read of KnownIndices.
ExprPtr PlaceIn(OpContext& op, const std::string& name, const std::vector<std::int64_t>& places,
                const ExprPtr& at);

// Convolution of input `x` (value id) with weight `w` and bias `b` (-1: none) into output 0;
// attributes are the node's. Also used to place a folded batch normalisation's weights.
Result<void> LowerConv(OpContext& op, int x, int w, int b);
Result<void> LowerConvTranspose(OpContext& op, int x, int w, int b);
// Matrix product alpha a b + beta c (value ids; c -1: none) into output 0, attributes but beta the
// node's.
Result<void> LowerGemm(OpContext& op, int a, int b, int c, double beta);
// LowerConv of integers, into an i32.
Result<void> LowerIntegerConv(OpContext& op, const QuantizedPair& pair);

// Product of inputs 0 and 1, or of what `pair` has in place of them, into output 0 of `type`.
Result<void> LowerMatMul(OpContext& op, DataType type, const std::optional<QuantizedPair>& pair);

// scale / sqrt(variance + epsilon) at `channel`, for inputs 1 (scale) and 4 (variance) of a
// BatchNormalization.
ExprPtr BatchNormScale(const OpContext& op, const ExprPtr& channel, double epsilon);

// Geometry of a sliding window along one spatial dimension.
struct Window {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  bool overhangs = false;  // the last window reaches past the padding (ceil_mode)
  bool Leaves() const;     // some index leaves the input
};
// Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad, ceil_mode.
Result<std::vector<Window>> ReadWindows(OpContext& op, const Shape& spatial, Shape kernel);
// position * stride + tap * dilation - before
ExprPtr WindowIndex(const Window& window, const ExprPtr& position, const ExprPtr& tap);

}  // namespace kindred
