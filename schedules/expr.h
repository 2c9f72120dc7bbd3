// Scalar expressions: the bodies of workload stages, and the arithmetic of lowered programs.
//
// One immutable node type serves both worlds:
//   in a Workload  kVar is an axis of the stage (index = position in Stage::axes), kLoad reads a
//   tensor
//                  (index = tensor id) at one index expression per dimension;
//   in a Program   kVar is a loop or let variable (index = variable id), kLoad reads a buffer
//                  (index = buffer id) at exactly one flat element index.
// Nodes are shared and never change, so trees are values; threads may share them freely. Those of a
// lowered program live as long as it does (schedules/node.h); Clone what shall outlive it.
// The builders below fold constants and trivial identities (x+0, x*1, x*0 of integers), so equal
// arithmetic mostly has equal trees; an integer constant stands on the right, and x - 3 is x + -3.
//
// Types. f16, bf16, f8, i8, u8 and bool are types of storage: the builders widen them to
// DefaultAccumulator(type) before arithmetic and comparisons (select, padded and casts keep them).
// A narrower operand beside a wider one of the same class is cast to it (i32 beside i64, f32 beside
// f64; floats of up to 32 bits beside c64); a constant takes the type of what stands beside it.
// Integers beside floats must be cast by hand: CheckWorkload reports them. A kFloat of type c64 is
// a real number. Integer division and modulus round to minus infinity, kRound goes to the nearest
// integer with ties to even, and casts from floats to integers truncate (out of range:
// unspecified).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedules/data_type.h"
#include "schedules/node.h"

namespace kindred {

enum class Op : std::uint8_t {
  // leaves
  kInt,     // integer constant `integer`, of `type`
  kFloat,   // floating constant `number`, of `type`
  kVar,     // variable `index`; i64, but for a program's floating kLet variables
  kExtent,  // symbolic extent `index` of the workload, always i64
  // memory: args are the index expressions (i64)
  kLoad,
  // args[0] is a kLoad, args[1] the value that is read where an index leaves the tensor
  kPadded,
  // arithmetic; integers: div and mod floor
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  kPow,
  kNeg,
  kAbs,
  // math functions of floats
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kErf,
  kTanh,
  kSin,
  kCos,
  kTan,
  kFloor,
  kCeil,
  kRound,
  // logic: results are bool
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,  // args: condition, value if true, value if false (only the chosen one may be read)
  kCast,    // to `type`
  // complex numbers: c64 of two f32, its parts, its conjugate. Arithmetic on c64 is kAdd kSub kMul
  // kDiv kNeg; kAbs gives f32.
  kComplex,
  kReal,
  kImag,
  kConj,
};

std::string_view Name(Op op);

struct Expr;
using ExprPtr = NodePtr<const Expr>;
using ExprList = NodeList<ExprPtr>;

struct Expr : Node {
  Op op = Op::kInt;
  DataType type = DataType::kI64;
  int index = -1;            // kVar, kExtent, kLoad
  std::int64_t integer = 0;  // kInt
  double number = 0;         // kFloat
  ExprList args;
};

ExprPtr IntExpr(std::int64_t value, DataType type = DataType::kI64);
ExprPtr FloatExpr(double value, DataType type);
ExprPtr VarExpr(int index, DataType type = DataType::kI64);
ExprPtr ExtentExpr(int symbol);
ExprPtr LoadExpr(int tensor, ExprList indices, DataType type);
ExprPtr PaddedExpr(ExprPtr load, ExprPtr value);
ExprPtr UnaryExpr(Op op, ExprPtr a);
ExprPtr BinaryExpr(Op op, ExprPtr a, ExprPtr b);
ExprPtr SelectExpr(ExprPtr condition, ExprPtr if_true, ExprPtr if_false);
ExprPtr CastExpr(DataType type, ExprPtr a);

inline ExprPtr operator+(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kAdd, a, b); }
inline ExprPtr operator-(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kSub, a, b); }
inline ExprPtr operator*(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMul, a, b); }
inline ExprPtr operator/(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kDiv, a, b); }
inline ExprPtr operator%(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMod, a, b); }
inline ExprPtr operator+(const ExprPtr& a, std::int64_t b) {
  return BinaryExpr(Op::kAdd, a, IntExpr(b));
}
inline ExprPtr operator*(const ExprPtr& a, std::int64_t b) {
  return BinaryExpr(Op::kMul, a, IntExpr(b));
}

bool IsConstant(const Expr& e);
bool IsInt(const Expr& e, std::int64_t value);
bool SameExpr(const Expr& a, const Expr& b);

// Bottom-up rewrite: `replace` sees each node after its arguments were rewritten and returns a new
// node or nullptr to keep it. Rebuilds through the folding builders.
ExprPtr Rewrite(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& replace);

// Replaces kVar i by values[i] (nullptr keeps it).
ExprPtr SubstituteVars(const ExprPtr& e, std::span<const ExprPtr> values);

// A copy that shares no node with `e`.
ExprPtr Clone(const ExprPtr& e);

// Calls `visit` on every node, parents first.
void Visit(const Expr& e, const std::function<void(const Expr&)>& visit);

// sum(coefficients[i] * var_i) + constant, where e is such a sum with integer coefficients.
struct Affine {
  std::vector<std::int64_t> coefficients;  // one per variable asked for
  std::int64_t constant = 0;
  bool operator==(const Affine&) const = default;
};
// nullopt if e is not affine in its variables (div, mod, loads, symbolic extents, products).
std::optional<Affine> AsAffine(const Expr& e, int variables);
ExprPtr FromAffine(const Affine& affine);

}  // namespace kindred
