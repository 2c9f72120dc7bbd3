// Prints scalar expressions of a program as C.
#pragma once

#include <string>
#include <unordered_map>

#include "schedules/internal/emit_context.h"

namespace kindred::internal {

// One printer serves one statement: nodes used several times become `const` temporaries, printed as
// lines before it.
class ScalarPrinter {
 public:
  explicit ScalarPrinter(EmitContext& context) : context_(context) {}

  // Counts the shared nodes of an expression that will be printed unconditionally.
  void Share(const Expr& e) { CountUses(context_, e, uses_); }

  CText Print(const ExprPtr& e);
  // An index expression, as a sum with the largest strides first where it is affine.
  CText PrintIndex(const ExprPtr& e);
  // `value` as it is stored in an element of `type`.
  std::string Stored(DataType type, const ExprPtr& value);
  // Name of the element of a register buffer.
  std::string RegisterName(int buffer, std::int64_t index);
  // Prints the statement that stores `value` (what Stored gave) in an element of a buffer.
  void Assign(int buffer, const ExprPtr& index, const std::string& value);

 private:
  CText PrintNode(const Expr& e);
  CText Load(const Expr& e);
  CText Arithmetic(const Expr& e);
  CText Division(const Expr& e);
  CText Function(const Expr& e);
  CText Power(const Expr& e);
  CText Cast(const Expr& e);
  CText Complex(const Expr& e);
  CText Call(const std::string& name, const Expr& e);
  // Conversions of narrow floats, from and to their form in memory.
  std::string Widened(DataType type, const std::string& text);
  std::string Narrowed(DataType type, const std::string& text);

  EmitContext& context_;
  UseCounts uses_;
  std::unordered_map<const Expr*, std::string> names_;
  int lazy_ = 0;  // inside a branch that may not be evaluated ahead
};

}  // namespace kindred::internal
