// Small helpers that contraction and window sketches build their loop nests with. No state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedules/program.h"

namespace kindred {

// A loop whose body is made from its variable; a loop of one iteration is its body at 0.
template <typename Body>
StmtPtr Loop(Program& program, std::string name, ExprPtr extent, LoopKind kind, Body&& body,
             int unroll = 1) {
  if (IsInt(*extent, 1)) return body(IntExpr(0));
  const int var = program.AddVar(std::move(name));
  return For(var, std::move(extent), kind, body(VarExpr(var)), unroll);
}

template <typename Body>
StmtPtr Loop(Program& program, std::string name, std::int64_t extent, LoopKind kind, Body&& body,
             int unroll = 1) {
  return Loop(program, std::move(name), IntExpr(extent), kind, std::forward<Body>(body), unroll);
}

// A value computed once and named; constants and variables stay as they are.
inline ExprPtr Named(Program& program, std::vector<StmtPtr>& statements, std::string name,
                     ExprPtr value, DataType type = DataType::kI64) {
  if (value->op == Op::kInt || value->op == Op::kVar) return value;
  const int var = program.AddVar(std::move(name), type);
  statements.push_back(Let(var, std::move(value)));
  return VarExpr(var, type);
}

inline ExprPtr Minimum(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMin, a, b); }
inline ExprPtr Maximum(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMax, a, b); }
inline ExprPtr LessThan(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kLess, a, b); }

inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// How many blocks of one length cover `all` when about `count` are asked for.
inline std::int64_t EvenBlocks(std::int64_t all, std::int64_t count) {
  return CeilDiv(all, CeilDiv(all, count));
}
inline std::int64_t RoundUp(std::int64_t a, std::int64_t b) { return CeilDiv(a, b) * b; }

// The zero of `type`, or its other constants.
inline ExprPtr Constant(double value, DataType type) {
  return IsInteger(type) ? IntExpr(static_cast<std::int64_t>(value), type) : FloatExpr(value, type);
}

}  // namespace kindred
