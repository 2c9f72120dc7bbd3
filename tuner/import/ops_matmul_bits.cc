// com.microsoft's MatMulNBits: a product with weights of 2, 4 or 8 bits, packed into bytes.
#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

// Number `place` of a row of packed bytes that `byte` reads; the first stands in the lowest bits.
ExprPtr Unpacked(const std::function<ExprPtr(const ExprPtr& at)>& byte, const ExprPtr& place,
                 std::int64_t bits) {
  const std::int64_t per_byte = 8 / bits;
  const ExprPtr packed = CastExpr(DataType::kI32, byte(place / IntExpr(per_byte)));
  const ExprPtr which = place % IntExpr(per_byte);
  ExprPtr value;
  for (std::int64_t i = per_byte; i-- > 0;) {
    const ExprPtr shifted = packed / IntExpr(std::int64_t{1} << (bits * i), DataType::kI32);
    const ExprPtr one = shifted % IntExpr(std::int64_t{1} << bits, DataType::kI32);
    value = value ? SelectExpr(BinaryExpr(Op::kEqual, which, IntExpr(i)), one, value) : one;
  }
  return value;
}

// y[..., n] = sum[k] x[..., k] * (w[n, k] - zero[n, block of k]) * scale[n, block of k] + bias[n]
Result<void> MatMulNBits(OpContext& op) {
  enum Inputs { kX, kPacked, kScales, kZeros, kGroups, kBias };
  const std::int64_t depth = op.Int("K", 0), width = op.Int("N", 0), bits = op.Int("bits", 4);
  const std::int64_t size = op.Int("block_size", 0);
  op.Ignore("accuracy_level");
  if (!op.Has(kX) || !op.Has(kPacked) || !op.Has(kScales))
    return Unsupported("an operand is not there");
  const Shape in = op.InShape(kX);
  if (in.empty() || in.back() != depth || depth < 1 || width < 1 || size < 1 ||
      size > std::int64_t{1} << 30)
    return Unsupported(fmt::format("K {} and N {} for {}", depth, width, ShapeText(in)));
  if (bits != 2 && bits != 4 && bits != 8) return Unsupported(fmt::format("{} bits", bits));
  if (op.Has(kGroups)) return Unsupported("groups of rows in another order");
  const std::int64_t per_byte = 8 / bits, blocks = (depth + size - 1) / size;
  const std::int64_t zero_bytes = (blocks + per_byte - 1) / per_byte;
  if (size % per_byte != 0 || op.InValue(kPacked).type != DataType::kU8)
    return Unsupported("blocks that do not fill bytes");
  KINDRED_CHECK(CheckShape(op, kPacked, {width, blocks, size / per_byte}));
  if (ElementCount(op.InShape(kScales)) != width * blocks)
    return Unsupported("scales of shape " + ShapeText(op.InShape(kScales)));
  KINDRED_CHECK(CheckShape(op, kBias, {width}));
  const int packed = op.ViewOf(op.In(kPacked), {width, blocks * (size / per_byte)});
  const int scales = op.ViewOf(op.In(kScales), {width, blocks});
  int zeros = -1;
  const bool packed_zeros = op.Has(kZeros) && op.InValue(kZeros).type == DataType::kU8;
  if (op.Has(kZeros)) {
    const Shape shape = {width, packed_zeros ? zero_bytes : blocks};
    if (ElementCount(op.InShape(kZeros)) != ElementCount(shape))
      return Unsupported("zero points of shape " + ShapeText(op.InShape(kZeros)));
    zeros = op.ViewOf(op.In(kZeros), shape);
  }
  const DataType type = op.InValue(kX).type, wide = DefaultAccumulator(type);
  Shape shape = in;
  shape.back() = width;
  const int made = op.Out(0, type, shape);
  const int product = op.Has(kBias) ? op.Temp("product", wide, shape) : made;
  Stage stage = MakeStage(product, shape);
  AddReductionAxis(stage, "r", depth);
  const Exprs axes = AxesOf(stage);
  const ExprPtr n = axes[in.size() - 1], k = axes.back(), block = k / IntExpr(size);
  const auto read = [&](int tensor) {
    return [&op, tensor, n](const ExprPtr& at) { return op.Load(tensor, {n, at}); };
  };
  const ExprPtr code = Unpacked(read(packed), k, bits);
  ExprPtr zero = Literal(static_cast<double>(std::int64_t{1} << (bits - 1)), wide);
  if (packed_zeros) {
    zero = CastExpr(wide, Unpacked(read(zeros), block, bits));
  } else if (zeros >= 0) {
    zero = CastExpr(wide, op.Load(zeros, {n, block}));
  }
  Exprs at(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(in.size()));
  at.back() = k;
  stage.body = CastExpr(wide, op.Load(op.In(kX), std::move(at))) *
               ((CastExpr(wide, code) - zero) * CastExpr(wide, op.Load(scales, {n, block})));
  SetReduction(stage, Combiner::kSum, wide);
  op.kind = UnitKind::kContraction;
  op.Emit(std::move(stage));
  if (!op.Has(kBias)) return {};
  Stage biased = MakeStage(made, shape);
  const Exprs b = AxesOf(biased);
  biased.body = op.Load(product, b) + op.Load(op.In(kBias), {b.back()});
  op.Emit(std::move(biased));
  return {};
}

}  // namespace

void AddMatMulBitsOps(LoweringTable& table) { table["com.microsoft:MatMulNBits"] = MatMulNBits; }

}  // namespace kindred
