// Prints scalar expressions of a program as CUDA C++.
#pragma once

#include <string>
#include <unordered_map>

#include "schedules/internal/cuda_context.h"

namespace kindred::internal {

// One printer serves one statement: nodes used several times become `const` temporaries, printed as
// lines before it. Integers of type i64 are printed as int where that is enough.
class CudaExprPrinter {
 public:
  explicit CudaExprPrinter(CudaContext& context) : context_(context) {}

  // Counts the shared nodes of an expression that will be printed unconditionally.
  void Share(const Expr& e) { CountUses(context_, e, uses_); }
  // This load is printed as `element`, of the storage type.
  void Loaded(const Expr& load, std::string element) { loaded_[&load] = std::move(element); }

  CText Print(const ExprPtr& e);
  // An index expression, as a sum with the largest strides first where it is affine.
  CText PrintIndex(const ExprPtr& e);
  // `value` as it is stored in an element of `type`.
  std::string Stored(DataType type, const ExprPtr& value);
  // "name[index]", or just the name of a single register.
  std::string Element(int buffer, const ExprPtr& index);

 private:
  CText PrintNode(const Expr& e);
  CText Load(const Expr& e);
  // The element that it loads, of the storage type.
  std::string Loaded(const Expr& load);
  CText Arithmetic(const Expr& e);
  CText Division(const Expr& e);
  CText Power(const Expr& e);
  CText Cast(const Expr& e);
  CText Complex(const Expr& e);
  CText Call(const std::string& function, const Expr& e);
  // An operand of something that is computed with 64 bits (`wide`).
  std::string Operand(const ExprPtr& e, bool wide, int at_least);
  std::string Number(double value, bool is_double);
  std::string Widened(DataType type, const std::string& text);
  std::string Narrowed(DataType type, const std::string& text);
  // "i32", "i64", "f32", ...: the arithmetic of this node.
  std::string_view ElementOf(const Expr& e) const;

  CudaContext& context_;
  UseCounts uses_;
  std::unordered_map<const Expr*, std::string> names_, loaded_;
  int lazy_ = 0;  // inside a branch that may not be evaluated ahead
};

}  // namespace kindred::internal
